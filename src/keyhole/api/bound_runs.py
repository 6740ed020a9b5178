"""What does theory promise of every trained run? The best bound that applies to each, or why none does."""

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.bound import bound
from keyhole.api.old_result import OldResult as Result
from keyhole.bounds import Real
from keyhole.errors import KeyholeError, StoreError
from keyhole.files.looking import is_there
from keyhole.files.paths import home
from keyhole.progress import Progress, Watch, ignore
from keyhole.show.document import Document
from keyhole.show.guarantee import run_bounds_document
from keyhole.sweeps.runs import Store

NOT_KEPT = "its weights were not kept; ask for this run by its name, and it is trained again"


@dataclass(frozen=True)
class RunBound:
    """The best bound on the gap of one run, with its theorem; or None and the reason."""

    identity: str
    task: str
    context: int
    samples: int | None
    value: float | None
    theorem: str = ""
    vacuous: bool = True
    reason: str = ""


@dataclass(frozen=True, repr=False)
class RunBounds(Result):
    """A row per trained run of a store."""

    schema: ClassVar[str] = "bound-runs/1"

    rows: tuple[RunBound, ...]
    delta: Real

    @property
    def summary(self) -> str:
        """How many runs have a bound, and how many of these say something."""
        bounded = [row for row in self.rows if row.value is not None]
        useful = sum(not row.vacuous for row in bounded)
        return f"{len(bounded)} of {len(self.rows)} runs have a bound, {useful} of them not vacuous"

    def document(self) -> Document:
        """A row per run, and how often each reason was given."""
        return run_bounds_document(self.record())

    def record(self) -> dict[str, Any]:
        """The rows as plain values, and the reasons counted."""
        reasons = Counter(row.reason for row in self.rows if row.reason)
        return {
            "delta": float(self.delta),
            "summary": self.summary,
            "runs": [asdict(row) for row in self.rows],
            "reasons": [{"reason": reason, "runs": count} for reason, count in reasons.most_common()],
        }


def bound_runs(
    store: str | Path | None = None, *, delta: Real = 0.01, accepted: Real | None = None, watch: Watch = ignore
) -> RunBounds:
    """The best bound on the gap of every run of a transformer in the store, each with probability ≥ 1 − δ of its own.

    Runs whose weights were not kept are listed with that reason: training them again is left to who asks for one.
    """
    folder = home(store)
    with Store(folder, create=False) as kept:
        listed = kept.rows(learner="transformer")
        there = {row.identity: is_there(kept.weights_path(row.identity), StoreError) for row in listed}
    rows = []
    for done, row in enumerate(listed, 1):
        short = RunBound(row.identity, row.task, row.context, row.samples, None)
        rows.append(_bounded(short, folder, delta, accepted) if there[row.identity] else _without(short, NOT_KEPT))
        watch(Progress(done, len(listed), "bounding runs"))
    return RunBounds(tuple(rows), delta)


def _bounded(row: RunBound, folder: Path, delta: Real, accepted: Real | None) -> RunBound:
    """The row with its bound, or with the reason why there is none."""
    try:
        answer = bound(row.identity, delta=delta, accepted=accepted, store=folder)
    except KeyholeError as refusal:
        return _without(row, str(refusal))
    if not answer.guarantees:
        return _without(row, answer.refused[0][1])
    best = answer.best
    return RunBound(row.identity, row.task, row.context, row.samples, best.value, best.route.title, best.vacuous)


def _without(row: RunBound, reason: str) -> RunBound:
    return RunBound(row.identity, row.task, row.context, row.samples, None, reason=reason)
