"""The rows of a plan's finished runs as small tables, one for each sweep, that go into a store and come out of it.

A row has what decides a run (context, samples, seed; task and learner stand in the plan), what it came to, and what it
was computed with. The name of the run is derived from the plan again, and has to be the one in the row: so a table that
belongs to another plan is refused, and a run that is imported is not made again.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from keyhole.errors import DataError
from keyhole.files.atomic import write_file
from keyhole.sweeps.plans.plan import Plan
from keyhole.sweeps.runs import SUCCESS, RunResult, RunSpec, Store
from keyhole.sweeps.thresholds import SweepPlan

COLUMNS = (
    "context",
    "samples",
    "seed",
    "success",
    "fitted",
    "accuracy",
    "train_accuracy",
    "steps",
    "seconds",
    "function",
    "created",
    "run",
    "versions",
    "cpu",
)
LETTERS = 16  # of a run's name


def rows_path(folder: Path, name: str) -> Path:
    """The table of a sweep.

    >>> str(rows_path(Path("rows"), "and:3 by transformer"))
    'rows/and-3-by-transformer.csv'
    """
    return folder / f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}.csv"


def export_rows(plan: Plan, store: Store, folder: Path) -> dict[str, int]:
    """Write the finished runs of each sweep, ordered, beside those that its table has already; how many there are."""
    counts = {}
    for name, sweep in plan.sweeps.items():
        path = rows_path(folder, name)
        known = {(entry["context"], entry["samples"], entry["seed"]): entry for entry in _entries(path)}
        for entry in _finished(sweep, store):
            known.setdefault((entry["context"], entry["samples"], entry["seed"]), entry)
        if known:
            ordered = sorted(known.values(), key=lambda entry: [int(entry[key] or 0) for key in COLUMNS[:3]])
            text = io.StringIO()
            table = csv.DictWriter(text, fieldnames=COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(ordered)
            write_file(path, text.getvalue().encode())
        counts[name] = len(known)
    return counts


def import_rows(plan: Plan, store: Store, folder: Path) -> int:
    """Put the rows of the tables into the store, where it does not have them; how many rows there are."""
    total = 0
    for name, sweep in plan.sweeps.items():
        path = rows_path(folder, name)
        runs = [_imported(sweep, entry, path, line) for line, entry in enumerate(_entries(path), 2)]
        store.take_in(runs)
        total += len(runs)
    return total


def _finished(sweep: SweepPlan, store: Store) -> Iterator[dict[str, str]]:
    """The rows of a sweep's runs in a store."""
    wanted = (sweep.task.record(), sweep.learner.record(), sweep.learner.numerics)
    rows = store.rows(task=sweep.task.name, learner=sweep.learner.name, contexts=sweep.contexts)
    for name, configuration in store.configurations([row.identity for row in rows]).items():
        if (
            tuple(configuration[key] for key in ("task", "learner", "numerics")) != wanted
            or configuration["seed"] < sweep.first_seed
        ):
            continue
        stored = store.run(name)
        row, result = stored.row, stored.result
        values = {
            **{key: getattr(row, key) for key in COLUMNS if hasattr(row, key)},
            "success": int(row.success),
            "fitted": int(row.fitted),
            "train_accuracy": result.train_accuracy,
            "seconds": round(row.seconds, 3),
            "function": result.function,
            "run": name[:LETTERS],
            "versions": " ".join(
                f"{package}={version}"
                for package, version in stored.versions.items()
                if package in sweep.learner.packages
            ),
            "cpu": stored.cpu,
        }
        yield {key: "" if values[key] is None else str(values[key]) for key in COLUMNS}


def _entries(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table; none without a file."""
    if not path.exists():
        return []
    try:
        table = csv.DictReader(io.StringIO(path.read_text("utf8")))
        named, entries = table.fieldnames or COLUMNS, list(table)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"The table of runs {str(path)!r} cannot be read: {error}. Restore a copy.") from error
    if set(named) != set(COLUMNS) or any(set(entry) != set(COLUMNS) or None in entry.values() for entry in entries):
        raise DataError(f"The table of runs {str(path)!r} has other columns than {', '.join(COLUMNS)}; restore a copy.")
    return entries


def _imported(
    sweep: SweepPlan, entry: dict[str, str], path: Path, line: int
) -> tuple[RunSpec, RunResult, str, Mapping[str, str], str]:
    """The run of a row; refused where the row is not of this plan, or not what was written."""
    try:
        samples = int(entry["samples"]) if entry["samples"] else None
        spec = RunSpec(sweep.task, sweep.learner, int(entry["context"]), samples, int(entry["seed"]))
        result = RunResult(
            success=bool(int(entry["success"])),
            fitted=bool(int(entry["fitted"])),
            accuracy=float(entry["accuracy"]),
            train_accuracy=float(entry["train_accuracy"]) if entry["train_accuracy"] else None,
            steps=int(entry["steps"]),
            seconds=float(entry["seconds"]),
            function=entry["function"],
            positions=(),
            numbers={},
            readings=(),
        )
        versions = dict(part.split("=", 1) for part in entry["versions"].split())
    except ValueError as error:
        raise DataError(f"Line {line} of {str(path)!r} is not a run ({error}); restore a copy.") from error
    if spec.identity[:LETTERS] != entry["run"] or spec.context not in sweep.contexts:
        raise DataError(
            f"Line {line} of {str(path)!r} is the run {entry['run']} of another plan; use the plan of this table."
        )
    if result.success != (result.accuracy >= SUCCESS):
        raise DataError(f"Line {line} of {str(path)!r} has a success that its accuracy denies; restore a copy.")
    return spec, result, entry["created"], versions, entry["cpu"]
