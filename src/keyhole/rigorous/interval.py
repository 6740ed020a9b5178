"""Numbers known between two ends: every operation rounds outwards, so the truth is never left outside.

Elementwise operations widen their ends by one unit in the last place. A sum of products moves its ends apart by what
rounding and underflow may add (`roundoff`): with two sums of k products and the bound of their error, at most 3k + 1
products underflow, which `UNDERFLOW` covers for k < 2^73. Exponentials come from ball arithmetic (Arb).

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
