"""A sweep: for each context length, rounds of runs until its threshold is known, and what they add up to.

The contexts go side by side, each through its own rounds, so that every core has work; what one of them does next
depends on nothing but its own finished rounds.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from keyhole.errors import ArgumentError
from keyhole.lab.learners.base import Learner
from keyhole.lab.runs.dispatch import Dispatch, dispatching
from keyhole.lab.runs.engine import Lane
from keyhole.lab.runs.memory import refuse_beyond_memory
from keyhole.lab.runs.spec import Cell
from keyhole.lab.runs.store import Row, Store
from keyhole.lab.task import Task
from keyhole.lab.thresholds.design import Threshold, check_levels, estimate
from keyhole.lab.thresholds.schedule import Schedule, Size, Tallies, sized
from keyhole.progress import Progress, Watch, ignore


@dataclass(frozen=True)
class Plan:
    """What is swept: a task, a learner, contexts, and the schedule of the runs at each."""

    task: Task
    learner: Learner
    contexts: tuple[int, ...]
    schedule: Schedule
    quantile: float = 0.5
    confidence: float = 0.9
    first_seed: int = 0

    def __post_init__(self) -> None:
        if not self.contexts:
            raise ArgumentError("A sweep was asked for at no context; give at least one.")
        check_levels(self.quantile, self.confidence)

    def cells(self, context: int, tallies: Tallies) -> list[Cell]:
        """The next round at a context; its seeds go on where the rounds before it ended."""
        done = {size: self.first_seed + trials for size, (_, trials) in tallies.items()}
        return [
            Cell(self.task, self.learner, context, size, done.get(size, self.first_seed) + number)
            for size, more in self.schedule.further(tallies).items()
            for number in range(more)
        ]


@dataclass(frozen=True)
class Standing:
    """What is known so far at one context."""

    context: int
    runs: int
    unfitted: int  # failures that did not fit their training set
    threshold: Threshold | None
    round_done: int
    round_size: int  # 0 when the context is finished
    left: int  # runs still to come after this round, by the schedule's guess
    seconds: float  # one run, on average


@dataclass(frozen=True)
class SweepState:
    """How far a sweep has come: a standing per context, and the runs made and found."""

    standings: tuple[Standing, ...]
    made: int
    workers: int

    @property
    def seconds_left(self) -> float:
        """The time the remaining runs take, by the runs so far; a context without any counts as the others do."""
        runs = sum(one.runs for one in self.standings)
        usual = sum(one.runs * one.seconds for one in self.standings) / max(1, runs)
        return sum(
            (one.round_size - one.round_done + one.left) * (one.seconds if one.runs else usual) / self.workers
            for one in self.standings
        )

    def progress(self, what: str, *, milestone: bool = False) -> Progress:
        """The state as an event: the runs that are there, and about how many there will be."""
        runs = sum(one.runs for one in self.standings)
        ahead = sum(one.round_size - one.round_done + one.left for one in self.standings)
        return Progress(runs, runs + ahead, what, self.seconds_left, self, milestone)

    def record(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {"contexts": [asdict(one) for one in self.standings], "made": self.made, "workers": self.workers}


@dataclass(frozen=True)
class Tally:
    """The runs of one context and size, counted; failures to fit apart from failures to generalise.

    Label noise makes the two independent of success: who finds the function does not fit the labels that are wrong.
    """

    context: int
    samples: Size
    trials: int
    successes: int
    fitted: int  # of all runs, successes or not
    steps: float  # median of the successes' steps, or of all runs' where none succeeds
    unfitted_failures: int  # failures that did not fit their training set
    fitted_failures: int  # failures that fitted it, but did not generalise


@dataclass(frozen=True)
class Sweep:
    """What a sweep came to."""

    plan: Plan
    rows: tuple[Row, ...]  # by context, size and seed
    made: int  # runs that were made now; the others were there
    wanting: dict[int, int]  # context → runs that the precision would still take
    seconds: float  # from question to answer
    strangers: dict[str, int] = field(default_factory=dict)  # versions other than the present → runs made with them

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """Counts by context and size."""
        groups: dict[tuple[int, Size], list[Row]] = {}
        for row in self.rows:
            groups.setdefault((row.context, row.samples), []).append(row)
        return tuple(_tally(context, size, rows) for (context, size), rows in groups.items())

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """m* at each context that was swept over training sets."""
        found = (threshold_of(self.plan, [row for row in self.rows if row.context == T]) for T in self.plan.contexts)
        return tuple(threshold for threshold in found if threshold is not None)


def sweep(
    plan: Plan,
    store: Store,
    start: Callable[[], list[Lane]],
    *,
    workers: int,
    keep_weights: bool = False,
    watch: Watch = ignore,
) -> Sweep:
    """Make the runs of the plan that the store lacks, and put them together; workers start when first needed."""
    began = time.perf_counter()
    with dispatching(store, start, keep_weights=keep_weights) as dispatch:
        tracks = [_Track(plan, context, dispatch, workers) for context in plan.contexts]
        by_context = {track.context: track for track in tracks}
        while any(track.pending for track in tracks):
            finished = dispatch.finished()
            for row in finished.values():
                by_context[row.context].receive(row)
            ended = [T for T in dict.fromkeys(row.context for row in finished.values()) if not by_context[T].pending]
            if finished and watch is not ignore:
                state = SweepState(tuple(track.standing() for track in tracks), dispatch.made, workers)
                words = f" (T = {', '.join(map(str, ended))} finished)" if ended else ""
                words = f"runs of {plan.task.name} by {plan.learner.name}{words}"
                watch(state.progress(words, milestone=bool(ended)))
        made = dispatch.made
    rows = tuple(row for track in tracks for row in track.ordered())
    wanting = {track.context: plan.schedule.left(track.tallies) for track in tracks}
    strangers = store.strangers([row.identity for row in rows])
    return Sweep(plan, rows, made, wanting, time.perf_counter() - began, strangers)


def threshold_of(plan: Plan, rows: Iterable[Row]) -> Threshold | None:
    """m* of the runs at one context; None where they learned from fresh samples, or there are none."""
    rows = list(rows)
    won, unfitted = sized(_count(rows, _succeeds)), sized(_count(rows, _fails_to_fit))
    if not won:
        return None
    return estimate(rows[0].context, won, quantile=plan.quantile, confidence=plan.confidence, unfitted=unfitted)


@dataclass(eq=False)
class _Track:
    """One context on its way through its rounds."""

    plan: Plan
    context: int
    dispatch: Dispatch
    workers: int
    rows: dict[str, Row] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    size: int = 0
    known: Threshold | None = None
    left: int = 0
    news: bool = True  # whether a round has ended since `known` and `left` were worked out

    def __post_init__(self) -> None:
        self._advance()

    @property
    def tallies(self) -> Tallies:
        return _count(self.rows.values(), _succeeds)

    def receive(self, row: Row) -> None:
        """Take a finished run; with the last of a round comes the next round."""
        self.rows[row.identity] = row
        self.pending.discard(row.identity)
        if not self.pending:
            self._advance()

    def ordered(self) -> list[Row]:
        """The runs, by size and seed."""
        return sorted(self.rows.values(), key=_place)

    def standing(self) -> Standing:
        """What is known so far; thresholds are worked out once a round."""
        rows = self.rows.values()
        if self.news:
            self.news = False
            self.known = threshold_of(self.plan, rows)
            self.left = max(0, self.plan.schedule.left(self.tallies) - self.size) if self.pending else 0
        seconds = sum(row.seconds for row in rows) / max(1, len(rows))
        unfitted = sum(map(_fails_to_fit, rows))
        done = self.size - len(self.pending)
        return Standing(self.context, len(rows), unfitted, self.known, done, self.size, self.left, seconds)

    def _advance(self) -> None:
        """Go through the rounds that are in the store, up to one with runs to be made, or to the end."""
        while not self.pending:
            cells = self.plan.cells(self.context, self.tallies)
            self.size, self.news = len(cells), True
            if not cells:
                return
            refuse_beyond_memory(cells, self.workers)
            done = self.dispatch.ask(cells)
            self.rows |= done
            self.pending = {cell.identity for cell in cells} - set(done)


def _place(row: Row) -> tuple[int, int]:
    """Where a run stands among those of its context."""
    return row.samples or 0, row.seed


def _succeeds(row: Row) -> bool:
    return row.success


def _fails_to_fit(row: Row) -> bool:
    return not row.success and not row.fitted


def _count(rows: Iterable[Row], what: Callable[[Row], bool]) -> dict[Size, tuple[int, int]]:
    """For each size, how many of its runs are so, and how many runs there are."""
    counts: dict[Size, tuple[int, int]] = {}
    for row in sorted(rows, key=_place):
        yes, trials = counts.get(row.samples, (0, 0))
        counts[row.samples] = (yes + what(row), trials + 1)
    return counts


def _tally(context: int, size: Size, rows: list[Row]) -> Tally:
    wins = [row for row in rows if row.success]
    steps = float(median(row.steps for row in wins or rows))
    unfitted = sum(map(_fails_to_fit, rows))
    return Tally(
        context,
        size,
        len(rows),
        len(wins),
        sum(row.fitted for row in rows),
        steps,
        unfitted,
        len(rows) - len(wins) - unfitted,
    )
