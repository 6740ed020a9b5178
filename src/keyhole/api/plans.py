"""A plan carried out: its sweeps run or replayed, their rows exported, each judged, the longest context predicted."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.learn import answer_of, lanes_of
from keyhole.api.old_result import OldResult as Result
from keyhole.api.sample_complexity import SampleComplexity
from keyhole.errors import ArgumentError, OutputError
from keyhole.figure import Figure
from keyhole.files.paths import home
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.document import Document
from keyhole.show.plans import plan_document
from keyhole.sweeps.laws import learners_figure, read_laws
from keyhole.sweeps.plans import Plan, Prediction, export_rows, import_rows, predict_longest, read_plan
from keyhole.sweeps.runs import Lane, Store, core_count, require_cores
from keyhole.sweeps.thresholds import Sweep, SweepPlan, is_shared, replay, sweep

EXPORTED = 300.0  # seconds between exports of rows while a context is under way


@dataclass(frozen=True, repr=False)
class PlanResult(Result):
    """What a plan came to: the answer of each sweep so far, and which contexts are not finished."""

    schema: ClassVar[str] = "plan/1"
    has_figure: ClassVar[bool] = True

    plan: Plan
    answers: Mapping[str, SampleComplexity]
    predictions: Mapping[str, tuple[Prediction, ...]]  # of the longest context of a sweep that is finished

    @property
    def unfinished(self) -> dict[str, list[int]]:
        """The contexts of each sweep that are still to be run."""
        done = {name: {row.context for row in part.sweep.rows} for name, part in self.answers.items()}
        return {name: [T for T in part.contexts if T not in done[name]] for name, part in self.plan.sweeps.items()}

    @property
    def summary(self) -> str:
        """The title, and how many contexts are finished."""
        left = sum(map(len, self.unfinished.values()))
        planned = sum(len(sweep.contexts) for sweep in self.plan.sweeps.values())
        return f"{self.plan.title or 'a plan'} ({self.plan.hash[:10]}): {planned - left} of {planned} contexts finished"

    def document(self) -> Document:
        """Each sweep with its thresholds, its verdict and what was predicted."""
        return plan_document(self.record())

    def record(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "title": self.plan.title,
            "hash": self.plan.hash,
            "plan": self.plan.record(),
            "summary": self.summary,
            "unfinished": self.unfinished,
            "answers": {name: answer.record() for name, answer in self.answers.items()},
            "predictions": {name: [asdict(answer) for answer in found] for name, found in self.predictions.items()},
        }

    def figure(self) -> Figure:
        """m* against the context, a line for each sweep."""
        known = {name: answer.thresholds for name, answer in self.answers.items() if answer.thresholds}
        if not known:
            raise OutputError("A figure was asked for, but no context is finished; there is none to draw.")
        floors = {context: floor for answer in self.answers.values() for context, floor in answer.floors.items()}
        return learners_figure(self.plan.title or "Samples needed", known, floors=floors)


def run_plan(
    plan: str | Path | Plan,
    *,
    data: str | Path | None = None,
    make: bool = True,
    workers: int | None = None,
    executor: Executor | None = None,
    store: str | Path | None = None,
    watch: Watch = ignore,
) -> PlanResult:
    """Carry out a plan: a file that `keyhole.learn` saved, or a `keyhole.sweeps.plans.Plan`.

    With a folder `data` the rows in it are put into the store first, so that nothing is run twice, and are written back
    as each context is finished. Contexts whose widths are kept apart are then run from the shortest to the longest,
    over all sweeps; those that share them are run together. Without `make` no run is made: the answer is that of the
    contexts whose runs are there.
    """
    chosen = plan if isinstance(plan, Plan) else read_plan(plan)
    workers = core_count() if workers is None else workers if executor else require_cores(workers)
    folder, rows = home(store), None if data is None else Path(data)
    if rows is not None and not make and not rows.is_dir():
        raise ArgumentError(
            f"There is no folder {str(rows)!r} to read rows from; name the folder of the plan's tables."
        )
    start = lanes_of(executor, workers, folder, watch, [sweep.learner for sweep in chosen.sweeps.values()])
    with Store(folder) as runs:
        if rows is not None:
            import_rows(chosen, runs, rows)
        if make:
            made = _carry_out(chosen, runs, start, workers, rows, watch)
        else:
            made = {name: replay(answer, runs) for name, answer in chosen.sweeps.items()}
    answers = {name: _answer(answer, chosen.laws) for name, answer in made.items()}
    laws = read_laws(chosen.laws)
    finished = {name: answer for name, answer in answers.items() if answer.thresholds and _is_whole(answer.sweep)}
    predictions = {name: predict_longest(answer.thresholds, laws) for name, answer in finished.items()}
    return PlanResult(chosen, answers, {name: found for name, found in predictions.items() if found})


def _carry_out(
    plan: Plan, store: Store, start: Callable[[], list[Lane]], workers: int, rows: Path | None, watch: Watch
) -> dict[str, Sweep]:
    """Make the runs: all contexts of a sweep at once, or with a folder of rows from the shortest to the longest."""
    if rows is None:
        swept = (
            (name, sweep(planned, store, start, workers=workers, watch=watch)) for name, planned in plan.sweeps.items()
        )
        return dict(swept)
    watching = _exporting(plan, store, rows, watch)
    made = dict.fromkeys(plan.sweeps, 0)
    for name, part in _parts(plan):
        made[name] += sweep(part, store, start, workers=workers, watch=watching).made
    counts = export_rows(plan, store, rows)
    watch(Progress(0, None, f"{sum(counts.values()):,} rows are in {rows}", milestone=True))
    return {name: replace(replay(planned, store), made=made[name]) for name, planned in plan.sweeps.items()}


def _parts(plan: Plan) -> Iterator[tuple[str, SweepPlan]]:
    """The sweeps by single contexts, from the shortest to the longest; one whose contexts share widths stays whole."""
    for context in plan.contexts:
        for name, planned in plan.sweeps.items():
            shared = is_shared(planned.schedule)
            if shared and context == min(planned.contexts):
                yield name, planned
            elif not shared and context in planned.contexts:
                yield name, replace(planned, contexts=(context,))


def _exporting(plan: Plan, store: Store, rows: Path, watch: Watch) -> Watch:
    """A watch that writes the rows when a context is finished, and every few minutes."""
    last = time.monotonic()

    def watching(progress: Progress) -> None:
        nonlocal last
        if progress.milestone or time.monotonic() - last > EXPORTED:
            last = time.monotonic()
            export_rows(plan, store, rows)
        watch(progress)

    return watching


def _answer(made: Sweep, laws: tuple[str, ...]) -> SampleComplexity:
    """The answer of a sweep over the contexts that are finished."""
    done = tuple(dict.fromkeys(row.context for row in made.rows))
    part: SweepPlan = replace(made.plan, contexts=done) if done else made.plan
    return answer_of(part.learner.name, replace(made, plan=part), read_laws(laws))


def _is_whole(made: Sweep) -> bool:
    """Whether every context of a sweep is there."""
    return {row.context for row in made.rows} == set(made.plan.contexts)
