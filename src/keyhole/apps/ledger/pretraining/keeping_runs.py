"""Runs of pretraining on behalf of a claim: kept in keyhole's folder, so that a second measurement finds them done."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from keyhole.apps.ledger.training.sweeps import FIRST_SEED, worker_count
from keyhole.apps.pretrain.tasks import Cell, run_groups
from keyhole.estimate import Estimate
from keyhole.files.atomic import home
from keyhole.sweeps import Execution
from keyhole.sweeps.runs import RunResult, RunSpec, Store, gather_runs

RESAMPLES = 1000
NORMAL = {0.95: 1.959964, 0.99: 2.575829, 0.999: 3.290527}  # standard errors of a two-sided interval


def seeds(seed: int, count: int) -> range:
    """Seeds that are kept for claims, `count` of them."""
    return range(FIRST_SEED * (1 + seed), FIRST_SEED * (1 + seed) + count)


def make_runs(specs: Sequence[RunSpec]) -> list[RunResult]:
    """Make the runs that are not in the store, and return all in order."""
    with Store(home()) as store:
        return gather_runs(specs, store, Execution(workers=worker_count()))


def make_groups(cells: Iterable[Cell], seeds: Sequence[int]) -> list[list[RunResult]]:
    """Make the runs of each cell that are not in the store; return them by cell."""
    return run_groups(cells, seeds, Execution(home(), workers=worker_count()))


def mean_of(values: Sequence[float], level: float = 0.999) -> Estimate:
    """The mean with the interval of its standard error."""
    array = np.array(values)
    reach = NORMAL[level] * float(array.std(ddof=1)) / len(array) ** 0.5
    return Estimate(float(array.mean()), float(array.mean()) - reach, float(array.mean()) + reach)


def fitted_slope(
    sizes: Sequence[float],
    values: Sequence[Sequence[float]],
    *,
    squared: bool = False,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """The slope of log(mean of values) in log(size), with an interval from resampled runs at each size.

    `squared` fits the root of the mean square instead, which is the size of an error. The interval is normal, of the
    resampled slopes' standard deviation, widened for the few runs that are resampled.
    """
    logs = np.log(np.array(sizes, dtype=float))
    columns = [np.square(np.array(column)) if squared else np.array(column) for column in values]
    power = 0.5 if squared else 1.0
    rng = np.random.default_rng(seed)
    means = [rng.choice(column, (RESAMPLES, len(column))).mean(axis=1) for column in columns]
    slopes = np.polyfit(logs, power * np.log(np.array(means)), 1)[0]
    fewest = min(map(len, columns))
    middle = float(np.polyfit(logs, [power * np.log(column.mean()) for column in columns], 1)[0])
    reach = NORMAL[level] * float(np.std(slopes)) * (fewest / (fewest - 1)) ** 0.5
    return Estimate(middle, middle - reach, middle + reach)


def rises(means: Sequence[float]) -> bool:
    """Return whether each number exceeds the one before it."""
    return all(after > before for before, after in pairwise(means))
