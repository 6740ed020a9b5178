"""Which runs a sweep makes at one context: a pure function of the rounds that are finished.

A round names sample sizes (None: fresh samples) and how many further seeds each gets. Because it looks at nothing but
the counts of the rounds before it, a sweep goes the same way after a kill, on more workers and on another engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from keyhole.errors import ArgumentError
from keyhole.lab.thresholds.design import Counts, next_round, remaining

Size = int | None
Tallies = Mapping[Size, tuple[int, int]]  # size → successes, trials

START = 32  # the first ladder is 16, 32, 64, 128
BATCH = 12  # runs in a round of one context: three at each step of the first ladder
LARGEST = 1 << 16  # a threshold beyond it is said to be above
BUDGET = 400  # runs at one context, at most


@runtime_checkable
class Schedule(Protocol):
    """What to run next at one context."""

    def further(self, tallies: Tallies) -> Mapping[Size, int]:
        """Sizes and how many further seeds each; empty when it is done."""

    def left(self, tallies: Tallies) -> int:
        """About how many runs are still to come."""


@dataclass(frozen=True)
class Adaptive:
    """Runs where they tell most about m*, until its interval is within the precision or the budget is spent.

    At least 60 runs are made, as far as the budget goes: a sweep that ends because it looks precise is one whose runs
    happened to look steep, the more so the fewer they are. The confidence is that of all sweeps together; `next_round`
    says how it splits among short and long ones.
    """

    quantile: float = 0.5
    precision: float = 0.2
    confidence: float = 0.9
    start: int = START
    largest: int = LARGEST
    batch: int = BATCH
    budget: int = BUDGET

    def further(self, tallies: Tallies) -> Mapping[Size, int]:
        """The next round of the psychometric procedure."""
        chosen = next_round(
            sized(tallies),
            quantile=self.quantile,
            precision=self.precision,
            confidence=self.confidence,
            start=self.start,
            largest=self.largest,
            batch=self.batch,
            budget=self.budget,
        )
        return dict[Size, int](chosen.items())

    def left(self, tallies: Tallies) -> int:
        """The runs that the precision still takes, were there no budget."""
        return remaining(
            sized(tallies),
            quantile=self.quantile,
            precision=self.precision,
            confidence=self.confidence,
            start=self.start,
            largest=self.largest,
            batch=self.batch,
        )


@dataclass(frozen=True)
class Grid:
    """The same number of seeds at each of these sizes, in one round."""

    samples: tuple[int, ...]
    seeds: int

    def __post_init__(self) -> None:
        if self.seeds < 1 or not self.samples:
            raise ArgumentError(f"{self.seeds} seeds at {len(self.samples)} sizes were asked for; use at least one.")

    def further(self, tallies: Tallies) -> Mapping[Size, int]:
        """Everything at first, then nothing."""
        return {} if tallies else dict.fromkeys(self.samples, self.seeds)

    def left(self, tallies: Tallies) -> int:
        """All of it, or nothing."""
        return sum(self.further(tallies).values())


@dataclass(frozen=True)
class Online:
    """So many seeds, each learning from fresh samples for as long as its learner allows."""

    seeds: int

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ArgumentError(f"{self.seeds} seeds were asked for; use at least one.")

    def further(self, tallies: Tallies) -> Mapping[Size, int]:
        """Everything at first, then nothing."""
        return {} if tallies else {None: self.seeds}

    def left(self, tallies: Tallies) -> int:
        """All of it, or nothing."""
        return sum(self.further(tallies).values())


def sized(tallies: Tallies) -> Counts:
    """The tallies of training sets, as the thresholds take them."""
    return {size: tally for size, tally in tallies.items() if size is not None}
