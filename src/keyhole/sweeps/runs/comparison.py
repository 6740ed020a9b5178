"""The runs of two stores beside each other, cell by cell: are they the same runs, and do they succeed equally often?

A cell is everything that decides a run but its seed. Runs that both stores hold have to be equal to the bit, where
versions and processor are; they say nothing about chance. The others are independent draws of the same cell, and a test
compares their shares of successes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyhole.sweeps.runs.run import RunResult
from keyhole.sweeps.runs.store import RunSummary, Store

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


@dataclass(frozen=True)
class StoreComparison:
    """Every cell that both stores have, and how many each has alone."""

    cells: tuple[ComparedCell, ...]
    only_first: int
    only_second: int


def compare_stores(
    first: Store, second: Store, *, task: str = "", learner: str = "", contexts: Sequence[int] = (), level: float
) -> StoreComparison:
    """The cells of two stores, with a test of each.

    Statement  If both stores hold draws of the same cells, then with probability ≥ 1 − level no cell is said to differ
               by its shares of successes.
    Assumes    Runs that only one store holds are independent.
    Proof      Fisher's exact test has size at most its level in each cell, given the total of successes; Holm's steps
               keep the chance of any false rejection below the level over all cells.
    Source     Textbook: Fisher's exact test, Holm's procedure.
    """
    both = [_by_cell(store, task, learner, contexts) for store in (first, second)]
    keys = sorted(both[0].keys() & both[1].keys(), key=lambda key: _order(both[0][key]))
    shared = [{row.identity for row in both[0][key]} & {row.identity for row in both[1][key]} for key in keys]
    unequal = [_unequal(first, second, sorted(names)) for names in shared]
    apart = [
        [_counts([row for row in side[key] if row.identity not in names]) for side in both]
        for key, names in zip(keys, shared, strict=True)
    ]
    p_values = [_fisher(*counts) for counts in apart]
    rejected = holm(p_values, level)
    cells = tuple(
        _cell(both[0][key], both[1][key], len(names), wrong, p, differs=bool(wrong) or no)
        for key, names, wrong, p, no in zip(keys, shared, unequal, p_values, rejected, strict=True)
    )
    return StoreComparison(cells, len(both[0]) - len(keys), len(both[1]) - len(keys))


def holm(p_values: Sequence[float | None], level: float) -> list[bool]:
    """Which hypotheses Holm's procedure rejects; one without a test is none of them.

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


def _by_cell(store: Store, task: str, learner: str, contexts: Sequence[int]) -> dict[str, list[RunSummary]]:
    """The runs of a store by all that decides them but their seeds."""
    rows = store.rows(task=task, learner=learner, contexts=contexts)
    asked = store.configurations([row.identity for row in rows])
    cells: dict[str, list[RunSummary]] = {}
    for row in rows:
        key = {name: value for name, value in asked[row.identity].items() if name != "seed"}
        cells.setdefault(json.dumps(key, sort_keys=True), []).append(row)
    return cells


def _order(rows: Sequence[RunSummary]) -> tuple[str, str, int, int]:
    row = rows[0]
    return row.task, row.learner, row.context, row.samples or 0


def _unequal(first: Store, second: Store, names: Sequence[str]) -> int:
    """How many of the runs that both hold came out otherwise; only the time they took may differ."""
    ours, theirs = first.results(names), second.results(names)
    return sum(_outcome(ours[name]) != _outcome(theirs[name]) for name in names)


def _outcome(result: RunResult) -> Mapping[str, Any]:
    return {name: value for name, value in result.record().items() if name != "seconds"}


def _counts(rows: Sequence[RunSummary]) -> Counts:
    return sum(row.success for row in rows), len(rows)


def _fisher(first: Counts, second: Counts) -> float | None:
    """The two-sided p-value of Fisher's exact test; None where there is nothing to compare."""
    from scipy.stats import fisher_exact  # noqa: PLC0415  (takes a while to import)

    if not (first[1] and second[1]):
        return None
    return float(fisher_exact([[won, runs - won] for won, runs in (first, second)]).pvalue)


def _cell(
    first: Sequence[RunSummary],
    second: Sequence[RunSummary],
    shared: int,
    unequal: int,
    p: float | None,
    *,
    differs: bool,
) -> ComparedCell:
    row = first[0]
    counts = _counts(first), _counts(second)
    return ComparedCell(row.task, row.learner, row.context, row.samples, *counts, shared, unequal, p, differs)
