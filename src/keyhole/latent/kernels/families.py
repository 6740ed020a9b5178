"""The kernels by which attention is read, each with its logarithm where it has one.

A kernel says how alike two points are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Array, require_positive
from keyhole.errors import AssumptionError, ShapeError

Left = Float[Any, "m d"]
Right = Float[Any, "n d_right"]
Gram = Float[Any, "m n"]


class Kernel(ABC):
    """A symmetric positive semi-definite function of two points."""

    positive: bool  # whether k(a, b) > 0 for all points, so that it has a logarithm and can weigh tokens

    def __call__(self, left: Left, right: Right) -> Gram:
        """k(a, b) for every row a of `left` and every row b of `right`."""
        _require_one_width(left, right)
        return self.between(left, right)

    def logarithm(self, left: Left, right: Right) -> Gram:
        """The logarithm of k(a, b), which neither overflows nor vanishes where k does."""
        if not self.positive:
            raise AssumptionError(f"{self} can be negative or zero, so it has no logarithm and cannot weigh tokens")
        _require_one_width(left, right)
        return self.log_between(left, right)

    @abstractmethod
    def between(self, left: Left, right: Right) -> Gram:
        """The kernel at all pairs of points of one width."""

    def log_between(self, left: Left, right: Right) -> Gram:
        """Its logarithm at all pairs."""
        return np.log(self.between(left, right))

    @abstractmethod
    def diagonal(self, points: Left) -> Float[Any, "m"]:
        """k(a, a) for every row a, without the matrix."""


def _require_one_width(left: Left, right: Right) -> None:
    if left.shape[-1] != right.shape[-1]:
        raise ShapeError(
            f"points of width {left.shape[-1]} were compared with points of width {right.shape[-1]}; "
            "give both the same width"
        )


class _ByLogarithm(Kernel):
    """A kernel known by its logarithm."""

    positive = True

    def between(self, left: Left, right: Right) -> Gram:
        return np.exp(self.log_between(left, right))

    def diagonal(self, points: Left) -> Float[Any, "m"]:
        """One, as of every kernel that reads distances alone."""
        return np.ones_like(points[:, 0])


@dataclass(frozen=True)
class Gaussian(_ByLogarithm):
    """exp(−‖a − b‖²/(2h²)), h the bandwidth.

    >>> Gaussian(bandwidth=1.0)(np.zeros((1, 2)), np.ones((1, 2))).round(6).tolist()
    [[0.367879]]
    """

    bandwidth: float

    def __post_init__(self) -> None:
        require_positive("a bandwidth", self.bandwidth)

    def log_between(self, left: Left, right: Right) -> Gram:
        """Half the squared distance, in bandwidths."""
        return -_squared_distance(left, right, self.bandwidth) / 2


@dataclass(frozen=True)
class Matern(_ByLogarithm):
    """Matérn's kernel of smoothness ½, 3/2 or 5/2: draws with 0, 1 or 2 derivatives; h the bandwidth.

    Statement  With r = √(2ν)‖a − b‖/h it is e^(−r) times 1, 1 + r, or 1 + r + r²/3 for ν = ½, 3/2, 5/2.
    Source     Standard.

    >>> Matern(bandwidth=1.0, smoothness=0.5)(np.zeros((1, 1)), np.ones((1, 1))).round(6).tolist()
    [[0.367879]]
    """

    bandwidth: float
    smoothness: float = 1.5

    def __post_init__(self) -> None:
        require_positive("a bandwidth", self.bandwidth)
        if self.smoothness not in (0.5, 1.5, 2.5):
            raise AssumptionError(f"a Matérn kernel here has smoothness 0.5, 1.5 or 2.5; got {self.smoothness}")

    def log_between(self, left: Left, right: Right) -> Gram:
        """The logarithm of a polynomial in the distance, less the distance."""
        square = 2 * self.smoothness * _squared_distance(left, right, self.bandwidth)
        distance = np.sqrt(square)
        if self.smoothness == 0.5:
            return -distance
        if self.smoothness == 1.5:
            return np.log1p(distance) - distance
        return np.log1p(distance + square / 3) - distance


@dataclass(frozen=True)
class Exponential(_ByLogarithm):
    """exp((aᵀb − c)/γ): the kernel of softmax attention at temperature γ, whatever c.

    >>> Exponential(temperature=0.5, offset=1.0)(np.eye(2), np.eye(2)).round(6).tolist()
    [[1.0, 0.135335], [0.135335, 1.0]]
    """

    temperature: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        require_positive("a temperature", self.temperature)

    def log_between(self, left: Left, right: Right) -> Gram:
        """Logits."""
        return (left @ right.T - self.offset) / self.temperature

    def diagonal(self, points: Left) -> Float[Any, "m"]:
        """exp((‖a‖² − c)/γ)."""
        return np.exp((np.sum(points * points, axis=-1) - self.offset) / self.temperature)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(aᵀb + c)^degree, c ≥ 0.

    >>> Polynomial(degree=2, offset=1.0)(np.ones((1, 2)), np.ones((1, 2))).tolist()
    [[9.0]]
    """

    degree: int = 1
    offset: float = 0.0
    positive = False

    def __post_init__(self) -> None:
        if self.degree < 1 or not 0 <= self.offset < inf:
            raise AssumptionError(
                f"(aᵀb + c)^degree is a kernel for degree ≥ 1 and c ≥ 0; got degree {self.degree} and c = {self.offset}"
            )

    def between(self, left: Left, right: Right) -> Gram:
        """Powers of products."""
        return (left @ right.T + self.offset) ** self.degree

    def diagonal(self, points: Left) -> Float[Any, "m"]:
        """Powers of squared norms."""
        return (np.sum(points * points, axis=-1) + self.offset) ** self.degree


@dataclass(frozen=True)
class Constant(Kernel):
    """The same positive number for every pair."""

    value: float = 1.0
    positive = True

    def __post_init__(self) -> None:
        require_positive("a constant kernel", self.value)

    def between(self, left: Left, right: Right) -> Gram:
        """The number everywhere."""
        return np.full((left.shape[0], right.shape[0]), self.value)

    def diagonal(self, points: Left) -> Float[Any, "m"]:
        """The number."""
        return np.full_like(points[:, 0], self.value)


@dataclass(frozen=True)
class Features(Kernel):
    """φ(a)ᵀφ(b) for a map φ of rows to rows; say `positive` only of features whose products are all positive.

    >>> Features(lambda points: points**2)(np.ones((1, 2)), np.ones((1, 2))).tolist()
    [[2.0]]
    """

    features: Callable[[Array], Array]
    positive: bool = False

    def between(self, left: Left, right: Right) -> Gram:
        """Products of features."""
        return self.features(left) @ self.features(right).T

    def diagonal(self, points: Left) -> Float[Any, "m"]:
        """Squared norms of features."""
        image = self.features(points)
        return np.sum(image * image, axis=-1)


@dataclass(frozen=True)
class Given(Kernel):
    """A kernel of the user's own: a function of two arrays of rows that returns k(a, b) for all pairs.

    That it is symmetric and positive semi-definite is the user's word; say `positive` only if all values are.

    >>> Given(lambda left, right: np.minimum(left, right.T))(np.array([[1.0], [2.0]]), np.array([[3.0]])).tolist()
    [[1.0], [2.0]]
    """

    function: Callable[[Array, Array], Array]
    positive: bool = False

    def between(self, left: Left, right: Right) -> Gram:
        """The function's matrix, of the shape it must have."""
        gram = self.function(left, right)
        wanted = (left.shape[0], right.shape[0])
        if tuple(gram.shape) != wanted:
            raise ShapeError(
                f"a kernel of {wanted[0]} and {wanted[1]} points is a matrix of shape {wanted}; the given one returned "
                f"{tuple(gram.shape)}"
            )
        return gram

    def diagonal(self, points: Left) -> Float[Any, "m"]:
        """The diagonal, from small square blocks."""
        starts = range(0, max(points.shape[0], 1), 64)
        blocks = [points[start : start + 64, :] for start in starts]
        return np.concatenate([np.diagonal(self.between(block, block)) for block in blocks])


def sphere_kernel(temperature: float) -> Exponential:
    """exp((aᵀb − 1)/γ): on the unit sphere, where ‖a − b‖² = 2 − 2aᵀb, the Gaussian of bandwidth h² = γ."""
    return Exponential(temperature, offset=1.0)


def linear_kernel() -> Polynomial:
    """The product aᵀb."""
    return Polynomial(degree=1, offset=0.0)


def _squared_distance(left: Left, right: Right, bandwidth: float) -> Gram:
    """‖a − b‖²/h², coordinate by coordinate: expanding the square would lose the distance of near points."""
    square = np.zeros((left.shape[0], right.shape[0]))
    for column in range(left.shape[1]):
        gap = (left[:, column][:, None] - right[:, column][None, :]) / bandwidth
        square = square + gap * gap
    return square
