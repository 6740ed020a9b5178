"""Figures of sweeps and runs: where learning succeeds, how m* grows, and the course of a run."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from keyhole.errors import DataError
from keyhole.figure import Axis, Figure, Row
from keyhole.sweeps.laws.decision import LawVerdict
from keyhole.sweeps.thresholds.psychometric import Counts
from keyhole.sweeps.thresholds.threshold import Threshold
from keyhole.training.learners import Reading

CONTEXT = Axis("context", "context length T", "log")
SAMPLES = Axis("m", "training samples m", "log")
NEEDED = Axis("m", "training samples m*", "log")
SMOOTH = 60  # points along a law
SHOWN = 3  # laws drawn: the best ones
NAMES = {
    "loss": "loss",
    "accuracy": "accuracy on fresh inputs",
    "train_accuracy": "accuracy on the training set",
    "mass": "attention on the relevant positions",
    "mass_best": "the same, best head",
    "fourier": "Fourier weight on the target's positions",
}


def success_figure(
    title: str,
    tallies: Mapping[int, Counts],
    thresholds: Sequence[Threshold],
    *,
    verdict: LawVerdict | None = None,
    floors: Mapping[int, float | None] | None = None,
) -> Figure:
    """The share of successes at each context and size, with m*, its intervals, the best laws and the floor over it."""
    rows: list[Row] = [
        {"context": context, "m": m, "success": won / trials, "runs": trials}
        for context, counts in tallies.items()
        for m, (won, trials) in sorted(counts.items())
        if trials
    ]
    if not rows:
        raise DataError("A map of successes was asked for, and nothing was run; run a sweep first.")
    sizes = [float(m) for counts in tallies.values() for m in counts]
    within = (min(sizes) / 1.5, max(sizes) * 1.5)  # a law that leaves the sizes tried would compress the axis
    curves = [*_best_law_rows(verdict, thresholds, within), *_floor_rows(floors or {}, within)]
    over = [_curve_layer(curves)] if curves else []
    if thresholds:  # last, so that points lie on the curves
        marks = tuple(_threshold_rows({f"m* (success {thresholds[0].quantile:g})": thresholds}))
        over.append(Figure("m*", "points", marks, CONTEXT, SAMPLES, Axis("of", "", "category"), "low", "high"))
    return Figure(
        title,
        "map",
        tuple(rows),
        CONTEXT,
        SAMPLES,
        Axis("success", "share of runs that succeed"),
        subtitle="" if verdict is None else str(verdict),
        over=tuple(over),
    )


def learners_figure(
    title: str,
    learners: Mapping[str, Sequence[Threshold]],
    *,
    floors: Mapping[int, float | None] | None = None,
    verdict: LawVerdict | None = None,
    curves: Mapping[str, Mapping[int, float]] | None = None,
) -> Figure:
    """m* of several learners on one plot, with the floor below which no learner succeeds.

    With a verdict on the growth of the first learner's m* its best law and the logarithm are drawn, and `curves` are
    other numbers of samples at each context, such as those that a bound asks for, by what they are.
    """
    marks = _threshold_rows(learners)
    if not marks:
        raise DataError("A plot of thresholds was asked for, and no learner has one; run a sweep first.")
    first = next(iter(learners))
    lines: list[Row] = [
        {"context": threshold.context, "m": threshold.m, "of": name}
        for name, thresholds in learners.items()
        for threshold in thresholds
        if threshold.m is not None and (verdict is None or name != first)  # laws go where its line would
    ]
    lines += _best_law_rows(verdict, learners[first], (0.0, np.inf), shown=1, beside="log")
    lines += _floor_rows(floors or {}, (0.0, np.inf))
    lines += [
        {"context": context, "m": m, "of": name}
        for name, points in (curves or {}).items()
        for context, m in points.items()
    ]
    return Figure(
        title,
        "points",
        tuple(marks),
        CONTEXT,
        NEEDED,
        Axis("of", "", "category"),
        "low",
        "high",
        subtitle="bars: intervals; one without an end goes on beyond the sizes tried"
        + ("; formulas are the law that fits best, and the logarithm" if verdict else ""),
        over=(_curve_layer(lines, NEEDED),) if lines else (),
    )


def steps_figure(title: str, steps: Mapping[int, float]) -> Figure:
    """Median steps to success on fresh samples, against the context."""
    if not steps:
        raise DataError("A plot of steps was asked for, and no run succeeded; train longer.")
    return Figure(
        title,
        "lines",
        tuple({"context": context, "steps": count} for context, count in sorted(steps.items())),
        CONTEXT,
        Axis("steps", "steps", "log"),
        subtitle="median of the runs that succeed",
    )


def course_figure(
    title: str,
    runs: Mapping[str, Sequence[Reading]],
    columns: Sequence[str] = ("loss", "accuracy", "mass", "fourier"),
    *,
    scale: Literal["linear", "log"] = "linear",
    subtitle: str = "",
) -> Figure:
    """Readings against steps, one line for each run: a phase transition, or grokking on a log axis."""
    rows: list[Row] = [
        {"step": reading["step"], "value": float(reading[column]), "reading": NAMES.get(column, column), "run": run}
        for column in columns
        for run, readings in runs.items()
        for reading in readings
        if column in reading and np.isfinite(reading[column]) and (scale == "linear" or reading["step"] > 0)
    ]
    if not rows:
        raise DataError(f"Curves of {', '.join(columns)} were asked for, and no run has read them; train a network.")
    return Figure(
        title,
        "curves",
        tuple(rows),
        Axis("step", "step", scale),
        Axis("value", "reading"),
        Axis("reading", "", "category"),
        subtitle=subtitle or f"{len(runs)} runs" * (len(runs) > 1),
        group="run",
    )


def _threshold_rows(learners: Mapping[str, Sequence[Threshold]]) -> list[Row]:
    """A point and an interval for each threshold; a censored one is drawn at the edge of the sizes tried."""
    rows: list[Row] = []
    for name, thresholds in learners.items():
        for threshold in thresholds:
            edge = float(threshold.largest if threshold.censored == "above" else threshold.smallest)
            m = edge if threshold.m is None else threshold.m
            rows.append(
                {
                    "context": threshold.context,
                    "m": m,
                    "low": m / 2 if threshold.censored == "below" else min(threshold.low or m / 2, m),
                    "high": m * 2 if threshold.high is None else max(threshold.high, m),
                    "of": name if threshold.censored == "no" else f"{name}, {threshold.censored} what was tried",
                }
            )
    return rows


def _best_law_rows(
    verdict: LawVerdict | None,
    thresholds: Sequence[Threshold],
    within: tuple[float, float],
    shown: int = SHOWN,
    beside: str = "",
) -> list[Row]:
    """The best laws as curves, and the one of another name beside them."""
    if verdict is None:
        return []
    ends = [threshold.context for threshold in thresholds]
    contexts = [float(context) for context in np.geomspace(min(ends), max(ends), SMOOTH)]
    drawn = [*verdict.laws[:shown], *(law for law in verdict.laws[shown:] if law.name == beside)]
    rows: list[Row] = [
        {"context": context, "m": law.at(context), "of": law.formula} for law in drawn for context in contexts
    ]
    return [row for row in rows if within[0] <= float(row["m"] or 0) <= within[1]]


def _floor_rows(floors: Mapping[int, float | None], within: tuple[float, float]) -> list[Row]:
    """The floor as a curve, where there is one."""
    kept = [(context, floor) for context, floor in sorted(floors.items()) if floor is not None and floor > 0]
    return [
        {"context": context, "m": floor, "of": "floor"}
        for context, floor in kept
        if within[0] / 2 <= floor <= within[1]
    ]


def _curve_layer(rows: list[Row], samples: Axis = SAMPLES) -> Figure:
    """Curves, drawn over another figure."""
    return Figure("laws", "curves", tuple(rows), CONTEXT, samples, Axis("of", "", "category"))
