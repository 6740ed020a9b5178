"""An estimate: a value with its interval."""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Estimate:
    """A value, and an interval around it; an end without a bound is infinite.

    The value need not lie in the interval: a quantile of resamples may leave out the value they were drawn around.

    >>> print(Estimate(12.0, 10.5, 13.25))
    12 (10.5 to 13.25)
    >>> print(Estimate(12.0, 10.5, float("inf")))
    12 (10.5 or more)
    >>> Estimate(12.0, 10.5, 13.25).contains(13.0)
    True
    """

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.high - self.low

    def contains(self, number: float) -> bool:
        """Return whether a number lies in the interval, its ends included."""
        return self.low <= number <= self.high

    def record(self) -> dict[str, float]:
        """The three numbers by name."""
        return {"value": self.value, "low": self.low, "high": self.high}

    def __format__(self, spec: str) -> str:
        """The value and both ends, each in the given format; four digits where none is given."""
        value, low, high = (format(number, spec or ".4g") for number in (self.value, self.low, self.high))
        if (self.low, self.high) == (-inf, inf):
            return f"{value} (no bounds)"
        if self.high == inf:
            return f"{value} ({low} or more)"
        return f"{value} ({high} or less)" if self.low == -inf else f"{value} ({low} to {high})"

    def __str__(self) -> str:
        return format(self)
