"""Learning curves as a figure."""

from collections.abc import Mapping

from keyhole.apps.tables.learning_curve import LearningCurve
from keyhole.decimals import percent
from keyhole.figure import Axis, Figure, Row


def curves_figure(title: str, curves: Mapping[str, LearningCurve], confidence: float) -> Figure:
    """Accuracy on held-out rows against the rows learned from, with the interval of each point as a band."""
    rows: tuple[Row, ...] = tuple(
        {
            "rows": point.rows,
            "accuracy": point.accuracy.value,
            "low": point.accuracy.low,
            "high": point.accuracy.high,
            "of": name,
        }
        for name, curve in curves.items()
        for point in curve.points
    )
    trivial = next(iter(curves.values())).trivial
    return Figure(
        title,
        "lines",
        rows,
        Axis("rows", "rows learned from", "log"),
        Axis("accuracy", "accuracy on held-out rows"),
        Axis("of", "", "category"),
        "low",
        "high",
        subtitle=f"bands: {100 * confidence:.4g} % intervals; always answering the same is right on {percent(trivial)}",
    )
