"""The runs of a sweep at one context: a pure function of the rounds that are finished.

A round gives sample sizes (None: fresh samples) and how many new seeds each gets. It depends on nothing but the counts
of the rounds before it, at this context and, where the schedule asks for them, at the others. So a sweep makes the same
runs after a kill, and on other workers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from keyhole.errors import ArgumentError
from keyhole.sweeps.thresholds.design import Design
from keyhole.sweeps.thresholds.psychometric import USUAL, Counts, WidthPrior
from keyhole.sweeps.thresholds.shared_width import width_beside

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
        """Return the same schedule, told the counts at its own context and at the others."""
        return self


@dataclass(frozen=True)
class Adaptive(Rounds):
    """Runs where they are most informative about m*, until its interval is within the precision or the budget is spent.

    `Design` says how many runs are made at least, and what the confidence means. `prior` is what is known of the
    curve's width: of a schedule that was told nothing, little.
    """

    design: Design = field(default_factory=Design)
    prior: WidthPrior = USUAL

    @property
    def shared(self) -> bool:  # type: ignore[override]
        """Return whether contexts tell each other how wide their curves are."""
        return self.design.widths == "shared"

    def beside(self, own: Tallies, others: Sequence[Tallies]) -> "Adaptive":
        """The same schedule, told how wide the curves at the other contexts are, where they share what they know."""
        if not self.shared:
            return self
        counts = [training_counts(each) for each in others]
        return replace(self, prior=width_beside(training_counts(own), counts, self.design.quantile))

    def next_round(self, tallies: Tallies) -> Mapping[Size, int]:
        """The next round of the design."""
        return dict[Size, int](self.design.next_round(training_counts(tallies), self.prior).items())

    def remaining(self, tallies: Tallies) -> int:
        """A forecast of the runs that the precision still takes, without regard to the budget."""
        return self.design.remaining(training_counts(tallies), self.prior)

    def record(self) -> dict[str, Any]:
        """The settings of the design; plans from before widths were shared do not name them, and keep them apart."""
        settings = asdict(self.design)
        if not self.shared:
            del settings["widths"]
        return {"kind": "adaptive", **settings}


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


def schedule_from_record(record: Mapping[str, Any]) -> Rounds:
    """The schedule that a record was made of.

    >>> schedule_from_record({"kind": "grid", "samples": [20, 40], "seeds": 3})
    Grid(samples=(20, 40), seeds=3)
    """
    settings = {name: value for name, value in record.items() if name != "kind"}
    if record["kind"] == "adaptive":
        known = [field.name for field in fields(Design)]
        if strange := sorted(settings.keys() - known):
            raise ArgumentError(f"An adaptive schedule has no field {strange[0]!r}; it has {', '.join(known)}.")
        return Adaptive(Design(**{"widths": "apart", **settings}))
    if record["kind"] == "grid":
        return Grid(tuple(settings["samples"]), settings["seeds"])
    if record["kind"] == "online":
        return Online(**settings)
    raise ArgumentError(f"A plan has a schedule of kind {record['kind']!r}; use adaptive, grid or online.")


def training_counts(tallies: Tallies) -> Counts:
    """The tallies of training sets alone, without those of fresh samples."""
    return {size: tally for size, tally in tallies.items() if size is not None}
