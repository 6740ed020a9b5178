"""Conditional-mean attention over very long contexts: a low-rank solution, refined until its error is certified.

No matrix of T × T is held. The low-rank factor solves nearly; where its own bound is not enough, conjugate gradients
with exact kernel products, a block at a time, do the rest. What is certified includes rounding, taken as independent
from one operation to the next, with the kernel's entries as computed.
"""

from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Literal

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Keys, Queries, Values, require_context, require_positive
from keyhole.errors import AssumptionError
from keyhole.latent.kernels import Kernel, in_blocks
from keyhole.latent.long.pivoted_cholesky import SPREAD, Factor, factor
from keyhole.rigorous import UNIT

BLOCK = 1024  # rows and columns of the kernel held at once: 8 MB in double precision
RANK = 512  # rows of the factor: 0.4 GB at 10⁵ tokens
STEPS = 30  # exact products at most


@dataclass(frozen=True)
class LongEmbedding:
    """A long context, solved: coefficients, and a certified bound on what they miss."""

    kernel: Kernel
    keys: Float[np.ndarray, "T d"]
    coefficients: Float[np.ndarray, "T k"]
    ridge: float
    rank: int  # of the factor
    steps: int  # exact kernel products taken
    residual: float  # the largest column of V − (𝔎(K, K) + λI)c is at most this long, rounding counted
    certified_by: Literal["trace of the factor", "exact residual"]

    def mean(self, queries: Queries, *, block: int = BLOCK) -> Float[np.ndarray, "n k"]:
        """E[v | q, K, V] for every query, a block of queries at a time."""
        require_context(self.keys, queries=queries)
        parts = in_blocks(len(queries), block)
        return np.concatenate([_product(self.kernel, queries[some], self.keys, self.coefficients) for some in parts])

    def bound(self, queries: Queries) -> Float[np.ndarray, "n"]:
        """How far each coordinate of the mean can be from the dense solution's.

        Statement  |k_qᵀ(c − c*)| ≤ √𝔎(q, q) ‖r‖/(2√λ), r the residual of the coefficients c; to it comes the rounding
                   of the sum k_qᵀc.
        Proof      c* − c = (𝔎 + λI)⁻¹r and k_q = Φφ(q), so the gap is at most ‖φ(q)‖‖Φᵀ(ΦΦᵀ + λI)⁻¹r‖, and
                   √s/(s + λ) ≤ 1/(2√λ) for every s ≥ 0.
        Equality   r an eigenvector of eigenvalue λ, φ(q) along Φᵀr.
        Source     Ours.
        """
        require_context(self.keys, queries=queries)
        reach: np.ndarray = np.sqrt(self.kernel.diagonal(queries))
        summed = _rounding(self.kernel.diagonal(self.keys), self.coefficients)
        return reach * (self.residual / (2 * sqrt(self.ridge)) + summed)


def embed_long(
    kernel: Kernel,
    keys: Keys,
    values: Values,
    *,
    ridge: float,
    tolerance: float = 1e-7,
    rank: int = RANK,
    steps: int = STEPS,
) -> LongEmbedding:
    """Solve a long context until every answer at a key is certified within the tolerance, or the steps are spent.

    What was reached stands in `residual`, and `bound` turns it into the error of an answer.

    >>> from keyhole.latent.kernels.families import linear_kernel
    >>> keys, values = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.0]])
    >>> embed_long(linear_kernel(), keys, values, ridge=0.5).mean(np.array([[2.0]])).round(7).tolist()
    [[1.5172414]]
    """
    require_context(keys, values)
    require_positive("a ridge", ridge)
    require_positive("a tolerance", tolerance)
    if steps < 0:
        raise AssumptionError(f"A number of steps is not negative; got {steps}.")
    largest = float(np.max(kernel.diagonal(keys)))
    target = tolerance * 2 * sqrt(ridge / largest) if largest > 0 else inf
    # ‖c‖ ≤ ‖v‖/λ, so a trace of target·λ/‖v‖ is surely enough; the factor's own bound then decides
    longest = float(np.linalg.norm(values, axis=0).max())
    approximate = factor(kernel, keys, rank=rank, trace=target * ridge / max(longest, 1e-300))
    coefficients = approximate.solve(ridge, values)
    missed = max(approximate.missed(column) + approximate.rounding(column) for column in coefficients.T)
    missed += float(approximate.residual(ridge, coefficients, values).max())
    nearly = LongEmbedding(kernel, keys, coefficients, ridge, len(approximate.pivots), 0, missed, "trace of the factor")
    summed = _rounding(kernel.diagonal(keys), coefficients)  # of an answer at a key, in units of its reach
    if missed + 2 * sqrt(ridge) * summed <= target or steps == 0:
        return nearly
    # a product's columns are T such sums; where they round by more than the target, nothing is gained by more steps
    rounded = (sqrt(float(kernel.diagonal(keys).sum())) + 2 * sqrt(ridge)) * summed
    goal = max(target - rounded, rounded)
    coefficients, residual, taken = _refine(kernel, keys, values, ridge, approximate, coefficients, goal, steps)
    residual += sqrt(float(kernel.diagonal(keys).sum())) * _rounding(kernel.diagonal(keys), coefficients)
    if residual >= missed:
        return replace(nearly, steps=taken)
    return LongEmbedding(kernel, keys, coefficients, ridge, len(approximate.pivots), taken, residual, "exact residual")


def kernel_product(
    kernel: Kernel, keys: Float[np.ndarray, "T d"], right: Float[np.ndarray, "T k"], *, block: int = BLOCK
) -> Float[np.ndarray, "T k"]:
    """𝔎(K, K) times the right-hand sides, each block on or above the diagonal read once and used twice."""
    product = np.zeros_like(right)
    parts = in_blocks(len(keys), block)
    for index, some in enumerate(parts):
        product[some] += kernel(keys[some], keys[some]) @ right[some]
        for others in parts[index + 1 :]:
            gram = kernel(keys[some], keys[others])
            product[some] += gram @ right[others]
            product[others] += gram.T @ right[some]
    return product


def _rounding(diagonal: np.ndarray, coefficients: np.ndarray) -> float:
    """How far the sum 𝔎(q, K)c, a block at a time, is rounded off, per √𝔎(q, q); the largest column.

    A block's terms and then the blocks are added; |𝔎(q, k_t)| ≤ √𝔎(q, q)√𝔎(k_t, k_t).
    """
    terms = sqrt(min(BLOCK, len(diagonal))) + sqrt(-(-len(diagonal) // BLOCK))
    return float(SPREAD * terms * UNIT * (np.sqrt(diagonal) @ np.abs(coefficients)).max())


def _product(kernel: Kernel, queries: np.ndarray, keys: np.ndarray, right: np.ndarray) -> np.ndarray:
    total = np.zeros((len(queries), right.shape[1]))
    for some in in_blocks(len(keys), BLOCK):
        total += kernel(queries, keys[some]) @ right[some]
    return total


def _refine(
    kernel: Kernel,
    keys: np.ndarray,
    values: np.ndarray,
    ridge: float,
    approximate: Factor,
    coefficients: np.ndarray,
    target: float,
    steps: int,
) -> tuple[np.ndarray, float, int]:
    """Preconditioned conjugate gradients from the low-rank solution, all columns at once.

    The last product is spent on the true residual, since the recursive one drifts by rounding.
    """

    def apply(vectors: np.ndarray) -> np.ndarray:
        return kernel_product(kernel, keys, vectors) + ridge * vectors

    residual = values - apply(coefficients)
    taken = 1
    longest = float(np.linalg.norm(residual, axis=0).max())
    eased = approximate.solve(ridge, residual)
    direction, strength = eased, (residual * eased).sum(axis=0)
    while longest > target and taken + 2 <= steps:
        image = apply(direction)
        length = _ratio(strength, (direction * image).sum(axis=0))
        coefficients = coefficients + length * direction
        residual = residual - length * image
        taken += 1
        if float(np.linalg.norm(residual, axis=0).max()) <= target or taken + 2 > steps:
            residual = values - apply(coefficients)
            taken += 1
            longest = float(np.linalg.norm(residual, axis=0).max())
        eased = approximate.solve(ridge, residual)
        renewed = (residual * eased).sum(axis=0)
        direction = eased + _ratio(renewed, strength) * direction
        strength = renewed
    return coefficients, longest, taken


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Quotients, 0 where a column is solved already."""
    quotients: np.ndarray = np.divide(above, below, out=np.zeros_like(above), where=below != 0)
    return quotients
