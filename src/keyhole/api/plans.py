"""A plan carried out: its sweeps run or replayed, their rows exported, each judged, the longest context predicted."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.learn import answer_of
from keyhole.api.result import Result
from keyhole.api.sample_complexity import SampleComplexity, threshold_rows
from keyhole.errors import ArgumentError, OutputError
from keyhole.figure import Figure
from keyhole.files.record import hidden
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.answer import Show
from keyhole.sweeps import Execution
from keyhole.sweeps.laws import learners_figure, read_laws
from keyhole.sweeps.plans import Plan, Prediction, export_rows, import_rows, predict_longest, read_plan
from keyhole.sweeps.runs import Store
from keyhole.sweeps.thresholds import Sweep, replay, sweep

HERE = Execution()
EXPORTED = 300.0  # seconds between exports of rows while a context is under way


@dataclass(frozen=True, repr=False)
class PlanResult(Result):
    """The answer of each sweep of a plan so far, and which contexts are not finished."""

    schema: ClassVar[str] = "plan/1"
    properties: ClassVar[tuple[str, ...]] = ("title", "hash", "plan", "summary", "unfinished")

    answers: Mapping[str, SampleComplexity]
    predictions: Mapping[str, tuple[Prediction, ...]]  # of the longest context that is finished
    planned: Plan = hidden()

    @property
    def title(self) -> str:
        """The title of the plan."""
        return self.planned.title

    @property
    def hash(self) -> str:
        """The hash of the plan's values."""
        return self.planned.hash

    @property
    def plan(self) -> dict[str, Any]:
        """Every value of the plan."""
        return self.planned.record()

    @property
    def unfinished(self) -> dict[str, list[int]]:
        """The contexts of each sweep that are still to be run."""
        done = {name: {row.context for row in part.sweep.rows} for name, part in self.answers.items()}
        return {name: [T for T in part.contexts if T not in done[name]] for name, part in self.planned.sweeps.items()}

    @property
    def summary(self) -> str:
        """The title, and how many contexts are finished."""
        left = sum(map(len, self.unfinished.values()))
        planned = sum(len(sweep.contexts) for sweep in self.planned.sweeps.values())
        return f"{self.title or 'a plan'} ({self.hash[:10]}): {planned - left} of {planned} contexts finished"

    def lines(self, show: Show) -> None:
        """Set a row per sweep and finished context; say how m* grows, and what is still to be run."""
        show.line(self.summary)
        rows = [(name, *row) for name, answer in self.answers.items() for row in threshold_rows(answer)]
        if rows:
            confidence = 100 * next(iter(self.answers.values())).confidence
            heads = ("T", "m*", f"{confidence:g} % interval", "floor", "runs", "not fitted")
            show.table({"sweep": "<", **dict.fromkeys(heads, ">")}, rows)
        for name, answer in self.answers.items():
            if answer.verdict is not None:
                show.line(f"{name}: {answer.verdict}")
            if left := self.unfinished[name]:
                show.line(f"{name}: still to be run: T = {', '.join(map(str, left))}")
        if show.verbose:
            show.line(f"plan {self.hash}")
            for name, answer in self.answers.items():
                show.line()
                answer.lines(show)
                self._say_predicted(name, show)

    def _say_predicted(self, name: str, show: Show) -> None:
        """Say how each law predicts the longest context of a sweep from the others."""
        predictions = self.predictions.get(name, ())
        rows = []
        for each in predictions:
            value = each.predicted
            interval = f"{value.low:.4g} to {value.high:.4g}"
            rows.append((each.formula, f"{value.value:.4g}", interval, f"{each.off:+.1f}"))
        if rows:
            show.line(f"T = {predictions[0].context} held out, and predicted from the others:")
            heads = ("predicted", "90 % interval", "off by, in standard errors")
            show.table({"law": "<", **dict.fromkeys(heads, ">")}, rows)

    def figure(self) -> Figure:
        """Draw m* against the context, a line for each sweep."""
        known = {name: answer.thresholds for name, answer in self.answers.items() if answer.thresholds}
        if not known:
            raise OutputError("A figure was asked for, but no context is finished; there is none to draw.")
        floors = {each.context: each.floor for answer in self.answers.values() for each in answer.floors}
        return learners_figure(self.title or "Samples needed", known, floors=floors)


def run_plan(
    plan: str | Path | Plan,
    *,
    data: str | Path | None = None,
    make: bool = True,
    execution: Execution = HERE,
    watch: Watch = ignore,
) -> PlanResult:
    """Carry out a plan: a file that `SampleComplexity.save` wrote as .toml, or a `keyhole.sweeps.plans.Plan`.

    With a folder `data` the rows in it are put into the store first, so that nothing is run twice, and are written back
    as each context is finished. Contexts whose widths are kept apart are then run from the shortest to the longest,
    over all sweeps; those that share them are run together. Without `make` no run is made: the answer is that of the
    contexts whose runs are there.
    """
    chosen = plan if isinstance(plan, Plan) else read_plan(plan)
    rows = None if data is None else Path(data)
    if rows is not None and not make and not rows.is_dir():
        raise ArgumentError(f"The folder {str(rows)!r} does not exist; name the folder of the plan's tables.")
    with Store(execution.folder) as runs:
        if rows is not None:
            import_rows(chosen, runs, rows)
        if make:
            made = _carry_out(chosen, runs, execution, rows, watch)
        else:
            made = {name: replay(answer, runs) for name, answer in chosen.sweeps.items()}
    laws = read_laws(chosen.laws)
    answers, predictions = {}, {}
    for name, swept in made.items():
        done = tuple(dict.fromkeys(row.context for row in swept.rows))
        part = replace(swept, plan=replace(swept.plan, contexts=done)) if done else swept
        answers[name] = answer_of(part.plan.learner.name, part, laws, smooth=False)
        if of_longest := predict_longest(answers[name].thresholds, laws):
            predictions[name] = of_longest
    return PlanResult(answers, predictions, chosen)


def _carry_out(plan: Plan, store: Store, execution: Execution, rows: Path | None, watch: Watch) -> dict[str, Sweep]:
    """Make the runs: all contexts of a sweep at once, or with a folder of rows from the shortest to the longest."""
    if rows is None:
        return {name: sweep(planned, store, execution, watch) for name, planned in plan.sweeps.items()}
    last = time.monotonic()

    def exporting(progress: Progress) -> None:
        """Write the rows when a context is finished, and every few minutes."""
        nonlocal last
        if progress.milestone or time.monotonic() - last > EXPORTED:
            last = time.monotonic()
            export_rows(plan, store, rows)
        watch(progress)

    made = dict.fromkeys(plan.sweeps, 0)
    for context in plan.contexts:
        for name, planned in plan.sweeps.items():  # one whose contexts share widths stays whole
            whole = planned.schedule.shared
            if context in planned.contexts and (not whole or context == min(planned.contexts)):
                part = planned if whole else replace(planned, contexts=(context,))
                made[name] += sweep(part, store, execution, exporting).made
    counts = export_rows(plan, store, rows)
    watch(Progress(0, None, f"{sum(counts.values()):,} rows are in {rows}", milestone=True))
    return {name: replace(replay(planned, store), made=made[name]) for name, planned in plan.sweeps.items()}
