"""Canonical correlations between a masked block and the latent: the spectrum of the conditional-expectation operator.

The operator takes functions of the latent to functions of the block, f ↦ E[f(z) | block]. Its singular values are
s₁ = 1 ≥ s₂ ≥ … ≥ s_m, and 1/s_m says how much the operator shrinks what is hardest to see.
"""

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.latent.masking.condition import rounding
from keyhole.latent.masking.masked import require_few_counts
from keyhole.latent.models.base import Probabilities, Rng
from keyhole.latent.models.finite import FiniteLatent, FiniteModel

FEWEST = 100  # draws for an interval


def canonical_correlations(model: FiniteModel, block: int) -> tuple[float, ...]:
    """s₁ = 1 ≥ s₂ ≥ … ≥ s_m: the singular values of P(block, z)/√(P(block)P(z)), up to the rounding of doubles.

    What that cannot tell from 0 (`condition.rounding`) is given as 0.

    Statement  Each s_k is non-decreasing in the size of the block, so 1/s_m is non-increasing.
    Proof      Sequences of the same counts have proportional rows, so the table over counts has the same Gram matrix.
               A longer block determines a shorter one: E[f | shorter] = E[E[f | longer] | shorter], a contraction after
               the longer one's operator, and singular values of a product with a contraction are no larger.
    Source     keyhole; the operator is that of maximal correlation.

    >>> A = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.1], [0.1, 0.2, 0.2], [0.1, 0.2, 0.6]])
    >>> [round(canonical_correlations(FiniteModel(A, np.ones(3) / 3), b)[-1], 6) for b in (1, 2, 3, 4)]
    [0.198211, 0.305528, 0.386824, 0.454129]
    """
    require_few_counts(model.letters, block)
    joint = np.concatenate(list(model.joint_counts(block)))  # (counts, m)
    whole = joint.sum(axis=1)
    joint, whole = joint[whole > 0], whole[whole > 0]
    known = model.prior > 0
    table = joint[:, known] / np.sqrt(whole[:, None] * model.prior[known])
    singular = np.linalg.svd(table, compute_uv=False)
    full = np.zeros(int(known.sum()))
    full[: len(singular)] = np.where(singular > rounding(table), np.minimum(singular, 1.0), 0.0)
    return tuple(map(float, full))


def estimate_least_correlation(model: FiniteLatent, block: int, *, draws: int = 20_000, rng: Rng = 0) -> Estimate:
    """s_m of a block of any tokens, real vectors included, from drawn blocks, with a 95% interval.

    Statement  s_k² are the eigenvalues of M = E[w wᵀ], w_z = π_z(block)/√p_z. For every unit vector g, gᵀMg ≥ s_m².
    Proof      P(x, z) = P(x)π_z(x), so the Gram matrix of the table is the mean of w wᵀ over blocks; Rayleigh.
    Source     keyhole.

    The direction g is chosen on one half of the draws and evaluated on the other, and the halves then change places,
    so that the estimate is not the least of many: a resampled least eigenvalue would be biased towards 0. What is
    estimated is gᵀMg, at least s_m² and above it by a term of second order; the interval is that of a mean.
    """
    if draws < FEWEST:
        raise ArgumentError(f"{draws} draws were asked for; an interval takes at least {FEWEST}.")
    if block < 1:
        raise ArgumentError(f"A mask of {block} tokens was asked for; mask at least 1.")
    posterior: Probabilities = model.posterior(model.sample(draws, block, rng).tokens)
    rows = posterior[:, model.prior > 0] / np.sqrt(model.prior[model.prior > 0])
    half = draws // 2
    squares = np.concatenate([_squares(rows[:half], rows[half:]), _squares(rows[half:], rows[:half])])
    reach = NormalDist().inv_cdf(0.975) * float(squares.std(ddof=1)) / sqrt(len(squares))
    middle = float(squares.mean())
    ends = (max(0.0, middle - reach), min(1.0, middle + reach))
    return Estimate(sqrt(middle), sqrt(ends[0]), sqrt(ends[1]))


def _squares(chosen: Float[Any, "half m"], judged: Float[Any, "rest m"]) -> Float[Any, "rest"]:
    """(gᵀw)² of one part, where g is the direction in which the other part varies least."""
    direction = np.linalg.eigh(chosen.T @ chosen / len(chosen))[1][:, 0]
    return np.square(judged @ direction)
