"""Posterior probes: how much of the exact posterior of a latent can be read out of a representation.

Use them where sequences are too many to enumerate (`compare_representations` is exact where they are few), for the
hidden states of a trained model as for any other array with a row per sequence. A probe maps a representation R to
probabilities of the latent values. If it comes near the exact posterior on sequences it was not fitted to, R holds the
posterior; if it does not, either R or the probe is too poor, so a probe proves one direction only. Read the held-out
divergence against its control, the same probe fitted to shuffled targets.

`linear_probe` and `network_probe` are ready-made, `read_out` takes a probe of your own, and `nuisance_probe` asks the
opposite: what the representation holds beyond the posterior.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from keyhole.arrays import Float, Real
from keyhole.errors import DataError
from keyhole.latent.models.base import Probabilities, Rng, require_probabilities

Represented: TypeAlias = Real[Any, "rows width"]  # whether there is a row per posterior is asked
Reader: TypeAlias = Callable[[Represented], Probabilities]
Fit: TypeAlias = Callable[[Represented, Probabilities, int], Reader]

TINY = 1e-12  # a posterior below this weighs nothing in a divergence of a few digits


@dataclass(frozen=True)
class ProbeReading:
    """The held-out divergence KL(exact ‖ probe), in nats, beside what knowing nothing gives."""

    divergence: float
    standard_error: float
    shuffled: float  # the same probe fitted to shuffled targets: the control
    ignorant: float  # KL(exact ‖ average posterior): a representation that says nothing


@dataclass(frozen=True)
class NuisanceReading:
    """How well a representation tells what the posterior does not, as shares of variance on held-out sequences."""

    posterior_alone: float  # R² from the posterior
    with_representation: float  # R² from the posterior and the representation

    @property
    def excess(self) -> float:
        """What the representation knows of the nuisance beyond the posterior; 0 for a minimal one."""
        return self.with_representation - self.posterior_alone


def linear_probe(represented: Represented, posterior: Probabilities, *, rng: Rng = 0) -> ProbeReading:
    """A softmax of a linear map of the representation, fitted on one half of the sequences and read on the other.

    `represented` has a row per sequence, `posterior` the exact posterior of the same sequences. The divergence is near
    0 where the posterior can be read out linearly, and near `ignorant` where nothing of it can.

    >>> from keyhole.latent.models.finite import FiniteModel, counts_of
    >>> three = FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5]))
    >>> tokens = three.sample(200, 12, 0).tokens
    >>> reading = linear_probe(counts_of(three)(tokens), three.posterior(tokens))
    >>> reading.divergence < 0.001 < reading.ignorant
    True
    """
    return read_out(_fit_linear, represented, posterior, rng=rng)


def network_probe(represented: Represented, posterior: Probabilities, *, rng: Rng = 0) -> ProbeReading:
    """A softmax of a small network (32 hidden units), which also reads what is not linearly there."""
    return read_out(_fit_network, represented, posterior, rng=rng)


def read_out(fit: Fit, represented: Represented, posterior: Probabilities, *, rng: Rng = 0) -> ProbeReading:
    """Fit any probe on one half of the sequences, and compare it with the exact posterior on the other.

    `fit` takes the representation and the posterior of the first half, and a seed, and returns a function from
    representations to probabilities.
    """
    _require_rows(represented, posterior)
    require_probabilities("each posterior", posterior, axis=1)
    stream = np.random.default_rng(rng)
    first, second = _halves(len(represented), stream)
    seed = int(stream.integers(2**31))
    losses = divergences(posterior[second], fit(represented[first], posterior[first], seed)(represented[second]))
    control = fit(represented[first], posterior[stream.permutation(first)], seed)(represented[second])
    average = np.broadcast_to(posterior[first].mean(axis=0), posterior[second].shape)
    return ProbeReading(
        divergence=float(losses.mean()),
        standard_error=float(losses.std(ddof=1) / np.sqrt(len(losses))),
        shuffled=float(divergences(posterior[second], control).mean()),
        ignorant=float(divergences(posterior[second], average).mean()),
    )


def nuisance_probe(
    represented: Represented, posterior: Probabilities, nuisance: Real[Any, "rows_nuisance q"], *, rng: Rng = 0
) -> NuisanceReading:
    """How much more of a nuisance the representation tells than the posterior does.

    A nuisance may correlate with the latent, so its share of variance alone says nothing; the excess over what
    the posterior explains (by least squares in its probabilities, log-ratios and their products) does.
    """
    _require_rows(represented, posterior)
    _require_rows(nuisance, posterior)
    first, second = _halves(len(represented), np.random.default_rng(rng))
    known = _posterior_features(posterior)
    return NuisanceReading(
        posterior_alone=_explained(known, nuisance, first, second),
        with_representation=_explained(np.concatenate([known, represented], axis=1), nuisance, first, second),
    )


def divergences(exact: Probabilities, guess: Probabilities) -> Float[Any, "n"]:
    """KL(exact ‖ guess) of each row, in nats; 0 log 0 = 0.

    >>> divergences(np.array([[0.5, 0.5]]), np.array([[0.25, 0.75]])).round(6).tolist()
    [0.143841]
    """
    logs = np.log(np.maximum(exact, TINY)) - np.log(np.maximum(guess, TINY))
    return (exact * logs).sum(axis=1)


def _fit_linear(represented: Represented, posterior: Probabilities, seed: int) -> Reader:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  (imported when asked for)

    model = LogisticRegression(C=1e6, max_iter=5000, random_state=seed)  # C: next to no penalty
    return _fit_weighed(model, represented, posterior)


def _fit_network(represented: Represented, posterior: Probabilities, seed: int) -> Reader:
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415  (as above)

    model = MLPClassifier(
        (32,), max_iter=150, tol=0.0, n_iter_no_change=150, learning_rate_init=0.01, random_state=seed
    )
    return _fit_weighed(model, represented, posterior)


def _fit_weighed(model: Any, represented: Represented, posterior: Probabilities) -> Reader:
    """Cross-entropy to soft labels: every sequence once per latent value, weighed by its posterior."""
    import warnings  # noqa: PLC0415  (used here only)

    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415  (as above)
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415  (as above)

    n, m = posterior.shape
    scaler = StandardScaler().fit(represented)
    labels = np.tile(np.arange(m), n)
    rows = np.repeat(scaler.transform(represented), m, axis=0)
    with warnings.catch_warnings():  # a probe that has not converged is a poorer probe; its divergence says so
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, labels, sample_weight=posterior.ravel())
    return lambda some: model.predict_proba(scaler.transform(some))


def _posterior_features(posterior: Probabilities) -> Float[Any, "n features"]:
    logs = np.log(np.maximum(posterior, TINY))
    ratios = logs[:, 1:] - logs[:, :1]
    products = np.einsum("ni,nj->nij", ratios, ratios)[:, *np.triu_indices(ratios.shape[1])]
    return np.concatenate([posterior[:, 1:], ratios, products], axis=1)


def _explained(features: Real[Any, "n f"], target: Real[Any, "n q"], first: np.ndarray, second: np.ndarray) -> float:
    """R² on the second half of least squares on the first, averaged over the coordinates of the target."""
    whole = np.concatenate([np.ones((len(features), 1)), features], axis=1)
    slope = np.linalg.lstsq(whole[first], target[first], rcond=1e-10)[0]
    rest = ((target[second] - whole[second] @ slope) ** 2).sum(axis=0)
    total = ((target[second] - target[second].mean(axis=0)) ** 2).sum(axis=0)
    if not bool(np.all(total > 0)):
        raise DataError("A nuisance is the same for every sequence, so there is nothing to explain; leave it out.")
    return float((1 - rest / total).mean())


def _halves(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    order = rng.permutation(n)
    return order[: n // 2], order[n // 2 :]


def _require_rows(rows: Real[Any, "rows width"], posterior: Probabilities) -> None:
    if len(rows) != len(posterior):
        raise DataError(f"{len(rows)} rows came with {len(posterior)} posteriors; give one row per sequence.")
    if len(rows) < 20:
        raise DataError(f"{len(rows)} sequences are too few to fit a probe on half of them; give at least 20.")
    if not (bool(np.all(np.isfinite(rows))) and bool(np.all(np.isfinite(posterior)))):
        raise DataError("A representation, nuisance or posterior holds NaN or infinity; every entry must be a number.")
