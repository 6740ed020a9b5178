"""What does theory promise of every trained run? The best bound that applies to each, or why none does."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from keyhole.api.bound import bound
from keyhole.api.norm_sources import run_norms
from keyhole.api.result import Result
from keyhole.bounds import Real
from keyhole.decimals import at_most, surely
from keyhole.errors import AssumptionError, KeyholeError
from keyhole.files.atomic import home
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.answer import Show, abbreviate
from keyhole.sweeps.runs import Store

NOT_KEPT = "its weights were not kept; ask for this run by its name, and it is trained again"
IDENTITY, TASK = 10, 14  # letters shown of a run's name and of its task


@dataclass(frozen=True)
class RunBound:
    """The best bound on the gap of one run, with its theorem; or None and the reason."""

    identity: str
    task: str
    context: int
    samples: int | None
    value: float | None = None
    theorem: str = ""
    vacuous: bool = True
    reason: str = ""


@dataclass(frozen=True)
class Reason:
    """A reason why runs have no bound, and how many runs have it."""

    reason: str
    runs: int


@dataclass(frozen=True, repr=False)
class RunBounds(Result):
    """A row per trained run of a store."""

    schema: ClassVar[str] = "bound-runs/1"
    properties: ClassVar[tuple[str, ...]] = ("summary", "reasons")

    runs: tuple[RunBound, ...]
    delta: float

    @property
    def summary(self) -> str:
        """The number of runs that have a bound, and of those that have one that is not vacuous."""
        bounded = [run for run in self.runs if run.value is not None]
        useful = sum(not run.vacuous for run in bounded)
        return f"{len(bounded)} of {len(self.runs)} runs have a bound, {useful} of them not vacuous"

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons why runs have none, the commonest first."""
        counts = Counter(run.reason for run in self.runs if run.reason)
        return tuple(Reason(reason, count) for reason, count in counts.most_common())

    def lines(self, show: Show) -> None:
        """Set a row per run; then each reason once."""
        show.line(f"{self.summary}, each with probability ≥ {surely(self.delta)}")
        rows = []
        for run in self.runs:
            samples = None if run.samples is None else f"{run.samples:,}"
            value = "none" if run.value is None else at_most(run.value)
            theorem = run.theorem.partition(":")[0] + (" (vacuous)" if run.vacuous and run.theorem else "")
            task = abbreviate(run.task, TASK)
            rows.append((run.identity[:IDENTITY], task, f"{run.context:,}", samples, value, theorem))
        show.table({"run": "<", "task": "<", "T": ">", "m": ">", "gap at most": ">", "by": "<"}, rows)
        for each in self.reasons:
            show.line(f"{each.runs:,} without a bound: {each.reason}")


def bound_runs(
    store: str | Path | None = None, *, delta: Real = 0.01, accepted: Real | None = None, watch: Watch = ignore
) -> RunBounds:
    """Bound the gap of every run of a transformer in the store, each with probability ≥ 1 − δ of its own.

    Runs whose weights were not kept are listed with that reason: ask for a single run to train it again.
    """
    folder = home(store)
    with Store(folder, create=False) as kept:
        rows = kept.rows(learner="transformer")
        unkept = {row.identity for row in rows if not kept.weights_path(row.identity).exists()}
    runs = []
    for done, row in enumerate(rows, 1):
        facts = (row.identity, row.task, row.context, row.samples)
        try:
            if row.identity in unkept:
                raise AssumptionError(NOT_KEPT)
            norms = replace(run_norms(row.identity, folder), run=None)  # a proof of each would take long
            answer = bound(norms, delta=delta, accepted=accepted)
            if not answer.guarantees:
                raise AssumptionError(answer.refused[0].reason)
            best = answer.smallest
            runs.append(RunBound(*facts, best.value, best.title, best.vacuous))
        except KeyholeError as refusal:
            runs.append(RunBound(*facts, reason=str(refusal)))
        watch(Progress(done, len(rows), "bounding runs"))
    return RunBounds(tuple(runs), float(delta))
