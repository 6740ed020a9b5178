"""Pictures of a sweep: m* against the context with law and floor, success at every size, steps on fresh samples."""

from collections.abc import Mapping, Sequence

from keyhole.figure import Axis, Figure, Row
from keyhole.lab.estimation import Threshold
from keyhole.lab.laws import Verdict
from keyhole.lab.sweep import Tally

CONTEXT = Axis("T", "context length T", "log")


def threshold_picture(
    title: str, thresholds: Sequence[Threshold], floors: Mapping[int, float | None], verdict: Verdict | None
) -> Figure | None:
    """M* with its intervals, the leading law, and the floor; None where no threshold was reached."""
    reached = [one for one in thresholds if one.m is not None]
    if not reached:
        return None
    rows: list[Row] = [
        {"T": one.context, "m": one.m, "low": one.low or one.m, "high": one.high or one.m, "what": "m*"}
        for one in reached
    ]
    rows += [
        {"T": context, "m": floor, "low": floor, "high": floor, "what": "floor"}
        for context, floor in floors.items()
        if floor
    ]
    if verdict is not None:
        law = verdict.winner
        told = [(one.context, law.at(one.context)) for one in thresholds]
        rows += [{"T": T, "m": m, "low": m, "high": m, "what": law.formula} for T, m in told]
    beyond = [f"T = {one.context} {one.censored} the sizes tried" for one in thresholds if one.m is None]
    return Figure(
        title=f"Samples needed: {title}",
        subtitle="; ".join([f"success of {100 * reached[0].quantile:g} % of runs", *beyond]),
        kind="lines",
        rows=tuple(rows),
        x=CONTEXT,
        y=Axis("m", "samples m", "log"),
        colour=Axis("what", "", "category"),
        low="low",
        high="high",
    )


def success_picture(title: str, tallies: Sequence[Tally]) -> Figure | None:
    """The share of runs that succeed at each context and size; None on fresh samples."""
    rows: list[Row] = [
        {
            "T": one.context,
            "m": one.samples,
            "success": one.successes / one.trials,
            "did not fit": 1 - one.fitted / one.trials,
            "runs": one.trials,
        }
        for one in sorted(tallies, key=lambda tally: (-(tally.samples or 0), tally.context))
        if one.samples is not None
    ]
    if not rows:
        return None
    return Figure(
        title=f"Success: {title}",
        kind="heatmap",
        rows=tuple(rows),
        x=Axis("T", "context length T", "category"),
        y=Axis("m", "samples m", "category"),
        colour=Axis("success", "share of runs"),
    )


def steps_picture(title: str, tallies: Sequence[Tally]) -> Figure | None:
    """Median steps to success on fresh samples; None where there are none that succeed."""
    rows: list[Row] = [
        {"T": one.context, "steps": one.steps, "successes": one.successes, "runs": one.trials}
        for one in tallies
        if one.samples is None and one.successes
    ]
    if not rows:
        return None
    return Figure(
        title=f"Steps on fresh samples: {title}",
        subtitle="median of the runs that succeed",
        kind="lines",
        rows=tuple(rows),
        x=CONTEXT,
        y=Axis("steps", "steps", "log"),
    )
