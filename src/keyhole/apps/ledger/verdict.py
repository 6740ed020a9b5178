"""Verdicts of claims: by what speaks for and against, by the share of runs in which something happens, by means and slopes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.bounds.finite import clopper_pearson
from keyhole.decimals import at_least, at_most
from keyhole.estimate import Estimate
from keyhole.verdicts import ClaimVerdict

MOST = 0.5
LEVEL = 0.05
RESAMPLES = 1000
NORMAL = {0.95: 1.959964, 0.99: 2.575829, 0.999: 3.290527}  # standard errors of a two-sided interval


def verdict_of(*, holds: bool, fails: bool) -> ClaimVerdict:
    """Return the verdict of what speaks for a claim and of what speaks against it, which counts first."""
    return "fails here" if fails else "holds" if holds else "undecided at this scale"


@dataclass(frozen=True)
class Share:
    """How many of some runs something happened in, with the 95 % Clopper–Pearson interval of its probability."""

    hits: int
    runs: int

    @property
    def value(self) -> float:
        """The share itself; 0 of no runs."""
        return self.hits / self.runs if self.runs else 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval; everything, of no runs."""
        return clopper_pearson(self.hits, self.runs, LEVEL) if self.runs else (0.0, 1.0)

    @property
    def most(self) -> ClaimVerdict:
        """Return whether it happens in most runs: the whole interval above one half, below it, or neither.

        >>> [Share(hits, 12).most for hits in (12, 10, 9, 2)]
        ['holds', 'holds', 'undecided at this scale', 'fails here']
        """
        low, high = self.ends
        return verdict_of(holds=low > MOST, fails=high < MOST)

    def __str__(self) -> str:
        low, high = self.ends
        return (
            f"{self.hits} of {self.runs}, 95 % Clopper–Pearson: {at_least(low, places=2)} to {at_most(high, places=2)}"
        )


def share_of(happened: Sequence[bool]) -> Share:
    """Return in how many of some runs a thing happened."""
    return Share(sum(happened), len(happened))


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
