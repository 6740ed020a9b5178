"""The runs that are kept: which there are, what each came to, and which to forget."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from keyhole.errors import StoreError
from keyhole.figure import Figure
from keyhole.files.atomic import write_file
from keyhole.files.looking import is_there
from keyhole.files.paths import home
from keyhole.lab.laws.figures import course_figure
from keyhole.lab.runs.store import RunSummary, Store, StoredRun
from keyhole.lab.task import SparseTask

TASK_SETTINGS = tuple(field.name for field in fields(SparseTask) if field.name != "function")


def runs(
    *, task: str = "", learner: str = "", contexts: Sequence[int] = (), store: Path | None = None
) -> tuple[RunSummary, ...]:
    """The finished runs of a store, by task, learner, context, size and seed; filters leave what they name."""
    with Store(home(store), create=False) as kept:
        return tuple(kept.rows(task=task, learner=learner, contexts=contexts))


def show_run(name: str, *, store: Path | None = None) -> tuple[StoredRun, Path | None]:
    """One run in full, by its identity or a beginning of it, and the file of its weights if they were kept."""
    with Store(home(store), create=False) as kept:
        found = kept.run(name)
        path = kept.weights_path(found.row.identity)
    return found, path if is_there(path, StoreError) else None


def run_figure(run: StoredRun) -> Figure:
    """What was read on the way, against the steps: where a phase transition can be seen."""
    row = run.row
    size = "fresh samples" if row.samples is None else f"m = {row.samples}"
    title = f"{row.task} by {row.learner}, T = {row.context}, {size}, seed {row.seed}"
    return course_figure(title, {row.identity[:10]: run.result.readings})


def export_runs(rows: Sequence[RunSummary], path: Path, *, store: Path | None = None) -> Path:
    """Write runs of a store as a table that any program reads, with what tells one run from another."""
    with Store(home(store), create=False) as kept:
        configurations = kept.configurations([row.identity for row in rows])
    names = [*(field.name for field in fields(RunSummary)), *TASK_SETTINGS, "numerics", "settings"]
    text = io.StringIO()
    table = csv.DictWriter(text, fieldnames=names, lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(row) | _asked(configurations[row.identity]) for row in rows)
    return write_file(path, text.getvalue().encode())


def _asked(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the task a column each, those of the learner as one line of JSON."""
    task, learner = configuration["task"], configuration["learner"]
    settings = json.dumps(learner, sort_keys=True, separators=(",", ":"))
    chosen = {name: task[name] for name in TASK_SETTINGS if name in task}  # a task of others has others
    return {**chosen, "numerics": configuration["numerics"], "settings": settings}


def forget_runs(rows: Sequence[RunSummary], *, store: Path | None = None) -> None:
    """Remove runs and their weights from a store; a sweep that needs them makes them again."""
    with Store(home(store), create=False) as kept:
        kept.remove([row.identity for row in rows])


def run_record(run: StoredRun, weights: Path | None) -> dict[str, Any]:
    """A run as plain lists and dictionaries."""
    return {
        **asdict(run.row),
        "configuration": dict(run.configuration),
        "result": run.result.record(),
        "versions": dict(run.versions),
        "cpu": run.cpu,
        "weights": None if weights is None else str(weights),
    }
