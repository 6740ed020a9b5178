"""Two stores beside each other, cell by cell: are they the same runs, and do they succeed equally often?

A cell is everything that decides a run but its seed. Runs that both stores hold have to be equal to the bit, where
versions and processor are; they say nothing about chance. The others are independent draws of the same cell, and a test
compares their shares of successes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from keyhole.api.result import Result
from keyhole.errors import ArgumentError
from keyhole.files.atomic import home
from keyhole.show.answer import Show
from keyhole.sweeps.runs import RunSummary, Store

LEVEL = 0.05  # the chance of a false alarm over all cells
Counts = tuple[int, int]  # successes, runs


@dataclass(frozen=True)
class ComparedCell:
    """One cell in two stores."""

    task: str
    learner: str
    context: int
    samples: int | None
    first: Counts
    second: Counts
    shared: int  # runs that both hold
    unequal: int  # those of them that came out otherwise
    p_value: float | None  # of the runs that only one holds; None where either has none
    differs: bool  # unequal runs, or successes that chance does not explain


@dataclass(frozen=True, repr=False)
class RunComparison(Result):
    """The cells that two stores have in common, with the test of each."""

    schema: ClassVar[str] = "runs-compare/1"
    properties: ClassVar[tuple[str, ...]] = ("agree", "summary")

    stores: tuple[Path, Path]
    level: float
    cells: tuple[ComparedCell, ...]
    only_first: int  # cells
    only_second: int

    @property
    def agree(self) -> bool:
        """Return whether no cell differs; without a cell in common the stores agree."""
        return not any(cell.differs for cell in self.cells)

    @property
    def summary(self) -> str:
        """The number of cells, and how many differ."""
        if not self.cells:
            return "no cell in common"
        return f"{sum(cell.differs for cell in self.cells)} of {len(self.cells)} cells in common differ"

    @property
    def answer_is_no(self) -> bool:
        """Return whether the stores differ."""
        return not self.agree

    def lines(self, show: Show) -> None:
        """Set a row per cell; say how many differ."""
        heads = ("task", "learner", "T", "m", "here", "there", "in both", "p", "")
        rows = []
        for cell in self.cells:
            samples = "fresh" if cell.samples is None else cell.samples
            counts = ("{} of {}".format(*cell.first), "{} of {}".format(*cell.second))
            both = f"{cell.shared}" + (f", {cell.unequal} unequal" if cell.unequal else "")
            p = "" if cell.p_value is None else f"{cell.p_value:.2g}"
            mark = "differs" if cell.differs else ""
            rows.append((cell.task, cell.learner, cell.context, samples, *counts, both, p, mark))
        if rows:
            show.table({head: "<" if head in ("task", "learner", "") else ">" for head in heads}, rows)
        alone = f"; {self.only_first} cells only in {self.stores[0]}, {self.only_second} only in {self.stores[1]}"
        show.line(self.summary + (alone if self.only_first or self.only_second else ""))
        if show.verbose:
            show.line(
                f"p: Fisher's exact test of runs in one store only; cells differ at {self.level:g} over all (Holm) "
                "or where a run that both hold is not equal to the bit"
            )


def compare_runs(other: str | Path, *, store: str | Path | None = None) -> RunComparison:
    """Compare the runs of a store with those of another, cell by cell.

    Statement  If both stores hold draws of the same cells, then with probability ≥ 1 − LEVEL no cell is said to differ
               by its shares of successes.
    Assumes    Runs that only one store holds are independent.
    Proof      Fisher's exact test has size at most its level in each cell, given the total of successes; Holm's steps
               keep the chance of any false rejection below the level over all cells.
    Source     Textbook: Fisher's exact test, Holm's procedure.
    """
    from scipy.stats import fisher_exact

    folders = home(store), Path(other)
    if folders[0].resolve() == folders[1].resolve():
        raise ArgumentError(f"The store {str(other)!r} was to be compared with itself; name another.")
    with Store(folders[0], create=False) as first, Store(folders[1], create=False) as second:
        ours, theirs = _by_cell(first), _by_cell(second)
        keys = [key for key in ours if key in theirs]
        shared = [{row.identity for row in ours[key]} & {row.identity for row in theirs[key]} for key in keys]
        unequal = [_unequal(first, second, sorted(names)) for names in shared]
    p_values = []
    for key, names in zip(keys, shared, strict=True):
        own = [_counts([row for row in side[key] if row.identity not in names]) for side in (ours, theirs)]
        table = [[won, runs - won] for won, runs in own]
        p_values.append(float(fisher_exact(table).pvalue) if own[0][1] and own[1][1] else None)
    cells = []
    for key, names, wrong, p, no in zip(keys, shared, unequal, p_values, holm(p_values, LEVEL), strict=True):
        row, counts = ours[key][0], (_counts(ours[key]), _counts(theirs[key]))
        where = (row.task, row.learner, row.context, row.samples)
        cells.append(ComparedCell(*where, *counts, len(names), wrong, p, bool(wrong) or no))
    return RunComparison(folders, LEVEL, tuple(cells), len(ours) - len(keys), len(theirs) - len(keys))


def holm(p_values: Sequence[float | None], level: float) -> list[bool]:
    """Return which hypotheses Holm's procedure rejects; one without a test is none of them.

    >>> holm([0.01, 0.04, None], 0.05)
    [True, True, False]
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    rejected = [False] * len(p_values)
    for rank, (p, place) in enumerate(order):
        if p > level / (len(order) - rank):
            break
        rejected[place] = True
    return rejected


def _by_cell(store: Store) -> dict[str, list[RunSummary]]:
    """The runs of a store by all that decides them but their seeds, in the order of the store."""
    rows = store.rows()
    settings = store.configurations([row.identity for row in rows])
    cells: dict[str, list[RunSummary]] = {}
    for row in rows:
        key = {name: value for name, value in settings[row.identity].items() if name != "seed"}
        cells.setdefault(json.dumps(key, sort_keys=True), []).append(row)
    return cells


def _unequal(first: Store, second: Store, names: Sequence[str]) -> int:
    """Count the runs that both hold and that came out otherwise; only the time they took may differ."""
    ours, theirs = (
        {name: result.record() | {"seconds": 0.0} for name, result in store.results(names).items()}
        for store in (first, second)
    )
    return sum(ours[name] != theirs[name] for name in names)


def _counts(rows: Sequence[RunSummary]) -> Counts:
    return sum(row.success for row in rows), len(rows)
