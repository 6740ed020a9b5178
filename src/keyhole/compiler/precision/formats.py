"""Number formats: how a number is stored, how it is added up, and running sums rounded at every step."""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np


@dataclass(frozen=True)
class NumberFormat:
    """A binary floating-point format, rounding to nearest, ties to even."""

    name: str
    digits: int  # binary digits of the significand, the hidden one included
    least: int  # exponent of the smallest positive normal number
    most: int  # every finite number is below 2^most

    @property
    def unit(self) -> float:
        """u, the unit roundoff."""
        return 2.0**-self.digits

    @property
    def smallest(self) -> float:
        """e_min, the smallest positive normal number."""
        return 2.0**self.least

    def round(self, numbers: Any) -> np.ndarray:
        """The nearest numbers of the format, held as doubles; what is too large becomes infinite."""
        numbers = np.asarray(numbers, dtype=np.float64)
        if self.digits == 53:
            return np.asarray(numbers)
        _, exponent = np.frexp(numbers)
        last = np.maximum(exponent, self.least + 1) - self.digits
        rounded = np.ldexp(np.rint(np.ldexp(numbers, -last)), last)
        return np.asarray(np.where(np.abs(rounded) >= 2.0**self.most, np.copysign(inf, rounded), rounded))


FLOAT64 = NumberFormat("float64", 53, -1022, 1024)
FLOAT32 = NumberFormat("float32", 24, -126, 128)
BFLOAT16 = NumberFormat("bfloat16", 8, -126, 128)
FLOAT16 = NumberFormat("float16", 11, -14, 16)


def repeated_sum(start: np.ndarray, term: np.ndarray, times: int, kind: NumberFormat) -> np.ndarray:
    """`start` after adding `term` to it `times` times, rounding after every addition; entry by entry.

    Statement  Between two powers of two the rounded steps are all equal after the first, so that whole stretches are
               one step.
    Proof      There the spacing U of the format is constant. Unless the term is an odd multiple of U/2 a step does not
               depend on the sum; in that case it leads to an even multiple of U and from there repeats itself.

    >>> repeated_sum(np.zeros(1), np.ones(1), 10**6, FLOAT16).item(), 2.0**11
    (2048.0, 2048.0)
    """
    total, term = np.broadcast_arrays(np.asarray(start, dtype=np.float64), np.asarray(term, dtype=np.float64))
    total, left = total.copy(), np.full(total.shape, times, dtype=np.int64)
    while (active := (left > 0) & np.isfinite(total)).any():
        moved = np.where(active, kind.round(total + term), total)  # one plain step
        left -= active
        step = np.where(np.isfinite(moved), kind.round(moved + term) - np.where(np.isfinite(moved), moved, 0.0), 0.0)
        left[active & (step == 0)] = 0
        step = np.where(np.isfinite(step), step, 0.0)  # the next step leaves the format's range
        inside = active & (step != 0) & (np.frexp(moved)[1] == np.frexp(total)[1])  # the plain step crossed no power
        room = np.where(inside, _steps_inside(moved, np.where(inside, step, 1.0)), 0)
        jump = np.minimum(left, room)
        total = moved + jump * step  # exact: all of it lies on one grid
        left -= jump
    return total


def _steps_inside(start: np.ndarray, step: np.ndarray) -> np.ndarray:
    """How many steps surely stay between the powers of two around the start, ends left out."""
    _, exponent = np.frexp(start)
    outer, inner = np.ldexp(1.0, exponent), np.ldexp(0.5, exponent)
    away = np.sign(start) == np.sign(step)
    room = np.where(away, outer - np.abs(start), np.abs(start) - inner)
    steps = np.floor(np.where(start == 0, 0.0, room / np.abs(step))) - 2
    return np.asarray(np.clip(steps, 0, 2**62).astype(np.int64))
