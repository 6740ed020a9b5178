"""A hunt for violations: an inequality of your own, against the worst case that random search can find.

Randomness belongs to the caller: `draw` makes a fresh case, `vary` changes one a little.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Generic, TypeVar

from keyhole.errors import AssumptionError

Case = TypeVar("Case")


@dataclass(frozen=True)
class Hunt(Generic[Case]):
    """The largest ratio of left to right side that was met, and where. A hunt refutes, it never proves."""

    tries: int
    ratio: float
    case: Case
    left: float
    right: float

    @property
    def refuted(self) -> bool:
        """Whether the left side was larger than the right by more than rounding can explain."""
        return isnan(self.left) or self.left > self.right + 1e-9 * (1 + abs(self.right))

    def __str__(self) -> str:
        """One sentence."""
        if self.refuted:
            return f"refuted: left {self.left:.6g} > right {self.right:.6g} at {self.case!r}"
        return f"not refuted in {self.tries} tries; left/right reached {self.ratio:.4f} at {self.case!r}"


def _ratio(left: float, right: float) -> float:
    if isnan(left) or isnan(right):
        return inf
    if right > 0:
        return left / right
    return 0.0 if left <= right else inf


def falsify(
    sides: Callable[[Case], tuple[float, float]],
    draw: Callable[[], Case],
    vary: Callable[[Case], Case] | None = None,
    *,
    tries: int = 1000,
) -> Hunt[Case]:
    """Hunts for a case in which the left side of an inequality exceeds the right.

    `sides(case)` gives both sides. Half of the tries are fresh draws; the other half, when `vary` is given,
    climb from the worst case so far.

    >>> falsify(lambda x: (x, x * x), iter([0.5, 2.0]).__next__, tries=2).refuted
    True
    """
    if tries < 1:
        raise AssumptionError(f"A hunt takes at least one try; got {tries}.")
    worst: Hunt[Case] | None = None
    for attempt in range(tries):
        climbing = vary is not None and worst is not None and isfinite(worst.ratio) and attempt % 2 == 1
        case = vary(worst.case) if climbing and vary and worst else draw()
        left, right = sides(case)
        hunt = Hunt(attempt + 1, _ratio(left, right), case, left, right)
        if worst is None or hunt.ratio > worst.ratio:
            worst = hunt
        if worst.refuted:
            return worst
    assert worst is not None  # noqa: S101  (at least one try was made)
    return Hunt(tries, worst.ratio, worst.case, worst.left, worst.right)
