"""The rate at which the posterior finds the latent, and the regret of averaging over it on the way."""

from itertools import combinations
from math import inf, log
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import AssumptionError
from keyhole.latent.models.base import Tokens, require_probabilities
from keyhole.latent.models.finite import FiniteLatent, FiniteModel


def chernoff_information(first: Float[Any, "V"], second: Float[Any, "V"]) -> float:
    """Max over s of −log Σ_v p_v^s q_v^{1−s}: the rate at which two laws are told apart when either may be true.

    Statement  With finitely many latent values H(z | X) = E[−log π_X(z)] decays like e^{−CT + o(T)}, C the
               smallest Chernoff information of two of them; not at the larger Kullback–Leibler divergence.
    Proof      The error e of the best guess of z decays so (Chernoff), and H lies between 2 log 2 · e (Hellman
               and Raviv) and −e log e − (1 − e) log(1 − e) + e log(m − 1) (Fano).
    Source     Standard.

    >>> round(chernoff_information(np.array([0.6, 0.4]), np.array([0.4, 0.6])), 7)
    0.020411
    """
    from scipy.optimize import minimize_scalar  # noqa: PLC0415  (imported when asked for)

    require_probabilities("the first law", first)
    require_probabilities("the second law", second)
    both = (first > 0) & (second > 0)
    if not bool(np.any(both)):
        return float("inf")
    logs, others = np.log(first[both]), np.log(second[both])

    def log_sum(s: float) -> float:
        return log(float(np.exp(s * logs + (1 - s) * others).sum()))

    # log Σ p^s q^{1−s} is convex in s, and flat at its least value: an s off by 1e-9 moves it by about 1e-18 there
    inside = minimize_scalar(log_sum, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    return -min(float(inside.fun), log_sum(0.0), log_sum(1.0))


def contraction_rate(model: FiniteModel) -> float:
    """The smallest Chernoff information of two latent values: the rate in T of the posterior's log loss."""
    columns = model.emission.T
    if len(columns) < 2:
        raise AssumptionError("A latent with one value has nothing to find; give the model at least two.")
    return min(chernoff_information(first, second) for first, second in combinations(columns, 2))


def cumulative_regret(model: FiniteLatent, tokens: Tokens) -> Float[Any, "n T"]:
    """The loss of averaging over the posterior after every token, against the best latent value in hindsight.

    Statement  Σ_t −log P(x_t | x_<t) − min_z Σ_t −log P(x_t | z) ≤ log(1/p_z) for the best z, on every sequence;
               so ≤ log m for a uniform prior on m values.
    Proof      The first sum telescopes to −log Σ_z p_z P(X | z), which is at most −log(p_z P(X | z)) for any one z.
    Source     Standard.

    >>> three = FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5]))
    >>> cumulative_regret(three, np.array([[0, 0, 2]])).round(6).tolist()
    [[0.356675, 0.544727, 0.356675]]
    """
    logs = np.cumsum(model.log_likelihood(tokens), axis=1)  # log P(x_1..x_t | z)
    best = logs.max(axis=2)
    if bool(np.any(np.isneginf(best))):
        raise AssumptionError("A sequence has probability 0 under every latent value, so its regret is not defined.")
    with np.errstate(divide="ignore"):
        return -np.logaddexp.reduce(logs - best[:, :, None] + np.log(model.prior), axis=2)


def regret_ceiling(model: FiniteLatent) -> float:
    """log(1/p) of the least likely latent value: what no sequence's regret exceeds; infinite if the prior excludes one.

    >>> regret_ceiling(FiniteModel(np.array([[0.5, 0.2], [0.5, 0.8]]), np.array([1.0, 0.0])))
    inf
    """
    least = float(model.prior.min())
    return -log(least) if least > 0 else inf
