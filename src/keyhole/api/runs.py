"""The runs that are kept: which there are, and what each came to."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.result import Result
from keyhole.decimals import counted, percent
from keyhole.figure import Figure
from keyhole.files.atomic import home, write_file
from keyhole.files.record import hidden
from keyhole.show.answer import Show
from keyhole.sweeps.laws import course_figure
from keyhole.sweeps.runs import RunResult, RunSummary, Store
from keyhole.training import SparseTask

TASK_SETTINGS = tuple(field.name for field in fields(SparseTask) if field.name != "function")
LISTED = 20  # runs that a screen shows
HEADS = {"run": "<", "task": "<", "learner": "<", "T": ">", "m": ">", "seed": ">", "outcome": "<", "accuracy": ">"}


@dataclass(frozen=True, repr=False)
class Runs(Result):
    """Finished runs of a store, by task, learner, context, size and seed."""

    schema: ClassVar[str] = "runs/1"
    endings: ClassVar[tuple[str, ...]] = (".csv",)

    runs: tuple[RunSummary, ...]
    store: Path = hidden()  # the folder they lie in
    newest: tuple[RunSummary, ...] = hidden()  # the same, the one that was finished last first

    def lines(self, show: Show) -> None:
        """Set a row per run, the newest first; of many, the newest."""
        rows = self.newest if show.verbose else self.newest[:LISTED]
        if rows:
            show.table(HEADS, [_row(run) for run in rows])
        minutes = sum(run.seconds for run in self.runs) / 60
        left = f"; the newest {LISTED} are listed, -v: all" if len(rows) < len(self.runs) else ""
        show.line(f"{counted(len(self.runs), 'run')} in {self.store.absolute()}, {minutes:.1f} minutes of work{left}")
        if rows:
            show.line(f"next: keyhole runs show {rows[0].identity[:10]}    (last: the newest)")

    def table(self) -> list[dict[str, Any]]:
        """A row per run with every setting of task and learner as a column: `pandas.DataFrame(runs.table())`."""
        with Store(self.store, create=False) as kept:
            configurations = kept.configurations([row.identity for row in self.runs])
        rows = []
        for row in self.runs:
            settings = configurations[row.identity]
            task = {name: value for name, value in settings["task"].items() if name in TASK_SETTINGS}
            learner = {f"learner_{name}": value for name, value in settings["learner"].items() if name != "name"}
            rows.append({**asdict(row), **task, "numerics": settings["numerics"], **learner})
        return rows

    def to_csv(self) -> str:
        """Return a table that any program reads, with every setting of task and learner."""
        rows, text = self.table(), io.StringIO()
        first = [*(field.name for field in fields(RunSummary)), *TASK_SETTINGS, "numerics"]
        names = dict.fromkeys([*first, *(name for row in rows for name in row)])
        table = csv.DictWriter(text, fieldnames=list(names), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        return text.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write the runs: .csv with every setting of task and learner; .json, .txt or .html as they are shown."""
        path = Path(path)
        return write_file(path, self.to_csv().encode()) if path.suffix.lower() == ".csv" else super().save(path)


@dataclass(frozen=True, eq=False, repr=False)
class RunInFull(Result, RunSummary):
    """One finished run in full, and the file of its weights if they were kept."""

    schema: ClassVar[str] = "run/1"

    configuration: Mapping[str, Any]
    result: RunResult
    versions: Mapping[str, str]
    cpu: str
    weights: Path | None

    def lines(self, show: Show) -> None:
        """Say what it came to; with what, where more is wanted."""
        show.line(f"run {self.identity}")  # on a line of its own, so that it is not folded and can be copied
        show.table(HEADS, [_row(self)])
        facts = {"finished": self.created, "target": self.result.function, "steps": self.steps}
        facts |= {"seconds": f"{self.seconds:.2f}"}
        facts |= {"weights": self.weights or "not kept; they follow from the configuration"}
        show.facts(facts.items())
        if show.verbose:
            more: dict[str, object] = {f"result {name}": f"{value:.6g}" for name, value in self.result.numbers.items()}
            for part in ("task", "learner"):
                more |= {f"{part} {name}": value for name, value in self.configuration[part].items()}
            versions = {f"{name} version": value for name, value in self.versions.items()}
            show.facts({**more, **versions, "processor": self.cpu}.items())

    def figure(self) -> Figure:
        """Draw what was read on the way, against the steps: where a phase transition can be seen."""
        size = "fresh samples" if self.samples is None else f"m = {self.samples}"
        title = f"{self.task} by {self.learner}, T = {self.context}, {size}, seed {self.seed}"
        return course_figure(title, {self.identity[:10]: self.result.readings})


def runs(*, task: str = "", learner: str = "", contexts: Sequence[int] = (), store: str | Path | None = None) -> Runs:
    """List the finished runs of a store; filters leave what they name."""
    folder = home(store)
    with Store(folder, create=False) as kept:
        rows, age = kept.rows(task=task, learner=learner, contexts=contexts), kept.by_age()
    return Runs(tuple(rows), folder, tuple(sorted(rows, key=lambda row: age[row.identity])))


def show_run(name: str, *, store: str | Path | None = None) -> RunInFull:
    """Return one run in full, by its identity or a beginning of it; "last" is the newest."""
    with Store(home(store), create=False) as kept:
        run = kept.run(name)
        path = kept.weights_path(run.row.identity)
    weights = path if path.exists() else None
    return RunInFull(**vars(run.row), configuration=run.configuration, result=run.result, versions=run.versions,
                     cpu=run.cpu, weights=weights)  # fmt: skip


def _row(run: RunSummary) -> tuple[str, ...]:
    outcome = "success" if run.success else "fitted only" if run.fitted else "did not fit"
    size = "fresh" if run.samples is None else str(run.samples)
    accuracy = percent(run.accuracy)
    return run.identity[:10], run.task, run.learner, str(run.context), size, str(run.seed), outcome, accuracy
