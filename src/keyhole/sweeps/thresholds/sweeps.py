"""A sweep: for each context length, rounds of runs until its threshold is known, and the runs counted.

All contexts are in progress at once, so that every core has work. The next round of a context depends on nothing but
the finished rounds: its own, and, where the schedule asks for them, those of the others, which it then waits for.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from statistics import median
from typing import Any

from keyhole.errors import ArgumentError
from keyhole.progress import Progress, Watch, ignore
from keyhole.sweeps.runs.dispatch import Dispatch, open_dispatch
from keyhole.sweeps.runs.engine import Lane
from keyhole.sweeps.runs.memory import refuse_beyond_memory
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.sweeps.runs.store import RunSummary, Store
from keyhole.sweeps.thresholds.one_thread import one_thread
from keyhole.sweeps.thresholds.psychometric import check_confidence, check_quantile
from keyhole.sweeps.thresholds.schedule import Adaptive, Informed, Schedule, Size, Tallies, is_shared, training_counts
from keyhole.sweeps.thresholds.threshold import Threshold, estimate_threshold
from keyhole.training import Task
from keyhole.training.learners import Learner


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
        if len(set(self.contexts)) < len(self.contexts) or min(self.contexts) < 1:
            raise ArgumentError(f"The contexts {self.contexts} were asked for; give each once, and at least 1.")
        if self.first_seed < 0:
            raise ArgumentError(f"A first seed of {self.first_seed} was asked for; use at least 0.")
        check_quantile(self.quantile)
        check_confidence(self.confidence)

    def told(self, context: int, tallies: Mapping[int, Tallies]) -> "SweepPlan":
        """The same plan, its schedule told what was found at the other contexts, where it asks for that."""
        if not isinstance(self.schedule, Informed):
            return self
        others = [each for other, each in tallies.items() if other != context]
        return replace(self, schedule=self.schedule.beside(tallies[context], others))

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
        by_context = {context: [row for row in self.rows if row.context == context] for context in self.plan.contexts}
        tallies = _count_all(by_context)
        thresholds = (threshold_of(self.plan.told(context, tallies), rows) for context, rows in by_context.items())
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
        tracks = {context: _Track(plan, context, dispatch, workers) for context in plan.contexts}
        shared = is_shared(plan.schedule)  # then all contexts wait for each other
        groups = [tracks] if shared else [{context: track} for context, track in tracks.items()]
        for group in groups:
            _begin_rounds(plan, group)
        while any(track.pending for track in tracks.values()):
            finished = dispatch.finished()
            for row in finished.values():
                tracks[row.context].receive(row)
            ended = [context for group in groups if _is_made(group) for context in _begin_rounds(plan, group)]
            if finished and watch is not ignore:
                state = SweepState(tuple(track.standing() for track in tracks.values()), dispatch.made, workers)
                spent = f"{timedelta(seconds=round(time.perf_counter() - began))}"
                going = any(track.pending for track in tracks.values())
                which = _standstill(ended if going or not shared else list(tracks), so_far=shared and going)
                words = f"{which} after {spent}; all " if ended else ""
                forecast = ", the total being a forecast" if isinstance(plan.schedule, Adaptive) else ""
                words = f"{words}runs of {plan.task.name} by {plan.learner.name}{forecast}"
                watch(state.progress(words, milestone=bool(ended)))
        made = dispatch.made
    rows = {context: track.ordered() for context, track in tracks.items()}
    return _swept(plan, rows, store, made, began)


def replay(plan: SweepPlan, store: Store) -> Sweep:
    """The contexts of a plan whose runs are all in the store; no run is made."""
    began = time.perf_counter()
    rows: dict[int, list[RunSummary]] = {context: [] for context in plan.contexts}
    lacking: set[int] = set()
    going = True
    while going:
        going, tallies = False, _count_all(rows)
        for context in rows.keys() - lacking:
            cells = plan.told(context, tallies).cells(context, tallies[context])
            done = store.outcomes([cell.identity for cell in cells])
            if len(done) < len(cells):
                lacking.add(context)
            elif cells:
                rows[context] += done.values()
                going = True
    if lacking and is_shared(plan.schedule):  # what is known of the others may still change
        lacking = set(rows)
    whole = {context: sorted(each, key=_order) for context, each in rows.items() if context not in lacking}
    return _swept(plan, whole, store, 0, began)


def _swept(plan: SweepPlan, rows: Mapping[int, list[RunSummary]], store: Store, made: int, began: float) -> Sweep:
    """The result of a sweep with these runs at its contexts."""
    tallies = _count_all(rows)
    needed = {context: plan.told(context, tallies).schedule.remaining(tallies[context]) for context in rows}
    every = tuple(row for each in rows.values() for row in each)
    versions = store.other_versions([row.identity for row in every], plan.learner)
    return Sweep(plan, every, made, needed, time.perf_counter() - began, versions)


def threshold_of(plan: SweepPlan, rows: Iterable[RunSummary]) -> Threshold | None:
    """m* of the runs at one context, by a plan that was told of the others; None without runs on training sets."""
    rows = list(rows)
    won, unfitted = training_counts(_count(rows, _succeeds)), training_counts(_count(rows, _fails_to_fit))
    if not won:
        return None
    options: dict[str, Any] = {"quantile": plan.quantile, "confidence": plan.confidence, "unfitted": unfitted}
    schedule = plan.schedule
    if isinstance(schedule, Adaptive):
        spent = len(rows) >= schedule.design.budget  # which selects no sample
        options |= {"prior": schedule.prior, "rounds": not spent}
    return estimate_threshold(rows[0].context, won, **options)


@dataclass(eq=False)
class _Track:
    """The rounds of one context."""

    plan: SweepPlan  # told what was found before this round
    context: int
    dispatch: Dispatch
    workers: int
    rows: dict[str, RunSummary] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    size: int = 0
    threshold: Threshold | None = None
    remaining: int = 0
    stale: bool = True  # whether a round has ended since `threshold` and `remaining` were computed

    @property
    def tallies(self) -> Tallies:
        """Successes and trials at each size, so far."""
        return _count(self.rows.values(), _succeeds)

    def receive(self, row: RunSummary) -> None:
        """Take a finished run."""
        self.rows[row.identity] = row
        self.pending.discard(row.identity)

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

    def begin(self, plan: SweepPlan, cells: list[RunSpec]) -> None:
        """Begin a round of these runs, by a plan that was told what is found so far; an empty one is the end."""
        self.plan, self.size, self.stale = plan, len(cells), True
        if cells:
            refuse_beyond_memory(cells, self.workers)
            done = self.dispatch.ask(cells)
            self.rows |= done
            self.pending = {cell.identity for cell in cells} - set(done)


def _is_made(tracks: Mapping[int, _Track]) -> bool:
    """Whether there is a round of these contexts, and all of it is made."""
    return any(track.size for track in tracks.values()) and not any(track.pending for track in tracks.values())


def _begin_rounds(plan: SweepPlan, tracks: Mapping[int, _Track]) -> list[int]:
    """Go through the rounds that are in the store, up to one with runs to be made; the contexts that have ended."""
    before = [track for track in tracks.values() if track.size]
    going = True
    while going and not any(track.pending for track in tracks.values()):
        tallies = {context: track.tallies for context, track in tracks.items()}
        for context, track in tracks.items():
            with one_thread():
                told = plan.told(context, tallies)
                cells = told.cells(context, tallies[context])
            track.begin(told, cells)
        going = any(track.size for track in tracks.values())
    return [track.context for track in before if not track.size]


def _standstill(contexts: list[int], *, so_far: bool) -> str:
    """Which contexts need no more runs: for good, or as long as the others tell them nothing new."""
    need = "needs" if len(contexts) == 1 else "need"
    return f"T = {', '.join(map(str, contexts))} " + (f"{need} no more runs so far," if so_far else "finished")


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


def _count_all(rows: Mapping[int, Iterable[RunSummary]]) -> dict[int, Tallies]:
    """For each context and size, the runs that succeeded, and the number of runs."""
    return {context: _count(each, _succeeds) for context, each in rows.items()}


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
