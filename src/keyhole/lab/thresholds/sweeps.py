"""A sweep: for each context length, rounds of runs until its threshold is known, and the runs counted.

All contexts are in progress at once, each in its own round, so that every core has work. The next round of a context
depends on nothing but its own finished rounds.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import cached_property
from statistics import median
from typing import Any

from keyhole.errors import ArgumentError
from keyhole.lab.learners.base import Learner
from keyhole.lab.runs.dispatch import Dispatch, open_dispatch
from keyhole.lab.runs.engine import Lane
from keyhole.lab.runs.memory import refuse_beyond_memory
from keyhole.lab.runs.spec import RunSpec
from keyhole.lab.runs.store import RunSummary, Store
from keyhole.lab.task import Task
from keyhole.lab.thresholds.one_thread import one_thread
from keyhole.lab.thresholds.psychometric import check_confidence, check_quantile
from keyhole.lab.thresholds.schedule import Adaptive, Schedule, Size, Tallies, training_counts
from keyhole.lab.thresholds.threshold import Threshold, estimate_threshold
from keyhole.progress import Progress, Watch, ignore


@dataclass(frozen=True)
class SweepPlan:
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
        check_quantile(self.quantile)
        check_confidence(self.confidence)

    def cells(self, context: int, tallies: Tallies) -> list[RunSpec]:
        """The next round at a context; its seeds go on where the rounds before it ended."""
        done = {size: self.first_seed + trials for size, (_, trials) in tallies.items()}
        return [
            RunSpec(self.task, self.learner, context, size, done.get(size, self.first_seed) + number)
            for size, more in self.schedule.next_round(tallies).items()
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
    remaining: int  # runs still to come after this round, by the schedule's forecast
    seconds: float  # one run, on average


@dataclass(frozen=True)
class SweepState:
    """How far a sweep has come: a standing per context, and the runs made and found."""

    standings: tuple[Standing, ...]
    made: int
    workers: int

    @property
    def seconds_left(self) -> float:
        """The time the remaining runs take, by the runs so far; a context without any takes the mean of the others."""
        runs = sum(standing.runs for standing in self.standings)
        mean = sum(standing.runs * standing.seconds for standing in self.standings) / max(1, runs)
        return sum(
            (standing.round_size - standing.round_done + standing.remaining)
            * (standing.seconds if standing.runs else mean)
            / self.workers
            for standing in self.standings
        )

    def progress(self, what: str, *, milestone: bool = False) -> Progress:
        """The state as an event: the runs that are there, and about how many there will be."""
        runs = sum(standing.runs for standing in self.standings)
        ahead = sum(standing.round_size - standing.round_done + standing.remaining for standing in self.standings)
        return Progress(runs, runs + ahead, what, self.seconds_left, self, milestone)

    def record(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "contexts": [asdict(standing) for standing in self.standings],
            "made": self.made,
            "workers": self.workers,
        }


@dataclass(frozen=True)
class Tally:
    """The runs of one context and size, counted; failures to fit apart from failures to generalise.

    With label noise a run can succeed without fitting: the true function disagrees with the flipped labels.
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
    """The result of a sweep."""

    plan: SweepPlan
    rows: tuple[RunSummary, ...]  # by context, size and seed
    made: int  # runs that were made now; the others were in the store
    runs_needed: dict[int, int]  # context → runs that the precision would still take
    seconds: float  # wall time
    other_versions: dict[str, int] = field(
        default_factory=dict
    )  # versions other than the present → runs made with them

    @cached_property
    def tallies(self) -> tuple[Tally, ...]:
        """Counts by context and size."""
        groups: dict[tuple[int, Size], list[RunSummary]] = {}
        for row in self.rows:
            groups.setdefault((row.context, row.samples), []).append(row)
        return tuple(_tally(context, size, rows) for (context, size), rows in groups.items())

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """m* at each context that was swept over training sets; estimated when first read."""
        by_context = ([row for row in self.rows if row.context == context] for context in self.plan.contexts)
        thresholds = (threshold_of(self.plan, rows) for rows in by_context)
        return tuple(threshold for threshold in thresholds if threshold is not None)


def sweep(
    plan: SweepPlan,
    store: Store,
    start: Callable[[], list[Lane]],
    *,
    workers: int,
    keep_weights: bool = False,
    watch: Watch = ignore,
) -> Sweep:
    """Make the runs of the plan that are not in the store, and collect all; workers start when first needed."""
    began = time.perf_counter()
    with open_dispatch(store, start, keep_weights=keep_weights) as dispatch:
        tracks = [_Track(plan, context, dispatch, workers) for context in plan.contexts]
        by_context = {track.context: track for track in tracks}
        while any(track.pending for track in tracks):
            finished = dispatch.finished()
            for row in finished.values():
                by_context[row.context].receive(row)
            ended = [T for T in dict.fromkeys(row.context for row in finished.values()) if not by_context[T].pending]
            if finished and watch is not ignore:
                state = SweepState(tuple(track.standing() for track in tracks), dispatch.made, workers)
                spent = f"{timedelta(seconds=round(time.perf_counter() - began))}"
                words = f"T = {', '.join(map(str, ended))} finished after {spent}; all " if ended else ""
                forecast = ", the total being a forecast" if isinstance(plan.schedule, Adaptive) else ""
                words = f"{words}runs of {plan.task.name} by {plan.learner.name}{forecast}"
                watch(state.progress(words, milestone=bool(ended)))
        made = dispatch.made
    rows = tuple(row for track in tracks for row in track.ordered())
    runs_needed = {track.context: plan.schedule.remaining(track.tallies) for track in tracks}
    other_versions = store.other_versions([row.identity for row in rows], plan.learner)
    return Sweep(plan, rows, made, runs_needed, time.perf_counter() - began, other_versions)


def replay(plan: SweepPlan, store: Store) -> Sweep:
    """The contexts of a plan whose runs are all in the store; no run is made."""
    began = time.perf_counter()
    finished: dict[int, list[RunSummary]] = {}
    for context in plan.contexts:
        rows: dict[str, RunSummary] = {}
        while cells := plan.cells(context, _count(rows.values(), _succeeds)):
            done = store.outcomes([cell.identity for cell in cells])
            if len(done) < len(cells):
                break
            rows |= done
        else:
            finished[context] = sorted(rows.values(), key=_order)
    kept_rows = tuple(row for rows in finished.values() for row in rows)
    needed = {T: plan.schedule.remaining(_count(rows, _succeeds)) for T, rows in finished.items()}
    versions = store.other_versions([row.identity for row in kept_rows], plan.learner)
    return Sweep(plan, kept_rows, 0, needed, time.perf_counter() - began, versions)


def threshold_of(plan: SweepPlan, rows: Iterable[RunSummary]) -> Threshold | None:
    """m* of the runs at one context; None where they learned from fresh samples, or there are none."""
    rows = list(rows)
    won, unfitted = training_counts(_count(rows, _succeeds)), training_counts(_count(rows, _fails_to_fit))
    if not won:
        return None
    context, quantile, confidence = rows[0].context, plan.quantile, plan.confidence
    schedule = plan.schedule
    rounds = isinstance(schedule, Adaptive) and len(rows) < schedule.design.budget  # the budget selects no sample
    return estimate_threshold(context, won, quantile=quantile, confidence=confidence, unfitted=unfitted, rounds=rounds)


@dataclass(eq=False)
class _Track:
    """The rounds of one context."""

    plan: SweepPlan
    context: int
    dispatch: Dispatch
    workers: int
    rows: dict[str, RunSummary] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    size: int = 0
    threshold: Threshold | None = None
    remaining: int = 0
    stale: bool = True  # whether a round has ended since `threshold` and `remaining` were computed

    def __post_init__(self) -> None:
        self._advance()

    @property
    def tallies(self) -> Tallies:
        """Successes and trials at each size, so far."""
        return _count(self.rows.values(), _succeeds)

    def receive(self, row: RunSummary) -> None:
        """Take a finished run; with the last of a round comes the next round."""
        self.rows[row.identity] = row
        self.pending.discard(row.identity)
        if not self.pending:
            self._advance()

    def ordered(self) -> list[RunSummary]:
        """The runs, by size and seed."""
        return sorted(self.rows.values(), key=_order)

    def standing(self) -> Standing:
        """What is known so far; the threshold is estimated once a round."""
        rows = self.rows.values()
        if self.stale:
            self.stale = False
            with one_thread():
                self.threshold = threshold_of(self.plan, rows)
                forecast = self.plan.schedule.remaining(self.tallies) if self.pending else 0
            self.remaining = max(0, forecast - self.size)
        seconds = sum(row.seconds for row in rows) / max(1, len(rows))
        unfitted = sum(map(_fails_to_fit, rows))
        done = self.size - len(self.pending)
        return Standing(self.context, len(rows), unfitted, self.threshold, done, self.size, self.remaining, seconds)

    def _advance(self) -> None:
        """Go through the rounds that are in the store, up to one with runs to be made, or to the end."""
        while not self.pending:
            with one_thread():
                cells = self.plan.cells(self.context, self.tallies)
            self.size, self.stale = len(cells), True
            if not cells:
                return
            refuse_beyond_memory(cells, self.workers)
            done = self.dispatch.ask(cells)
            self.rows |= done
            self.pending = {cell.identity for cell in cells} - set(done)


def _order(row: RunSummary) -> tuple[int, int]:
    """The order of runs at one context: by size, then by seed."""
    return row.samples or 0, row.seed


def _succeeds(row: RunSummary) -> bool:
    """Whether a run succeeded."""
    return row.success


def _fails_to_fit(row: RunSummary) -> bool:
    """Whether a run failed without fitting its training set."""
    return not row.success and not row.fitted


def _count(rows: Iterable[RunSummary], condition: Callable[[RunSummary], bool]) -> dict[Size, tuple[int, int]]:
    """For each size, the number of runs that meet the condition, and the number of runs."""
    counts: dict[Size, tuple[int, int]] = {}
    for row in sorted(rows, key=_order):
        met, trials = counts.get(row.samples, (0, 0))
        counts[row.samples] = (met + condition(row), trials + 1)
    return counts


def _tally(context: int, size: Size, rows: list[RunSummary]) -> Tally:
    """The counts of the runs at one context and size."""
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
