"""The runs of a sweep at one context: a pure function of the rounds that are finished.

A round gives sample sizes (None: fresh samples) and how many new seeds each gets. It depends on nothing but the counts
of the rounds before it, at this context and, where the schedule asks for them, at the others. So a sweep makes the same
runs after a kill, and on other workers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from keyhole.errors import ArgumentError
from keyhole.sweeps.thresholds.psychometric import Counts

Size = int | None
Tallies = Mapping[Size, tuple[int, int]]  # size → successes, trials


class Rounds:
    """The next runs at one context. Derive a frozen dataclass, and override `next_round` and `record`."""

    shared = False  # whether what is found at the other contexts counts; then a context is finished when all are

    def next_round(self, tallies: Tallies) -> Mapping[Size, int]:
        """Return sizes and how many new seeds each; empty when the schedule is finished."""
        raise NotImplementedError

    def remaining(self, tallies: Tallies) -> int:
        """Return about how many runs are still to come."""
        return sum(self.next_round(tallies).values())

    def record(self) -> dict[str, Any]:
        """Return its kind and every setting, as plain values."""
        raise NotImplementedError

    def beside(self, own: Tallies, others: Sequence[Tallies]) -> "Rounds":  # noqa: ARG002
        """Return the schedule that uses the counts at its own context and at the others."""
        return self


@dataclass(frozen=True)
class Grid(Rounds):
    """The same number of seeds at each of these sizes, in one round."""

    samples: tuple[int, ...]
    seeds: int

    def __post_init__(self) -> None:
        if self.seeds < 1 or not self.samples:
            raise ArgumentError(f"{self.seeds} seeds at {len(self.samples)} sizes were asked for; use at least one.")

    def next_round(self, tallies: Tallies) -> Mapping[Size, int]:
        """Everything at first, then nothing."""
        return {} if tallies else dict.fromkeys(self.samples, self.seeds)

    def record(self) -> dict[str, Any]:
        """Sizes and seeds."""
        return {"kind": "grid", **asdict(self)}


@dataclass(frozen=True)
class Online(Rounds):
    """A number of seeds, each learning from fresh samples for as long as its learner allows."""

    seeds: int

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ArgumentError(f"{self.seeds} seeds were asked for; use at least one.")

    def next_round(self, tallies: Tallies) -> Mapping[Size, int]:
        """Everything at first, then nothing."""
        return {} if tallies else {None: self.seeds}

    def record(self) -> dict[str, Any]:
        """The seeds."""
        return {"kind": "online", **asdict(self)}


def training_counts(tallies: Tallies) -> Counts:
    """The tallies of training sets alone, without those of fresh samples."""
    return {size: tally for size, tally in tallies.items() if size is not None}
