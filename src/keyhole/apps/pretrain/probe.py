"""A linear probe: how much of the exact posterior of a latent can be read out of a representation?

Use it where sequences are too many to enumerate (`compare_representations` is exact where they are few), for the hidden
states of a trained model as for any other array with a row per sequence. If the probe comes near the exact posterior on
sequences it was not fitted to, the representation holds the posterior; if it does not, either the representation or the
probe is too poor. Read the held-out divergence against its control, the same probe fitted to shuffled targets.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float, Real
from keyhole.errors import DataError

Rows = Real[Any, "rows width"]
Probabilities = Float[Any, "n m"]

TINY = 1e-12  # a posterior below this weighs nothing in a divergence of a few digits


@dataclass(frozen=True)
class ProbeReading:
    """The held-out divergence KL(exact ‖ probe), in nats, beside what knowing nothing gives."""

    divergence: float
    standard_error: float
    shuffled: float  # the same probe fitted to shuffled targets: the control
    ignorant: float  # KL(exact ‖ average posterior): a representation that says nothing


def linear_probe(represented: Rows, posterior: Probabilities, *, rng: int | np.random.Generator = 0) -> ProbeReading:
    """A softmax of a linear map of the representation, fitted on one half of the sequences and read on the other.

    `represented` has a row per sequence, `posterior` the exact posterior of the same sequences. The divergence is near
    0 where the posterior can be read out linearly, and near `ignorant` where nothing of it can.

    >>> from keyhole.latent.models import FiniteModel, counts_of
    >>> three = FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5]))
    >>> tokens = three.sample(200, 12, 0).tokens
    >>> reading = linear_probe(counts_of(three)(tokens), three.posterior(tokens))
    >>> reading.divergence < 0.001 < reading.ignorant
    True
    """
    if not (bool(np.all(np.isfinite(represented))) and bool(np.all(np.isfinite(posterior)))):
        raise DataError("A representation or posterior holds NaN or infinity; every entry must be a number.")
    stream = np.random.default_rng(rng)
    order = stream.permutation(len(represented))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    seed = int(stream.integers(2**31))
    losses = divergences(posterior[second], _fit(represented[first], posterior[first], seed)(represented[second]))
    control = _fit(represented[first], posterior[stream.permutation(first)], seed)(represented[second])
    average = np.broadcast_to(posterior[first].mean(axis=0), posterior[second].shape)
    return ProbeReading(
        divergence=float(losses.mean()),
        standard_error=float(losses.std(ddof=1) / np.sqrt(len(losses))),
        shuffled=float(divergences(posterior[second], control).mean()),
        ignorant=float(divergences(posterior[second], average).mean()),
    )


def divergences(exact: Probabilities, guess: Probabilities) -> Float[Any, "n"]:
    """KL(exact ‖ guess) of each row, in nats; 0 log 0 = 0.

    >>> divergences(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]])).round(6).tolist()
    [0.143841]
    """
    logs = np.log(np.maximum(exact, TINY)) - np.log(np.maximum(guess, TINY))
    return np.asarray((exact * logs).sum(axis=1))


def _fit(represented: Rows, posterior: Probabilities, seed: int) -> Callable[[Rows], Probabilities]:
    """Cross-entropy to soft labels: every sequence once per latent value, weighed by its posterior."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    n, m = posterior.shape
    model = LogisticRegression(C=1e6, max_iter=5000, random_state=seed)  # C: next to no penalty
    scaler = StandardScaler().fit(represented)
    rows = np.repeat(scaler.transform(represented), m, axis=0)
    with warnings.catch_warnings():  # a probe that has not converged is a poorer probe; its divergence says so
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, np.tile(np.arange(m), n), sample_weight=posterior.ravel())
    return lambda some: np.asarray(model.predict_proba(scaler.transform(some)))
