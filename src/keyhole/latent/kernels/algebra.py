"""A kernel says how alike two points are; kernels add, multiply and scale by positive numbers.

Sums, products and positive multiples of positive semi-definite kernels are positive semi-definite (the
product by Schur's theorem), so every expression of these values is a kernel again.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import require_positive
from keyhole.errors import AssumptionError, ShapeError

Left = Float[Any, "m d"]
Right = Float[Any, "n d_right"]
Gram = Float[Any, "m n"]


class Kernel(ABC):
    """A symmetric positive semi-definite function of two points."""

    @property
    @abstractmethod
    def positive(self) -> bool:
        """Whether k(a, b) > 0 for all points, so that it has a logarithm and can weigh tokens."""

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

    def diagonal(self, points: Left) -> Float[Any, "m"]:
        """k(a, a) for every row a, without the matrix."""
        return self.alone(points)

    def __add__(self, other: "Kernel") -> "Sum":
        """The kernel k(a, b) + l(a, b)."""
        return Sum(self, other)

    def __mul__(self, other: "Kernel | float") -> "Product | Scaled":
        """The kernel k(a, b) l(a, b), or a positive multiple."""
        return Product(self, other) if isinstance(other, Kernel) else Scaled(self, float(other))

    def __rmul__(self, factor: float) -> "Scaled":
        """A positive multiple."""
        return Scaled(self, float(factor))

    @abstractmethod
    def between(self, left: Left, right: Right) -> Gram:
        """The kernel at all pairs, in the namespace np."""

    def log_between(self, left: Left, right: Right) -> Gram:
        """Its logarithm at all pairs, in the namespace np."""
        return np.log(self.between(left, right))

    @abstractmethod
    def alone(self, points: Left) -> Float[Any, "m"]:
        """The diagonal k(a, a), in the namespace np."""


@dataclass(frozen=True)
class _Pair(Kernel):
    """A kernel made of two, positive where both are."""

    first: Kernel
    second: Kernel

    @property
    def positive(self) -> bool:
        """Whether both are."""
        return self.first.positive and self.second.positive


@dataclass(frozen=True)
class Sum(_Pair):
    """The sum of two kernels: features side by side."""

    def between(self, left: Left, right: Right) -> Gram:
        """Entry by entry."""
        return self.first.between(left, right) + self.second.between(left, right)

    def log_between(self, left: Left, right: Right) -> Gram:
        """The logarithm of the sum, from the logarithms."""
        return np.logaddexp(self.first.log_between(left, right), self.second.log_between(left, right))

    def alone(self, points: Left) -> Float[Any, "m"]:
        """The sum on the diagonal."""
        return self.first.alone(points) + self.second.alone(points)


@dataclass(frozen=True)
class Product(_Pair):
    """The product of two kernels: all products of a feature of one with a feature of the other."""

    def between(self, left: Left, right: Right) -> Gram:
        """Entry by entry."""
        return self.first.between(left, right) * self.second.between(left, right)

    def log_between(self, left: Left, right: Right) -> Gram:
        """The sum of the logarithms."""
        return self.first.log_between(left, right) + self.second.log_between(left, right)

    def alone(self, points: Left) -> Float[Any, "m"]:
        """The product on the diagonal."""
        return self.first.alone(points) * self.second.alone(points)


@dataclass(frozen=True)
class Scaled(Kernel):
    """A positive multiple of a kernel."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        require_positive("a kernel's factor", self.factor)

    @property
    def positive(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.positive

    def between(self, left: Left, right: Right) -> Gram:
        """Entry by entry."""
        return self.factor * self.kernel.between(left, right)

    def log_between(self, left: Left, right: Right) -> Gram:
        """A shift of the logarithm."""
        return log(self.factor) + self.kernel.log_between(left, right)

    def alone(self, points: Left) -> Float[Any, "m"]:
        """The multiple on the diagonal."""
        return self.factor * self.kernel.alone(points)


def _require_one_width(left: Left, right: Right) -> None:
    if left.shape[-1] != right.shape[-1]:
        raise ShapeError(
            f"points of width {left.shape[-1]} were compared with points of width {right.shape[-1]}; "
            "give both the same width"
        )
