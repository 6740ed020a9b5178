"""A sweep: for each context length, rounds of runs until its threshold is known, and the runs counted.

All contexts are in progress at once, so that every core has work. The next round of a context depends on nothing but
the finished rounds: its own, and, where the schedule asks for them, those of the others, which it then waits for.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from operator import attrgetter
from statistics import median
from typing import Any

from keyhole.errors import ArgumentError
from keyhole.progress import Progress, Watch, ignore
from keyhole.sweeps.runs.queue import Execution, RunQueue
from keyhole.sweeps.runs.run import FRESH, RunSpec
from keyhole.sweeps.runs.store import RunSummary, Store
from keyhole.sweeps.thresholds.design import Design, Rounds, Size, Tallies, training_counts
from keyhole.sweeps.thresholds.psychometric import check_level
from keyhole.sweeps.thresholds.threshold import Threshold, estimate_threshold
from keyhole.training import Task
from keyhole.training.learners import Learner

Request = Callable[[list[RunSpec]], Mapping[str, RunSummary]]  # the runs of these that are finished, by name
LONGEST = 10**6  # context: every run is judged on 10,000 fresh inputs, 10^10 symbols there
LARGEST_SEED = 2**62  # with as many runs as anyone makes after it, a seed stays a number of 63 bits


@dataclass(frozen=True)
class SweepPlan:
    """A task, a learner, contexts, and the schedule of the runs at each."""

    task: Task
    learner: Learner
    contexts: tuple[int, ...]
    schedule: Rounds
    quantile: float = 0.5
    confidence: float = 0.9
    first_seed: int = 0

    def __post_init__(self) -> None:
        if not self.contexts:
            raise ArgumentError("A sweep was asked for at no context; give at least one.")
        listed = ", ".join(map(str, self.contexts))
        if len(set(self.contexts)) < len(self.contexts):
            raise ArgumentError(f"The contexts {listed} were asked for; give each once.")
        if not 1 <= min(self.contexts) <= max(self.contexts) <= LONGEST:
            raise ArgumentError(
                f"The contexts {listed} were asked for; each is from 1 to {LONGEST:,}, since every run is judged on "
                f"{FRESH:,} fresh inputs of that length. Bounds, compiled models and descriptions go further."
            )
        if not 0 <= self.first_seed <= LARGEST_SEED:
            raise ArgumentError(f"The first seed {self.first_seed} was given; use one from 0 to {LARGEST_SEED:,}.")
        check_level("quantile of success", self.quantile)
        check_level("confidence", self.confidence)

    def beside(self, context: int, tallies: Mapping[int, Tallies]) -> "SweepPlan":
        """The plan for one context, with a schedule that uses the tallies of the others where it takes them."""
        others = [counts for other, counts in tallies.items() if other != context]
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
    other_versions: dict[str, int]  # versions other than the present → runs made with them

    @cached_property
    def tallies(self) -> tuple[Tally, ...]:
        """Counts by context and size."""
        groups: dict[tuple[int, Size], list[RunSummary]] = {}
        for row in self.rows:
            groups.setdefault((row.context, row.samples), []).append(row)
        tallies = []
        for (context, size), rows in groups.items():
            wins = [row for row in rows if row.success]
            fitted, unfitted = sum(row.fitted for row in rows), sum(map(_fails_to_fit, rows))
            steps = float(median(row.steps for row in wins or rows))
            failed = len(rows) - len(wins) - unfitted
            tallies.append(Tally(context, size, len(rows), len(wins), fitted, steps, unfitted, failed))
        return tuple(tallies)

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """m* at each context that was swept over training sets; estimated when first read."""
        by_context = {context: [row for row in self.rows if row.context == context] for context in self.plan.contexts}
        tallies = {context: _count(rows) for context, rows in by_context.items()}
        thresholds = []
        for context, rows in by_context.items():
            if counts := training_counts(tallies[context]):
                unfitted = training_counts(_count(rows, _fails_to_fit))
                schedule, options = self.plan.beside(context, tallies).schedule, dict[str, Any]()
                if isinstance(schedule, Design):
                    spent = len(rows) >= schedule.budget  # which selects no sample
                    options = {"prior": schedule.prior, "rounds": not spent}
                options |= {"quantile": self.plan.quantile, "confidence": self.plan.confidence}
                thresholds.append(estimate_threshold(context, counts, unfitted=unfitted, **options))
        return tuple(thresholds)


@dataclass(eq=False)
class _Track:
    """The rounds of one context."""

    context: int
    rows: dict[str, RunSummary] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)  # runs of this round that are not finished
    size: int = 0  # of this round; 0 where no more runs are needed
    forecast: int = 0  # runs after this round


def sweep(plan: SweepPlan, store: Store, execution: Execution, watch: Watch = ignore) -> Sweep:
    """Make the runs of the plan that are not in the store, and collect all."""
    began = time.perf_counter()
    groups = _groups(plan)
    tracks = {track.context: track for group in groups for track in group}
    with RunQueue(store, execution) as queue:
        for group in groups:
            _advance(plan, group, queue.request)
        while any(track.pending for track in tracks.values()):
            for row in queue.finished().values():
                tracks[row.context].rows[row.identity] = row
                tracks[row.context].pending.discard(row.identity)
            ended = []
            for group in groups:
                if any(track.pending for track in group) or not any(track.size for track in group):
                    continue
                _advance(plan, group, queue.request)
                if not any(track.size for track in group):
                    ended += [str(track.context) for track in group]
            if watch is not ignore:
                what = f"runs of {plan.task.name} by {plan.learner.name}"
                what = f"T = {', '.join(ended)} finished; all {what}" if ended else what
                done = sum(len(track.rows) for track in tracks.values())
                ahead = sum(len(track.pending) + track.forecast for track in tracks.values())
                watch(Progress(done, done + ahead, what, milestone=bool(ended)))
    return _swept(plan, list(tracks.values()), store, queue.made, began)


def replay(plan: SweepPlan, store: Store) -> Sweep:
    """Return the contexts of a plan whose runs are all in the store; no run is made."""
    began = time.perf_counter()
    whole: list[_Track] = []
    for group in _groups(plan):
        _advance(plan, group, lambda cells: store.outcomes([cell.identity for cell in cells]))
        if not any(track.pending for track in group):  # what is known of the others may still change
            whole += group
    return _swept(plan, whole, store, 0, began)


def _groups(plan: SweepPlan) -> list[list[_Track]]:
    """Return the contexts, those together that wait for each other."""
    tracks = [_Track(context) for context in plan.contexts]
    return [tracks] if plan.schedule.shared else [[track] for track in tracks]


def _swept(plan: SweepPlan, tracks: Sequence[_Track], store: Store, made: int, began: float) -> Sweep:
    """Return the result of a sweep with the runs of these contexts."""
    by_context = [sorted(track.rows.values(), key=_order) for track in tracks]
    tallies = {track.context: _count(track.rows.values()) for track in tracks}
    needed = {context: plan.beside(context, tallies).schedule.remaining(tallies[context]) for context in tallies}
    rows = tuple(row for ordered in by_context for row in ordered)
    versions = store.other_versions([row.identity for row in rows], plan.learner)
    return Sweep(plan, rows, made, needed, time.perf_counter() - began, versions)


@cache
def _libraries() -> Any:
    """Return the libraries of linear algebra that are loaded, looked up once."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415  (of the extra `train`)

    return ThreadpoolController()


def _advance(plan: SweepPlan, group: Sequence[_Track], request: Request) -> None:
    """Go through the rounds that are in the store, up to one with runs to be made, or to the end."""
    going = True
    while going and not any(track.pending for track in group):
        tallies = {track.context: _count(track.rows.values()) for track in group}
        for track in group:
            with _libraries().limit(limits=1):  # threads that share small products take the time of the workers
                part = plan.beside(track.context, tallies)
                cells = part.cells(track.context, tallies[track.context])
                ahead = part.schedule.remaining(tallies[track.context]) if cells else 0
            track.size, track.forecast = len(cells), max(0, ahead - len(cells))
            done = request(cells)
            track.rows |= done
            track.pending = {cell.identity for cell in cells} - set(done)
        going = any(track.size for track in group)


def _order(row: RunSummary) -> tuple[int, int]:
    """The order of runs at one context: by size, then by seed."""
    return row.samples or 0, row.seed


def _fails_to_fit(row: RunSummary) -> bool:
    """Return whether a run failed without fitting its training set."""
    return not row.success and not row.fitted


def _count(
    rows: Iterable[RunSummary], condition: Callable[[RunSummary], bool] = attrgetter("success")
) -> dict[Size, tuple[int, int]]:
    """For each size, the number of runs that meet the condition (that succeed), and the number of runs."""
    counts: dict[Size, tuple[int, int]] = {}
    for row in sorted(rows, key=_order):
        met, trials = counts.get(row.samples, (0, 0))
        counts[row.samples] = (met + condition(row), trials + 1)
    return counts


FIRST = 16  # the first budget is this part of the steps that the learner may take


@dataclass(frozen=True)
class Attempt:
    """The runs of one budget of steps at one context."""

    context: int
    steps: int  # each run may take
    trials: int
    successes: int
    seconds: float  # of all these runs together


def sweep_by_steps(
    plan: SweepPlan,
    make: Callable[[SweepPlan], Sweep],
    *,
    seconds: float,
    workers: int,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Sweep, tuple[Attempt, ...]]:
    """Sweep with a first budget of steps, and with twice as many while they are wanted and can be had in the time.

    A run that succeeds stops by itself; one that does not uses up its steps. So nothing is known of a hard task until
    the first budget ends, and a small one ends soon. Larger ones are wanted where fewer runs succeed than the quantile
    takes, at some context, and can be had if twice what the last budget took, by the runs' own clocks, is left of the
    time. The runs of a budget depend on nothing else, so that the same ones are found again. The sweep that is returned
    has the runs of the last budget, and counts what was made, and the time, of all.
    """
    began, attempts, made, took = clock(), [], 0, 0.0
    for learner in budgets(plan.learner):
        swept = make(replace(plan, learner=learner))
        last = []
        for tally in swept.tallies:
            seconds_here = sum(row.seconds for row in swept.rows if row.context == tally.context)
            last.append(Attempt(tally.context, learner.steps or 0, tally.trials, tally.successes, seconds_here))
        attempts += last
        made, took = made + swept.made, took + swept.seconds
        enough = all(attempt.successes >= plan.quantile * attempt.trials for attempt in last)
        forecast = 2 * sum(attempt.seconds for attempt in last) / workers
        if enough or clock() - began + forecast > seconds:
            break
    return replace(swept, made=made, seconds=took), tuple(attempts)


def budgets(learner: Learner) -> Iterator[Learner]:
    """The learner with a part of its steps, twice as many each time, and with all of them; others as they are."""
    if learner.steps is not None:
        part = FIRST
        while part > 1:
            yield learner.with_steps(learner.steps // part)
            part //= 2
    yield learner
