"""Numbers known between two ends, or up to a radius: every operation rounds outwards, so the truth stays inside.

*Ends.* Elementwise operations widen their ends by one unit in the last place. A sum of products moves its ends apart by
what rounding and underflow may add: with two sums of k products and the bound of their error, at most 3k + 1
products underflow, which `UNDERFLOW` covers for k < 2^73. Exponentials come from ball arithmetic (Arb).

*A radius.* A matrix product of balls costs three products of numbers. Each operation counts its losses by underflow: at
most 4 in a product of numbers and 4n + 1 in a product of matrices, which `UNDERFLOW_OF_RADIUS` covers. Sums and roots
lose nothing. What overflows has an infinite radius or none, and proves nothing.

The constants of rounding to nearest in double precision, which every rigorous operation uses.

*Rounding.* One operation is off by a relative u = 2^−53 at most. A sum of n products, in any order and with or without
fused operations, is off by at most γ_n = n u/(1 − n u) times the sum of absolute products.

*The bound itself* is computed in double precision too, as a sum of non-negative terms: its relative error is γ_n at
most. A factor of `GROW` = 1 + 2^−30 covers that for n < 2^20, since γ_n < 2^−32 then, with a few operations more.

*Underflow.* A product or quotient that underflows is rounded to a multiple of 2^−1074, and is off by half of that,
2^−1075, at most besides. Sums and differences of doubles, and roots, lose nothing: a result below the normal
numbers is a multiple of 2^−1074 already, so that it is exact. So an operation with at most n products and quotients
loses n · 2^−1075 at most, if no γ multiplies a factor of a product: what is lost there would be multiplied by the other
factor. Two allowances cover this:

- `UNDERFLOW` = 2^−1000, for n ≤ 2^75: for a number that is compared, or added, and multiplied no more.
- `UNDERFLOW_OF_RADIUS` = 2^−200, for a radius, which is multiplied by other radii later: its own square is a normal
  number, and arithmetic below the normal numbers is slow.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from keyhole.arrays import Float

UNIT = 2.0**-53
GROW = 1 + 2.0**-30
UNDERFLOW = 2.0**-1000
UNDERFLOW_OF_RADIUS = 2.0**-200


def gamma(terms: int, *, unit: float = UNIT, enlarged: float = GROW) -> float:
    """γ_n = n u/(1 − n u), the relative error of a sum of n products, times `enlarged`; infinite where n u ≥ 1.

    >>> gamma(2) >= 2 * 2.0**-53, gamma(4, unit=0.25)
    (True, inf)
    """
    return enlarged * terms * unit / (1 - terms * unit) if terms * unit < 1 else inf


ENLARGED = 1.001  # the bound of a sum's error is itself a sum of k terms, off by γ_k: below 0.001 for k < 2^43


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Arrays of lower and upper ends."""

    low: Float[np.ndarray, "*shape"]
    high: Float[np.ndarray, "*shape"]

    @property
    def size(self) -> Float[np.ndarray, "*shape"]:
        """The largest absolute value inside."""
        return np.asarray(np.maximum(np.abs(self.low), np.abs(self.high)))

    def __add__(self, other: "Enclosure") -> "Enclosure":
        return outward(self.low + other.low, self.high + other.high)

    def __neg__(self) -> "Enclosure":
        return Enclosure(np.asarray(-self.high), np.asarray(-self.low))

    def __sub__(self, other: "Enclosure") -> "Enclosure":
        return self + -other

    def __mul__(self, other: "Enclosure") -> "Enclosure":
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return outward(np.minimum.reduce(np.broadcast_arrays(*ends)), np.maximum.reduce(np.broadcast_arrays(*ends)))

    def over(self, positive: "Enclosure") -> "Enclosure":
        """The quotient by something known to be above zero."""
        ends = [a / b for a in (self.low, self.high) for b in (positive.low, positive.high)]
        return outward(np.minimum.reduce(np.broadcast_arrays(*ends)), np.maximum.reduce(np.broadcast_arrays(*ends)))

    def __getitem__(self, index: Any) -> "Enclosure":
        return Enclosure(np.asarray(self.low[index]), np.asarray(self.high[index]))


def outward(low: Any, high: Any) -> Enclosure:
    """Ends that were rounded to nearest, moved one step apart."""
    return Enclosure(np.asarray(np.nextafter(low, -np.inf)), np.asarray(np.nextafter(high, np.inf)))


def exactly(numbers: object) -> Enclosure:
    """Numbers that are what they are."""
    array = np.asarray(numbers, dtype=np.float64)
    return Enclosure(array, array)


def relu(x: Enclosure) -> Enclosure:
    """max(0, ·), which is monotone and exact."""
    return Enclosure(np.asarray(np.maximum(x.low, 0.0)), np.asarray(np.maximum(x.high, 0.0)))


def weighted_sum(rows: Float[np.ndarray, "n k"], x: Enclosure) -> Enclosure:
    """The product rows @ x for exact rows and x of shape (k,) or (k, m): the ends chosen by the sign of each entry."""
    error = _summed_error(rows.shape[-1]) * (np.abs(rows) @ x.size) + UNDERFLOW
    if (rows >= 0).all():  # no entry turns an end round
        return _apart(rows @ x.low, rows @ x.high, error)
    up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
    return _apart(up @ x.low + down @ x.high, up @ x.high + down @ x.low, error)


def reading(x: Enclosure, weights: Float[np.ndarray, "k"]) -> Enclosure:
    """The product x @ weights for x of shape (n, k) and exact weights: `weighted_sum` from the other side."""
    up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    error = _summed_error(len(weights)) * (x.size @ np.abs(weights)) + UNDERFLOW
    return _apart(x.low @ up + x.high @ down, x.high @ up + x.low @ down, error)


def _apart(low: Any, high: Any, error: Any) -> Enclosure:
    """Ends off by at most `error`, moved apart; a sum that overflowed, perhaps in this order only, is not an end."""
    return outward(np.where(np.isfinite(low), low - error, -np.inf), np.where(np.isfinite(high), high + error, np.inf))


def _summed_error(terms: int) -> float:
    """γ_n of two sums of k products each and their sum, n = 2k + 1."""
    return gamma(2 * terms + 1, enlarged=ENLARGED)


def total(x: Enclosure) -> Enclosure:
    """The sum of a vector."""
    summed = weighted_sum(np.ones((1, len(x.low))), x)
    return summed[0]


def exponentials(logits: Iterable[float], *, shift: float = 0.0, temperature: float = 1.0) -> Enclosure:
    """exp((logit − shift)/temperature) for each logit, from ball arithmetic at 80 bits."""
    from flint import arb, ctx  # noqa: PLC0415  (imported to prove)

    before, ctx.prec = ctx.prec, 80
    try:
        origin, scale = arb(shift), arb(temperature)
        balls = [((arb(float(logit)) - origin) / scale).exp() for logit in logits]
        low = np.array([float(ball.lower()) for ball in balls])
        high = np.array([float(ball.upper()) for ball in balls])
    finally:
        ctx.prec = before
    return outward(low, high)  # an end was rounded to a double, perhaps inwards


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
