"""The condition of a downstream task given a pretext task: κ_T, κ, the ratio of singular values, and the linear head.

Pretraining predicts a target whose mean under latent value z is column z of A: the law of a masked block (log loss), or
its mean vector (squared error). A downstream task asks for Tπ(X). Differences of posteriors lie in the space of vectors
of sum 0, which has the orthonormal basis U, so only AU and TU matter.

Canonical correlations between a masked block and the latent: the spectrum of the conditional-expectation operator.

The operator takes functions of the latent to functions of the block, f ↦ E[f(z) | block]. Its singular values are
s₁ = 1 ≥ s₂ ≥ … ≥ s_m, and 1/s_m says how much the operator shrinks what is hardest to see.
"""

from dataclasses import dataclass
from math import inf, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from keyhole.apps.pretrain.masked import require_few_counts
from keyhole.arrays import Float
from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.latent.models import FiniteLatent, FiniteModel, count_vectors, log_multinomials, sum_zero_basis

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ConditionNumbers:
    """The condition numbers of a pretext task, and of a downstream task given it.

    Singular values are known to within `rounding`; those that it cannot tell from 0 are given as 0. So "infinite"
    says: infinite, or too large for double precision to tell, which begins at 1/rounding.
    """

    singular: tuple[float, ...]  # of AU, largest first
    downstream: float  # κ_T = ‖TU(AU)⁺‖; infinite where no linear head serves the task
    column: float  # the largest column norm of W = TU(AU)⁺, which may stand for κ_T under a bound on ‖·‖₁
    rounding: float  # τ

    @property
    def least(self) -> float:
        """κ = 1/σ_min(AU); infinite where AU is rank deficient."""
        return 1 / self.singular[-1] if self.singular[-1] else inf

    @property
    def ratio(self) -> float:
        """cond = σ_max(AU)/σ_min(AU)."""
        return self.singular[0] / self.singular[-1] if self.singular[-1] else inf


@dataclass(frozen=True)
class Head:
    """A linear head: from the pretext prediction g to Wg + b."""

    weights: Float[Any, "k rows"]
    bias: Float[Any, "k"]

    def __call__(self, predictions: Float[Any, "n rows"]) -> Float[Any, "n k"]:
        """The downstream answer for each prediction."""
        return predictions @ self.weights.T + self.bias


def block_law(model: FiniteModel, block: int) -> Float[Any, "K m"]:
    """The law of a masked block of letters under each latent value, in coordinates of the same length.

    Statement  Row c is √(number of orders of c) · P(one order of c | z), for every count vector c of `block` letters.
               Its Gram matrix is that of the full table over all V^block sequences, so κ_T, κ and cond are too.
    Proof      Sequences of the same counts have the same row. k equal rows a are an isometric image of one row √k a.
    Source     keyhole.

    >>> A = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.1], [0.1, 0.2, 0.2], [0.1, 0.2, 0.6]])
    >>> model = FiniteModel(A, np.ones(3) / 3)
    >>> np.allclose(block_law(model, 3).T @ block_law(model, 3), (model.emission.T @ model.emission) ** 3)
    True
    """
    require_few_counts(model.letters, block)
    counts = np.concatenate(list(count_vectors(model.letters, block)))
    return np.asarray(np.exp(model.log_in_order(counts) + log_multinomials(counts)[:, None] / 2))


def rounding(matrix: Float[Any, "rows columns"]) -> float:
    """τ: how far rounding may move the singular values of a matrix, ε times its larger side times the largest of them.

    Statement  Singular values computed in doubles are within τ of those of the matrix before its entries were rounded.
    Proof      Rounding entries moves the matrix by ε‖A‖_F/2 at most, which is ε√(smaller side) σ_max/2; a product with
               orthonormal columns and the decomposition, which are backward stable, by small multiples of ε σ_max; and
               singular values move by no more than the matrix does (Weyl).
    Source     Textbook; with the multiples that the larger side stands for it is the usual rule for a numerical rank.
    """
    return float(EPSILON * max(matrix.shape) * np.linalg.norm(matrix, 2))


def condition_numbers(
    pretext: Float[Any, "rows m"], downstream: Float[Any, "k m_task"] | None = None
) -> ConditionNumbers:
    """κ_T, κ and cond of a pretext mean map A and a downstream task T (all latent values, where none is given).

    Statement  κ_T = ‖TU(AU)⁺‖_op, κ = 1/σ_min(AU), cond = σ_max(AU)/σ_min(AU), and κ_T ≤ ‖TU‖ κ. Where TU is not in
               the row space of AU, κ_T is infinite: no linear head of the prediction solves the task, however small
               the pretext error, if the posterior varies in that direction. In doubles, with τ of `rounding`, a
               singular value of τ or less counts as 0, and TU is in the row space if no more than τ/σ + mε of it is
               outside, σ the least singular value above τ.
    Proof      Of the last sentence: the space of the rows with singular values from σ on turns by an angle of sine τ/σ
               at most when the matrix moves by τ (Wedin); the product with TU rounds by mε.
    Source     keyhole's definition, in the spirit of Zhang et al. (2022), whose own is not known to us.

    >>> A = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.1], [0.1, 0.2, 0.2], [0.1, 0.2, 0.6]])
    >>> found = condition_numbers(A, np.array([[1.0, 0.0, 0.0]]))
    >>> round(found.least, 6), round(found.ratio, 6), round(found.downstream, 6)
    (5.959415, 3.068815, 3.273268)
    """
    m = pretext.shape[1]
    if m < 2:
        raise ArgumentError(
            "The latent has one value, so there is nothing to learn of it; use a model with two or more."
        )
    task = np.eye(m) if downstream is None else downstream
    require_downstream(task, m)
    basis = sum_zero_basis(m)
    left, singular, right = np.linalg.svd(pretext @ basis, full_matrices=False)
    lost = rounding(pretext)
    kept = singular > lost
    padded = np.zeros(m - 1)
    padded[: len(singular)] = np.where(kept, singular, 0.0)
    known, target = tuple(map(float, padded)), task @ basis
    rest = target - target @ right[kept].T @ right[kept]
    turned = lost / singular[kept][-1] if kept.any() else 0.0
    if np.linalg.norm(rest, 2) > (turned + m * EPSILON) * np.linalg.norm(target, 2):
        return ConditionNumbers(known, inf, inf, lost)
    head = target @ right[kept].T @ np.diag(1 / singular[kept]) @ left[:, kept].T
    columns = float(np.linalg.norm(head, axis=0).max())
    return ConditionNumbers(known, float(np.linalg.norm(head, 2)), columns, lost)


def linear_head(pretext: Float[Any, "rows m"], downstream: Float[Any, "k m"]) -> Head:
    """The head W = TU(AU)⁺, b = (T − WA)π₀ with π₀ uniform, which takes Aπ to Tπ for every posterior π.

    Statement  If TU(I − (AU)⁺AU) = 0, then WAπ + b = Tπ for every π of sum 1; and E‖Wĝ + b − Tπ‖² ≤ κ_T² E‖ĝ − Aπ‖².
    Proof      π − π₀ = Uu for some u, so WAπ + b = Tπ₀ + TU(AU)⁺AUu = Tπ; subtract.
    Source     keyhole.

    >>> A = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.1], [0.1, 0.2, 0.2], [0.1, 0.2, 0.6]])
    >>> head = linear_head(A, np.array([[1.0, 0.0, 0.0]]))
    >>> head.weights.round(6).tolist(), head.bias.round(6).tolist()
    ([[2.5, -1.785714, -1.071429, 0.357143]], [-0.071429])
    """
    if condition_numbers(pretext, downstream).downstream == inf:
        raise ArgumentError(
            "No linear head of this pretext prediction solves the downstream task: latent values that the task tells "
            "apart have predictions that are linearly dependent, as far as double precision tells. "
            "Mask more tokens, or predict by log loss."
        )
    basis = sum_zero_basis(pretext.shape[1])
    seen = pretext @ basis
    weights = downstream @ basis @ np.linalg.pinv(seen, rcond=rounding(pretext) / np.linalg.norm(seen, 2))
    return Head(weights, (downstream - weights @ pretext) @ np.full(pretext.shape[1], 1 / pretext.shape[1]))


def transfer_bound(condition: float, pretext_error: float) -> float:
    """The downstream excess that a pretext error allows: E‖Wĝ + b − Tπ‖² ≤ κ_T² ε², where ε² = E‖ĝ − Aπ‖² in total.

    Proof      `linear_head`. A head that is fitted to n labels adds about σ_y²(dim + 1)/n.
    Source     keyhole.

    >>> transfer_bound(3.0, 0.01)
    0.09
    """
    return condition**2 * pretext_error if pretext_error else 0.0


def require_downstream(task: Float[Any, "..."], m: int) -> None:
    """Refuse a downstream task of another number of latent values, and one that no posterior moves."""
    if task.ndim != 2 or task.shape[1] != m or not bool(np.all(np.isfinite(task))):
        raise ArgumentError(
            f"A downstream task was given as an array of shape {task.shape}; give finite numbers, a column for each of "
            f"the {m} latent values."
        )
    if float(np.abs(task - task.mean(axis=1, keepdims=True)).max(initial=0.0)) <= 1e-12 * max(
        1.0, float(np.abs(task).max(initial=0.0))
    ):
        raise ArgumentError(
            "The downstream task is constant: it has the same answer for every latent value, so nothing can be learned "
            "for it. Give a task that tells latent values apart."
        )


FEWEST = 100  # draws for an interval


def canonical_correlations(model: FiniteModel, block: int) -> tuple[float, ...]:
    """s₁ = 1 ≥ s₂ ≥ … ≥ s_m: the singular values of P(block, z)/√(P(block)P(z)), up to the rounding of doubles.

    What that cannot tell from 0 (`condition.rounding`) is given as 0.

    Statement  Each s_k is non-decreasing in the size of the block, so 1/s_m is non-increasing; κ of the block's law is
               not: below it is 5.96, 6.27, 8.09 and 11.3.
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


def estimate_least_correlation(model: FiniteLatent, block: int, *, draws: int = 20_000, rng: int = 0) -> Estimate:
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
    posterior = model.posterior(model.sample(draws, block, rng).tokens)
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
