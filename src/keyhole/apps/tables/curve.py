"""A table of one's own: how accuracy grows with the rows learned from, what an accuracy takes, and what noise costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.apps.tables.learning_curve import CONFIDENCE, CurvePoint, learning_curve, rows_for
from keyhole.apps.tables.table import Table, append_irrelevant
from keyhole.decimals import percent
from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.figure import Axis, Figure, Row
from keyhole.progress import Watch, ignore
from keyhole.show.answer import Show
from keyhole.training.learners import Learner, learner_named

MOST_COLUMNS = 1_000_000


@dataclass(frozen=True)
class LearnerCurve:
    """The curve of one learner with so many irrelevant columns appended."""

    irrelevant: int
    columns: int
    points: tuple[CurvePoint, ...]
    rows_needed: Estimate | None  # for the accuracy asked for; None where it is not reached


@dataclass(frozen=True, repr=False, eq=False)
class Curve(Result):
    """Learning curves on one table: of each learner, and with irrelevant columns appended."""

    schema: ClassVar[str] = "curve/1"

    target: str
    positive: str
    rows: int
    columns: int
    share: float  # of rows that are positive
    accuracy: float | None  # the accuracy whose price is asked for
    confidence: float
    learners: Mapping[str, tuple[LearnerCurve, ...]]
    certificate: None = None  # `keyhole prove` certifies; the key stays in the record

    def lines(self, show: Show) -> None:
        """Set the accuracy of every learner at each size, and the rows that the accuracy takes."""
        question = f"predicting {self.target} = {self.positive}"
        show.line(f"{question}: {self.rows:,} rows of {self.columns:,} columns besides the target")
        trivial = max(self.share, 1 - self.share)
        show.line(f"a constant answer is right on {percent(trivial)} of rows")
        sure = percent(self.confidence, 0)
        for name, curves in self.learners.items():
            show.line()
            show.line(f"by {name}, mean over {curves[0].points[0].splits} splits, with {sure} intervals")
            show.table(
                {"training rows": ">", **{f"accuracy, {each.columns:,} columns": "<" for each in curves}},
                [
                    (f"{points[0].rows:,}", *map(_share, points))
                    for points in zip(*(each.points for each in curves), strict=True)
                ],
            )
            if self.accuracy is not None:
                show.line(f"rows for an accuracy of {self.accuracy:.4g}: {'; '.join(map(_needed, curves))}")
        if self.accuracy is not None and self.accuracy <= trivial:
            show.line("a constant answer reaches this accuracy without a row to learn from")
        if show.verbose:
            show.line(ABOUT)

    def figure(self) -> Figure:
        """Accuracy against rows, a line for each learner and number of irrelevant columns."""
        rows: tuple[Row, ...] = tuple(
            {
                "rows": point.rows,
                "accuracy": point.accuracy.value,
                "low": point.accuracy.low,
                "high": point.accuracy.high,
                "of": f"{name}, {curve.irrelevant:,} irrelevant" if curve.irrelevant else name,
            }
            for name, curves in self.learners.items()
            for curve in curves
            for point in curve.points
        )
        trivial = percent(max(self.share, 1 - self.share))
        return Figure(
            f"Learning {self.target} = {self.positive}",
            "lines",
            rows,
            Axis("rows", "rows learned from", "log"),
            Axis("accuracy", "accuracy on held-out rows"),
            Axis("of", "", "category"),
            "low",
            "high",
            subtitle=f"bands: {percent(self.confidence, 0)} intervals; always answering the same is right on {trivial}",
        )


ABOUT = (
    "training rows: of the two thirds of the table that a split does not hold out. accuracy: on the third held out; "
    "its interval is for new rows. Irrelevant columns are shuffled copies of others."
)


def _share(point: CurvePoint) -> str:
    return f"{percent(point.accuracy.value)} ({percent(point.accuracy.low)} to {percent(point.accuracy.high)})"


def _needed(curve: LearnerCurve) -> str:
    """The rows needed and their interval; or that they are more than there are."""
    least, most, needed = curve.points[0].rows, curve.points[-1].rows, curve.rows_needed
    where = f" with {curve.columns:,} columns" if curve.irrelevant else ""
    if needed is None:
        return f"not reached with {most:,}{where}"
    if needed.high <= least:
        return f"at most {least:,}{where}, the fewest tried"
    value, low = (f"≤ {least:,}" if number <= least else f"{number:.4g}" for number in (needed.value, needed.low))
    high = f"more than {most:,}" if needed.high == np.inf else f"{needed.high:.4g}"
    return f"{value} ({low} to {high}){where}"


def curve(
    table: Table,
    learners: Sequence[str | Learner] = ("sklearn:logistic",),
    *,
    accuracy: float | None = None,
    irrelevant: Sequence[int] = (),
    splits: int = 20,
    seed: int = 0,
    watch: Watch = ignore,
) -> Curve:
    """Measure how well a column of a table can be predicted from the others, against the rows learned from.

    `read_table(path)` and `make_table(features, target)` give a table. `accuracy` asks how many rows it takes, with an
    interval; `irrelevant` repeats the curve with so many columns appended, each a shuffled copy of one there is.
    Classifiers of scikit-learn see the numbers, each column scaled over the rows learned from; every other learner sees
    bits, whether a value is above its column's median.
    """
    if accuracy is not None and not 0 < accuracy < 1:
        raise ArgumentError(f"An accuracy of {accuracy:g} was asked for; it is a share of rows, such as 0.95.")
    counts = sorted({0, *map(int, irrelevant)})
    if counts[0] < 0 or counts[-1] + table.features.shape[1] > MOST_COLUMNS:
        wrong = counts[0] or counts[-1]  # the least is 0 where none is negative
        raise ArgumentError(f"{wrong:,} irrelevant columns were asked for; use 0 to {MOST_COLUMNS:,} in all.")
    named = {
        each if isinstance(each, str) else each.name: learner_named(each) if isinstance(each, str) else each
        for each in learners
    }
    wide = {k: append_irrelevant(table, k, np.random.default_rng([seed, k])) for k in counts}

    rows, columns = table.features.shape

    def drawn(chosen: Learner, irrelevant: int) -> LearnerCurve:
        points = learning_curve(wide[irrelevant], chosen, splits=splits, seed=seed, watch=watch)
        needed = None if accuracy is None else rows_for(points, accuracy)
        return LearnerCurve(irrelevant, columns + irrelevant, points, needed)

    return Curve(
        target=table.target,
        positive=table.positive,
        rows=rows,
        columns=columns,
        share=float(table.labels.mean()),
        accuracy=accuracy,
        confidence=CONFIDENCE,
        learners={name: tuple(drawn(chosen, k) for k in counts) for name, chosen in named.items()},
    )
