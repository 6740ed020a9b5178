"""A kernel says how alike two points are."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from keyhole.arrays import Float
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
