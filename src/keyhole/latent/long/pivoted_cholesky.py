"""A kernel matrix is often nearly of low rank; pivoted Cholesky finds the factor from a few of its rows."""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.attention import require_context
from keyhole.errors import AssumptionError
from keyhole.latent.kernels import Kernel
from keyhole.rigorous import UNIT

SPREAD = 4.0  # standard deviations granted to sums of independent roundings


@dataclass(frozen=True)
class Factor:
    """F with 𝔎(K, K) ≈ FᵀF, and what is left of the diagonal."""

    rows: Float[np.ndarray, "rank T"]  # F
    left: Float[np.ndarray, "T"]  # the diagonal of 𝔎(K, K) − FᵀF
    pivots: Int[np.ndarray, "rank"]  # the tokens whose rows were read

    @property
    def trace(self) -> float:
        """The trace of what is left."""
        return float(self.left.sum())

    def missed(self, vector: Float[np.ndarray, "T"]) -> float:
        """At most how long (𝔎(K, K) − FᵀF)x is.

        Statement  With d the diagonal left and t = Σd, ‖(𝔎(K, K) − FᵀF)x‖ ≤ √t Σ_t √d_t |x_t| ≤ t‖x‖.
        Proof      What is left is positive semi-definite, so its entries are at most √(d_s d_t); then Cauchy–Schwarz.
        Equality   What is left has rank one, and x the signs of its eigenvector.
        Source     Ours; in exact arithmetic. `rounding` is what arithmetic adds.
        """
        return float(np.sqrt(self.trace) * (np.sqrt(self.left) @ np.abs(vector)))

    def rounding(self, vector: Float[np.ndarray, "T"]) -> float:
        """How much longer rounding can make (𝔎(K, K) − FᵀF)x, 𝔎 as computed.

        Statement  4√(r + 2) u ‖|F|ᵀ|F||x|‖, r the rank and u = 2⁻⁵³.
        Assumes    The r + 2 roundings behind an entry are independent and of mean 0; so they add up like √(r + 2) and
                   not like r + 2, and 4 is four standard deviations. To first order in u.
        Proof      An entry of FᵀF is reached through r products, each rounded relative to its size |F_js||F_jt|.
        Source     Standard.
        """
        size = np.abs(self.rows)
        return float(SPREAD * np.sqrt(len(size) + 2) * UNIT * np.linalg.norm(size.T @ (size @ np.abs(vector))))

    def residual(
        self, ridge: float, solved: Float[np.ndarray, "T k"], right: Float[np.ndarray, "T k"]
    ) -> Float[np.ndarray, "k"]:
        """How long each column of right − (FᵀF + λI)·solved is, in the widest floats there are.

        The solution divides a difference by λ, so its own rounding grows like 1/λ; here it is measured.
        """
        wide, parts = np.longdouble, [slice(start, start + 4096) for start in range(0, len(right), 4096)]
        inner = sum(self.rows[:, some].astype(wide) @ solved[some].astype(wide) for some in parts)
        squares = sum(
            np.square(right[some] - self.rows[:, some].T.astype(wide) @ inner - wide(ridge) * solved[some]).sum(axis=0)
            for some in parts
        )
        return np.sqrt(np.asarray(squares, dtype=np.float64))

    def solve(self, ridge: float, right: Float[np.ndarray, "T k"]) -> Float[np.ndarray, "T k"]:
        """(FᵀF + λI)⁻¹ times the right-hand sides, through a system of the factor's rank."""
        small = self.rows @ self.rows.T + ridge * np.eye(len(self.rows))
        solved: np.ndarray = (right - self.rows.T @ np.linalg.solve(small, self.rows @ right)) / ridge
        return solved


def factor(kernel: Kernel, keys: Float[np.ndarray, "T d"], *, rank: int, trace: float) -> Factor:
    """Rows of the factor, each from the token least explained so far, until the trace left is at most `trace`.

    Statement  After r steps FᵀF equals 𝔎(K, K) on the rows read, and the rest stays positive semi-definite.
    Source     Standard.

    >>> from keyhole.latent.kernels.families import linear_kernel
    >>> found = factor(linear_kernel(), np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), rank=3, trace=1e-12)
    >>> len(found.pivots), round(found.trace, 12)
    (2, 0.0)
    """
    require_context(keys)
    if rank < 1:
        raise AssumptionError(f"A factor has at least one row; got a rank of {rank}.")
    left = np.array(kernel.diagonal(keys), dtype=np.float64)
    if not bool(np.all(left >= 0)):
        raise AssumptionError("A kernel is never negative on its diagonal; this one is, so it is no kernel.")
    rounding = np.finfo(np.float64).eps * float(left.max(initial=0.0))  # a pivot below this is rounding, not signal
    rows = np.empty((min(rank, len(keys)), len(keys)))
    pivots: list[int] = []
    while len(pivots) < len(rows):
        pivot, step = int(left.argmax()), len(pivots)
        if left.sum() <= trace or left[pivot] <= rounding:
            break
        row = kernel(keys[pivot : pivot + 1, :], keys)[0] - rows[:step, pivot] @ rows[:step]
        rows[step] = row / np.sqrt(left[pivot])
        left = np.maximum(left - np.square(rows[step]), 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    return Factor(rows[: len(pivots)], left, np.array(pivots, dtype=np.int64))
