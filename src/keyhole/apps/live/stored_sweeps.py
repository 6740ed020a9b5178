"""The sweeps that a store holds, finished or under way: thresholds and laws from the runs that are there."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keyhole.decimals import percent
from keyhole.errors import OutputError
from keyhole.figure import Axis, Figure, Row
from keyhole.files.atomic import home
from keyhole.sweeps.laws import LawVerdict, comparable, compare_laws
from keyhole.sweeps.runs import RunSummary, Store
from keyhole.sweeps.thresholds import Threshold, estimate_threshold

CONFIDENCE = 0.9
QUANTILE = 0.5


@dataclass(frozen=True)
class StoredSweep:
    """All runs of one task by one learner with one set of settings."""

    name: str  # task and learner, numbered where settings differ
    task: str
    learner: str
    runs: int
    successes: int
    last: str  # when its last run was kept
    thresholds: tuple[Threshold, ...]  # of contexts with runs of given sizes
    law: LawVerdict | None


def stored_sweeps(store: str | Path | None = None) -> tuple[StoredSweep, ...]:
    """Return the sweeps of a store, the one that moved last first; nothing is run."""
    with Store(home(store), create=False) as kept:
        rows = kept.rows()
        settings = kept.configurations([row.identity for row in rows])
    groups: dict[str, list[RunSummary]] = {}
    for row in rows:
        shared = {
            name: value for name, value in settings[row.identity].items() if name not in ("context", "samples", "seed")
        }
        groups.setdefault(json.dumps(shared, sort_keys=True), []).append(row)
    counted: dict[str, int] = {}
    sweeps = []
    for members in groups.values():
        name = f"{members[0].task} by {members[0].learner}"
        counted[name] = counted.get(name, 0) + 1
        sweeps.append(_sweep(f"{name} #{counted[name]}" if counted[name] > 1 else name, members))
    return tuple(sorted(sweeps, key=lambda sweep: sweep.last, reverse=True))


def sweeps_figure(sweeps: Sequence[StoredSweep]) -> Figure:
    """Draw m* against the context, a line per sweep."""
    rows: tuple[Row, ...] = tuple(
        {"T": each.context, "m": each.m, "low": each.low, "high": each.high, "sweep": sweep.name}
        for sweep in sweeps
        for each in sweep.thresholds
        if each.m is not None and each.low is not None and each.high is not None
    )
    if not rows:
        raise OutputError("No threshold of the stored runs has an interval yet; there is none to draw.")
    return Figure(
        title="Samples needed against the length of the context",
        subtitle=f"half of the runs succeed at m*; bands are {percent(CONFIDENCE, 0)} intervals",
        kind="lines",
        rows=rows,
        x=Axis("T", "length of the context T", "log"),
        y=Axis("m", "samples m*", "log"),
        colour=Axis("sweep", "", "category"),
        low="low",
        high="high",
    )


def _sweep(name: str, rows: list[RunSummary]) -> StoredSweep:
    counts: dict[int, dict[int, tuple[int, int]]] = {}
    for row in rows:
        if row.samples is not None:
            sizes = counts.setdefault(row.context, {})
            successes, trials = sizes.get(row.samples, (0, 0))
            sizes[row.samples] = successes + row.success, trials + 1
    thresholds = tuple(
        estimate_threshold(context, sizes, quantile=QUANTILE, confidence=CONFIDENCE)
        for context, sizes in sorted(counts.items())
    )
    return StoredSweep(
        name=name,
        task=rows[0].task,
        learner=rows[0].learner,
        runs=len(rows),
        successes=sum(row.success for row in rows),
        last=max(row.created for row in rows),
        thresholds=thresholds,
        law=compare_laws(thresholds, confidence=CONFIDENCE) if comparable(thresholds) else None,
    )
