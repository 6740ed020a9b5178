"""The sweeps that a store holds, finished or under way: thresholds and laws from the runs that are there."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from keyhole.api.old_result import OldResult as Result
from keyhole.decimals import percent
from keyhole.errors import OutputError
from keyhole.figure import Axis, Figure, Row
from keyhole.files.paths import home
from keyhole.show.document import Column, Document, Grid
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

    def record(self) -> dict[str, Any]:
        """Every field as plain values."""
        thresholds = [asdict(threshold) for threshold in self.thresholds]
        return {**vars(self), "thresholds": thresholds, "law": None if self.law is None else self.law.record()}


@dataclass(frozen=True, repr=False)
class StoredSweeps(Result):
    """Every sweep of a store, the one that moved last first."""

    schema: ClassVar[str] = "sweeps/1"
    has_figure: ClassVar[bool] = True

    sweeps: tuple[StoredSweep, ...]
    runs: int

    @property
    def summary(self) -> str:
        """How many sweeps and runs there are."""
        return f"{len(self.sweeps)} sweeps of {self.runs:,} runs"

    def record(self) -> dict[str, Any]:
        """The sweeps as plain values."""
        return {"sweeps": [sweep.record() for sweep in self.sweeps], "runs": self.runs}

    def document(self) -> Document:
        """A row per sweep and context."""
        rows = [
            [
                sweep.name,
                str(threshold.context),
                _number(threshold.m),
                _number(threshold.low),
                _number(threshold.high),
                str(threshold.trials),
            ]
            for sweep in self.sweeps
            for threshold in sweep.thresholds
        ]
        heads = ("T", "m*", "low", "high", "runs")
        return (Grid([Column("sweep"), *(Column(head, "right") for head in heads)], rows),)

    def figure(self) -> Figure:
        """m* against the context, a line per sweep."""
        rows: tuple[Row, ...] = tuple(
            {
                "T": threshold.context,
                "m": threshold.m,
                "low": threshold.low,
                "high": threshold.high,
                "sweep": sweep.name,
            }
            for sweep in self.sweeps
            for threshold in sweep.thresholds
            if threshold.m is not None and threshold.low is not None and threshold.high is not None
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


def stored_sweeps(store: str | Path | None = None) -> StoredSweeps:
    """The sweeps of a store, from the runs that are there; nothing is run."""
    with Store(home(store), create=False) as kept:
        rows = kept.rows()
        settings = kept.configurations([row.identity for row in rows])
    groups: dict[str, list[RunSummary]] = {}
    for row in rows:
        groups.setdefault(_sweep_key(settings[row.identity]), []).append(row)
    counted: dict[str, int] = {}
    sweeps = []
    for members in groups.values():
        name = f"{members[0].task} by {members[0].learner}"
        counted[name] = counted.get(name, 0) + 1
        sweeps.append(_sweep(f"{name} #{counted[name]}" if counted[name] > 1 else name, members))
    return StoredSweeps(tuple(sorted(sweeps, key=lambda sweep: sweep.last, reverse=True)), len(rows))


def _sweep_key(configuration: Mapping[str, Any]) -> str:
    """What runs of one sweep share: all that was asked, but for the context, the size and the seed."""
    shared = {name: value for name, value in configuration.items() if name not in ("context", "samples", "seed")}
    return json.dumps(shared, sort_keys=True)


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
    law = compare_laws(thresholds, confidence=CONFIDENCE) if comparable(thresholds) else None
    return StoredSweep(
        name=name,
        task=rows[0].task,
        learner=rows[0].learner,
        runs=len(rows),
        successes=sum(row.success for row in rows),
        last=max(row.created for row in rows),
        thresholds=thresholds,
        law=law,
    )


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.4g}"
