"""The runs that are kept: which there are, what each came to, and which to forget."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, overload

from keyhole.api.old_result import OldResult as Result
from keyhole.figure import Figure
from keyhole.files.atomic import write_file
from keyhole.files.paths import home
from keyhole.show.document import Document
from keyhole.show.runs import cost_document, run_document, runs_document
from keyhole.show.text import to_text
from keyhole.sweeps.laws import course_figure
from keyhole.sweeps.runs import RunSummary, Store, StoredRun
from keyhole.training import SparseTask

TASK_SETTINGS = tuple(field.name for field in fields(SparseTask) if field.name != "function")


@dataclass(frozen=True, repr=False)
class Runs(Result, Sequence[RunSummary]):
    """Finished runs of a store, a row each, by task, learner, context, size and seed."""

    schema: ClassVar[str] = "runs/1"

    rows: tuple[RunSummary, ...]
    store: Path  # the folder they lie in

    @overload
    def __getitem__(self, place: int) -> RunSummary: ...
    @overload
    def __getitem__(self, place: slice) -> "Runs": ...
    def __getitem__(self, place: int | slice) -> "RunSummary | Runs":
        """A row by its place; of a slice, the runs in it."""
        return Runs(self.rows[place], self.store) if isinstance(place, slice) else self.rows[place]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RunSummary]:
        return iter(self.rows)

    @property
    def summary(self) -> str:
        """How many runs of what, and how long they took to make."""
        return self.cost if self.rows else f"none in {str(self.store)!r}"

    @property
    def cost(self) -> str:
        """What forgetting these runs would lose, as a sentence."""
        return to_text(cost_document([vars(row) for row in self.rows]))

    def document(self) -> Document:
        """A row per run."""
        return runs_document(self.record())

    def record(self) -> dict[str, Any]:
        """The runs as plain values."""
        return {"runs": [asdict(row) for row in self.rows]}

    def table(self) -> list[dict[str, Any]]:
        """A row per run with every setting of task and learner as a column: `pandas.DataFrame(runs.table())`."""
        with Store(self.store, create=False) as kept:
            configurations = kept.configurations([row.identity for row in self.rows])
        return [asdict(row) | _asked(configurations[row.identity]) for row in self.rows]

    def to_csv(self) -> str:
        """A table that any program reads, with every setting of task and learner, which tell one run from another."""
        rows = self.table()
        first = [*(field.name for field in fields(RunSummary)), *TASK_SETTINGS, "numerics"]
        text = io.StringIO()
        names = list(dict.fromkeys([*first, *(name for row in rows for name in row)]))
        table = csv.DictWriter(text, fieldnames=names, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        return text.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write the runs: .csv with every setting of task and learner; .json, .txt or .html as they are shown."""
        path = Path(path)
        return write_file(path, self.to_csv().encode()) if path.suffix.lower() == ".csv" else super().save(path)


@dataclass(frozen=True, eq=False, repr=False)
class RunInFull(Result):
    """One finished run in full, and the file of its weights if they were kept."""

    schema: ClassVar[str] = "run/1"
    has_figure: ClassVar[bool] = True

    run: StoredRun
    weights: Path | None

    @property
    def summary(self) -> str:
        """Task, learner, context, size and seed."""
        row = self.run.row
        size = "fresh samples" if row.samples is None else f"m = {row.samples}"
        return f"{row.task} by {row.learner}, T = {row.context}, {size}, seed {row.seed}"

    def document(self) -> Document:
        """What was asked, what it came to, what it was computed with."""
        return run_document(self.record())

    def figure(self) -> Figure:
        """What was read on the way, against the steps: where a phase transition can be seen."""
        return course_figure(self.summary, {self.run.row.identity[:10]: self.run.result.readings})

    def record(self) -> dict[str, Any]:
        """The run as plain lists and dictionaries."""
        return {
            **asdict(self.run.row),
            "configuration": dict(self.run.configuration),
            "result": self.run.result.record(),
            "versions": dict(self.run.versions),
            "cpu": self.run.cpu,
            "weights": None if self.weights is None else str(self.weights),
        }


def runs(*, task: str = "", learner: str = "", contexts: Sequence[int] = (), store: str | Path | None = None) -> Runs:
    """The finished runs of a store, by task, learner, context, size and seed; filters leave what they name."""
    folder = home(store)
    with Store(folder, create=False) as kept:
        return Runs(tuple(kept.rows(task=task, learner=learner, contexts=contexts)), folder)


def store_folder(store: str | Path | None = None) -> Path:
    """The folder of the runs: the one named, or else that of KEYHOLE_HOME, or .keyhole."""
    return home(store)


def show_run(name: str, *, store: str | Path | None = None) -> RunInFull:
    """One run in full, by its identity or a beginning of it."""
    with Store(home(store), create=False) as kept:
        run = kept.run(name)
        path = kept.weights_path(run.row.identity)
    return RunInFull(run, path if path.exists() else None)


def forget_runs(runs: Runs) -> None:
    """Remove runs and their weights from their store; a sweep that needs them makes them again."""
    with Store(runs.store, create=False) as kept:
        kept.remove([row.identity for row in runs])


def _asked(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the task and of the learner, a column each."""
    task, learner = configuration["task"], configuration["learner"]
    chosen = {name: task[name] for name in TASK_SETTINGS if name in task}  # a task of others has others
    settings = {f"learner_{name}": value for name, value in learner.items() if name != "name"}
    return {**chosen, "numerics": configuration["numerics"], **settings}
