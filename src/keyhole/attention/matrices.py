"""The norms of a matrix, given whole or as a product of two thin ones."""

from typing import Any, NamedTuple

import numpy as np

from keyhole.attention.types import Array, numbers_of
from keyhole.norm_profile import MatrixNorms

ROWS = 1024  # rows of a product held at once


def matrix_norms(matrix: Array) -> MatrixNorms:
    """The norms of a matrix given entry by entry.

    >>> norms = matrix_norms(np.asarray([[3.0, 0.0], [4.0, 0.0]]))
    >>> norms.columns21, norms.rows21, norms.entries11
    (5.0, 7.0, 7.0)
    """
    numbers = numbers_of(matrix)
    rows, columns = numbers.shape
    return MatrixNorms(
        rows,
        columns,
        spectral=float(np.linalg.norm(numbers, 2)),
        frobenius=float(np.linalg.norm(numbers)),
        columns21=float(np.linalg.norm(numbers, axis=0).sum()),
        rows21=float(np.linalg.norm(numbers, axis=1).sum()),
        entries11=float(np.abs(numbers).sum()),
    )


class ThinNorms(NamedTuple):
    """The norms of a product of two thin matrices, as far as they need no entry of it."""

    spectral: float
    frobenius: float
    columns21: float  # sum over columns of their ℓ2 norms
    rows21: float  # sum over rows of their ℓ2 norms

    @property
    def stable_rank(self) -> float:
        """(‖W‖_F/‖W‖₂)², at least 1 and at most the rank; 0 of a matrix of zeros."""
        return (self.frobenius / self.spectral) ** 2 if self.spectral else 0.0


def thin_norms(left: Array, right: Array) -> ThinNorms:
    """The norms of L Rᵀ from its thin factors; the product is never formed, in time linear in its sides.

    Statement  With L = Q_L U_L and R = Q_R U_R (orthonormal columns times small squares) the spectral
               and Frobenius norms of L Rᵀ are those of U_L U_Rᵀ, column j has the norm ‖U_L r_j‖ and row i
               has ‖U_R l_i‖, for the rows r_j of R and l_i of L.
    Proof      Q_L and Q_R keep lengths, from either side.
    Source     Standard. ‖L Rᵀ‖_F² is also the trace of (LᵀL)(RᵀR), which rounds less well.

    >>> norms = thin_norms(np.asarray([[3.0], [4.0]]), np.asarray([[1.0], [0.0]]))
    >>> norms.spectral, norms.columns21, norms.rows21
    (5.0, 5.0, 7.0)
    """
    one, two = numbers_of(left), numbers_of(right)
    small_one: Any = np.linalg.qr(one, mode="r")
    small_two: Any = np.linalg.qr(two, mode="r")
    core = small_one @ small_two.T
    return ThinNorms(
        spectral=float(np.linalg.norm(core, 2)),
        frobenius=float(np.linalg.norm(core)),
        columns21=float(np.linalg.norm(small_one @ two.T, axis=0).sum()),
        rows21=float(np.linalg.norm(small_two @ one.T, axis=0).sum()),
    )


def product_norms(left: Array, right: Array) -> MatrixNorms:
    """All norms of L Rᵀ; for the sum of its entries some rows of the product at a time are formed."""
    one, two = numbers_of(left), numbers_of(right)
    entries = sum(float(np.abs(one[start : start + ROWS] @ two.T).sum()) for start in range(0, one.shape[0], ROWS))
    return MatrixNorms(one.shape[0], two.shape[0], **thin_norms(one, two)._asdict(), entries11=entries)
