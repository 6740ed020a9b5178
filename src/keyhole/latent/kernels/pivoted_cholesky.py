"""A kernel matrix is often nearly of low rank; pivoted Cholesky finds the factor from a few of its rows."""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.attention import require_context
from keyhole.errors import AssumptionError
from keyhole.latent.kernels.kernel import Kernel


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
