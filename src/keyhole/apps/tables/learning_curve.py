"""A learning curve: the accuracy of a learner on rows held out, against how many rows it learned from.

A split puts a third of the rows aside and learns from some of the others. Its accuracy varies with the split, and the
whole table is a sample itself: both are in the interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import NormalDist

import numpy as np

from keyhole.apps.tables.table import Table
from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.progress import Progress, Watch, ignore
from keyhole.training import Examples, ProblemSize
from keyhole.training.learners import Estimator, Learner

SMALLEST = 8  # rows to learn from
HELD_OUT = 1 / 3  # of the rows, in each split
CONFIDENCE = 0.9  # of every interval


@dataclass(frozen=True)
class CurvePoint:
    """The accuracy with so many rows to learn from: its mean over the splits, with an interval."""

    rows: int
    accuracy: Estimate
    splits: int


def rows_for(points: Sequence[CurvePoint], accuracy: float) -> Estimate | None:
    """Return the rows it takes to reach an accuracy, with an interval; None where the curve does not reach it.

    The curve between its points is a line in ln(rows), made to rise (isotonic regression). The interval has the rows at
    which the upper and the lower ends of the points' intervals reach the accuracy; an end that is not reached is open,
    and infinite.
    """
    from scipy.optimize import isotonic_regression

    def crossing(part: str) -> float | None:
        """Return the rows at which the curve through this part of the estimates first reaches the accuracy."""
        rising = isotonic_regression(np.array([getattr(point.accuracy, part) for point in points])).x
        reached = np.flatnonzero(rising >= accuracy)
        if not len(reached):
            return None
        place = int(reached[0])
        if place == 0:
            return float(points[0].rows)
        before, after = rising[place - 1], rising[place]
        share = (accuracy - before) / (after - before)
        return exp(log(points[place - 1].rows) + share * log(points[place].rows / points[place - 1].rows))

    middle, low, high = crossing("value"), crossing("high"), crossing("low")
    if middle is None:
        return None
    return Estimate(middle, min(low or middle, middle), float("inf") if high is None else max(high, middle))


def curve_sizes(table: Table) -> tuple[int, ...]:
    """Doublings from 8 up to the rows that are not held out, these included."""
    most = len(table.labels) - _held_out(table)
    return (*(SMALLEST * 2**step for step in range(40) if SMALLEST * 2**step < most), most)


def learning_curve(
    table: Table,
    learner: Learner,
    *,
    sizes: Sequence[int] = (),
    splits: int = 20,
    seed: int = 0,
    watch: Watch = ignore,
) -> tuple[CurvePoint, ...]:
    """Measure the accuracy on held-out rows at each size, on average over random splits.

    The interval's variance is s²/splits, of the splits, and p(1 − p)/n, of a table of n rows whatever the splits.
    Classifiers of scikit-learn see the numbers; other learners see every column as a bit, whether it is above its
    median over the rows learned from.
    """
    sizes = tuple(sizes) or curve_sizes(table)
    most = len(table.labels) - _held_out(table)
    if splits < 2 or not all(1 <= m <= most for m in sizes):
        raise ArgumentError(
            f"{splits} splits with {', '.join(map(str, sizes))} rows to learn from were asked for; use at least 2 "
            f"splits, and 1 to {most} rows: the others are held out."
        )
    scores = {m: np.zeros(splits) for m in sizes}
    for split in range(splits):
        rng = np.random.default_rng([seed, split])
        order = rng.permutation(len(table.labels))
        apart, others = order[: _held_out(table)], order[_held_out(table) :]
        for m in sizes:
            rows, draws = others[:m], np.random.SeedSequence([seed, split, m])
            if isinstance(learner, Estimator):
                answers = learner.predictions(table.features[rows], table.labels[rows], table.features[apart], draws)
            else:
                bits = table.bits(rows)
                size = ProblemSize(bits.shape[1], 2, min(3, bits.shape[1]))
                answers = learner.fit(size, Examples(bits[rows], table.labels[rows]), draws).predict(bits[apart])
            scores[m][split] = (answers == table.labels[apart]).mean()
        watch(Progress(split + 1, splits, f"splits of {table.target} by {learner.name}"))
    width, n = NormalDist().inv_cdf((1 + CONFIDENCE) / 2), len(table.labels)
    points = []
    for m, accuracies in scores.items():
        mean = float(accuracies.mean())
        reach = width * sqrt(accuracies.var(ddof=1) / splits + mean * (1 - mean) / n)
        points.append(CurvePoint(m, Estimate(mean, max(0.0, mean - reach), min(1.0, mean + reach)), splits))
    return tuple(points)


def _held_out(table: Table) -> int:
    return max(1, round(HELD_OUT * len(table.labels)))
