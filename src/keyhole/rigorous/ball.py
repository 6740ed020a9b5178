"""Numbers known up to a radius: every operation adds its own rounding error, so the truth stays in the ball.

A matrix product of balls costs three products of numbers. What rounding and underflow add is bounded in `roundoff`;
each operation here counts its losses by underflow: at most 4 in a product of numbers and 4n + 1 in a product of
matrices, which `UNDERFLOW_OF_RADIUS` covers. Sums and roots lose nothing. What overflows has an infinite radius or
none, and proves nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.rigorous.interval import GROW, UNDERFLOW_OF_RADIUS, UNIT, Enclosure, gamma


@dataclass(frozen=True, eq=False)
class Ball:
    """Midpoints and radii."""

    mid: Float[np.ndarray, "*shape"]
    rad: Float[np.ndarray, "*shape"]

    @property
    def low(self) -> Float[np.ndarray, "*shape"]:
        """Numbers below everything inside."""
        return np.asarray(np.nextafter(self.mid - self.rad, -np.inf))

    @property
    def high(self) -> Float[np.ndarray, "*shape"]:
        """Numbers above everything inside."""
        return np.asarray(np.nextafter(self.mid + self.rad, np.inf))

    @property
    def size(self) -> Float[np.ndarray, "*shape"]:
        """A bound of every absolute value inside."""
        return np.asarray((np.abs(self.mid) + self.rad) * GROW)

    def __neg__(self) -> "Ball":
        return Ball(np.asarray(-self.mid), self.rad)

    def __add__(self, other: "Ball") -> "Ball":
        mid = np.asarray(self.mid + other.mid)
        return Ball(mid, np.asarray((self.rad + other.rad + UNIT * np.abs(mid)) * GROW))

    def __sub__(self, other: "Ball") -> "Ball":
        return self + -other

    def __mul__(self, other: "Ball") -> "Ball":
        mid = np.asarray(self.mid * other.mid)
        rad = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad) + UNIT * np.abs(mid)
        return Ball(mid, np.asarray(rad * GROW + UNDERFLOW_OF_RADIUS))

    def __matmul__(self, other: "Ball") -> "Ball":
        mid = np.asarray(self.mid @ other.mid)
        size, others = np.abs(self.mid), np.abs(other.mid)
        rad = gamma(self.mid.shape[-1]) * (size @ others) + self.rad @ (others + other.rad)
        if other.rad.any():
            rad = rad + size @ other.rad
        # near the largest double the sum may overflow in one order and not in another
        return Ball(mid, np.where(np.isfinite(mid), rad * GROW + UNDERFLOW_OF_RADIUS, np.inf))

    def __getitem__(self, index: Any) -> "Ball":
        return Ball(np.asarray(self.mid[index]), np.asarray(self.rad[index]))

    @property
    def T(self) -> "Ball":  # noqa: N802  (as arrays call it)
        """The last two axes exchanged."""
        return Ball(np.swapaxes(self.mid, -1, -2), np.swapaxes(self.rad, -1, -2))

    def total(self) -> "Ball":
        """The sum over the last axis."""
        return self @ exact(np.ones(self.mid.shape[-1]))

    def centred(self) -> "Ball":
        """The last axis less its mean."""
        count = self.mid.shape[-1]
        mean = self @ between(*(np.full(count, np.nextafter(1 / count, end)) for end in (0.0, 1.0)))
        return self - mean[..., None]


def exact(numbers: object) -> Ball:
    """Numbers that are what they are."""
    mid = np.asarray(numbers, dtype=np.float64)
    return Ball(mid, np.zeros_like(mid))


def between(low: object, high: object) -> Ball:
    """The smallest ball, up to rounding, that holds everything from low to high."""
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    mid = np.asarray(low / 2 + high / 2)
    return Ball(mid, np.asarray(np.maximum(high - mid, mid - low) * GROW + UNDERFLOW_OF_RADIUS))


def ball_of(ends: Enclosure) -> Ball:
    """The ball of numbers known between two ends; the other way, a ball lies between its `low` and its `high`."""
    return between(ends.low, ends.high)


def root(x: Ball) -> Ball:
    """The square root of what is not negative; a part of the ball below zero is cut off."""
    low, high = np.sqrt(np.maximum(x.low, 0.0)), np.sqrt(np.maximum(x.high, 0.0))
    return between(np.nextafter(low, 0.0), np.nextafter(high, np.inf))


def inverse(x: Ball) -> Ball:
    """1/x for x certainly above zero; an infinite radius where it is not certain."""
    with np.errstate(divide="ignore", over="ignore"):
        low, high = np.nextafter(1 / x.high, 0.0), np.nextafter(1 / np.where(x.low > 0, x.low, 0.0), np.inf)
        mid = np.asarray(1 / np.where(x.mid > 0, x.mid, 1.0))
    return Ball(mid, np.asarray(np.maximum(high - mid, mid - low) * GROW + UNDERFLOW_OF_RADIUS))
