"""Figures of sweeps and runs: every number shown is in a row, and what is censored is shown as such."""

import re
from collections import Counter
from math import log

import pytest

from keyhole.errors import DataError
from keyhole.show.chart import to_spec, to_svg
from keyhole.sweeps.laws.decision import compare_laws
from keyhole.sweeps.laws.figures import course_figure, learners_figure, success_figure
from keyhole.sweeps.thresholds.threshold import estimate_threshold

CONTEXTS = (25, 50, 100, 200)
TALLIES = {t: {m: (round(20 / (1 + (10 * log(t) / m) ** 4)), 20) for m in (16, 32, 64, 128)} for t in CONTEXTS}
THRESHOLDS = [estimate_threshold(t, counts) for t, counts in TALLIES.items()]
ABOVE = estimate_threshold(400, {16: (0, 20), 32: (0, 20)})
BELOW = estimate_threshold(10, {16: (20, 20), 32: (20, 20)})
FLOORS = {25: 10.2, 50: 13.3, 100: 16.3, 200: None}
RUN = [
    {"step": float(step), "loss": 0.7 - step / 200, "accuracy": 0.5 + step / 200, "train_accuracy": 1.0}
    for step in range(0, 100, 10)
]


def rows_of(figure, kind):
    """The rows of one layer."""
    return next(each.rows for each in figure.over if each.kind == kind)


def test_the_map_holds_every_count():
    """Each context and size is one square, coloured by its share of successes."""
    figure = success_figure("AND", TALLIES, THRESHOLDS, verdict=compare_laws(THRESHOLDS), floors=FLOORS)
    shown = {(row["context"], row["m"]): (row["success"], row["runs"]) for row in figure.rows}
    assert shown == {(t, m): (k / n, n) for t, counts in TALLIES.items() for m, (k, n) in counts.items()}
    assert figure.subtitle == str(compare_laws(THRESHOLDS))


def test_the_map_carries_thresholds_laws_and_floor():
    """Over it lie m* with its ends, the three best laws, and the floor where there is one."""
    verdict = compare_laws(THRESHOLDS)
    figure = success_figure("AND", TALLIES, THRESHOLDS, verdict=verdict, floors=FLOORS)
    points = rows_of(figure, "points")
    assert [(row["m"], row["low"], row["high"]) for row in points] == [(t.m, t.low, t.high) for t in THRESHOLDS]
    curves = rows_of(figure, "curves")
    assert {row["of"] for row in curves} == {law.formula for law in verdict.laws[:3]} | {"floor"}
    assert [row["context"] for row in curves if row["of"].startswith("floor")] == [25, 50, 100]
    winner = [(row["context"], row["m"]) for row in curves if row["of"] == verdict.laws[0].formula]
    assert winner == [(t, pytest.approx(verdict.laws[0].at(t))) for t, _ in winner]


@pytest.mark.parametrize(("censored", "side"), [(ABOVE, "above"), (BELOW, "below")])
def test_censored_thresholds_are_named_and_open(censored, side):
    """A threshold beyond the sizes tried stands at their edge, under a name of its own, its open side drawn long."""
    row = learners_figure("m*", {"tree": [*THRESHOLDS, censored]}).rows[-1]
    edge = 32 if side == "above" else 16
    assert row["m"] == edge
    assert row["of"] == f"tree, {side} what was tried"
    assert (row["high"] == 2 * edge) if side == "above" else (row["low"] == edge / 2)


@pytest.mark.slow
def test_learners_share_colours_with_their_lines():
    """A learner's points and line have one name, so one colour; the floor is a line without points."""
    figure = learners_figure("m*", {"tree": THRESHOLDS, "forest": THRESHOLDS}, floors=FLOORS)
    assert {row["of"] for row in figure.rows} == {"tree", "forest"}
    assert {row["of"] for row in rows_of(figure, "curves")} == {"tree", "forest", "floor"}
    assert "resolve" not in to_spec(figure)
    assert to_spec(success_figure("AND", TALLIES, THRESHOLDS))["resolve"]["scale"]["color"] == "independent"


def test_laws_and_bounds_lie_beside_the_learners():
    """With a verdict the first learner's best law and log T take the place of its line; other curves stay."""
    verdict, enough = compare_laws(THRESHOLDS), {25: 1e4, 100: 2e4}
    figure = learners_figure(
        "m*", {"tree": THRESHOLDS, "forest": THRESHOLDS}, floors=FLOORS, verdict=verdict, curves={"bound": enough}
    )
    curves = rows_of(figure, "curves")
    laws = {verdict.laws[0].formula, "a + b ln T"}
    assert {row["of"] for row in curves} == {"forest", "bound", "floor", *laws}
    assert {row["context"]: row["m"] for row in curves if row["of"] == "bound"} == enough
    best = [(row["context"], row["m"]) for row in curves if row["of"] == verdict.laws[0].formula]
    assert best == [(t, pytest.approx(verdict.laws[0].at(t))) for t, _ in best]


def test_a_course_has_a_line_for_each_run_and_reading():
    """Readings that were taken are drawn, one line a run; those that were not are left out."""
    figure = course_figure("parity", {"0": RUN, "1": RUN})
    assert len({row["reading"] for row in figure.rows}) == 2
    assert len(figure.rows) == 2 * 2 * len(RUN)
    assert figure.group == "run"
    assert figure.subtitle == "2 runs"


def test_grokking_is_on_a_log_axis_without_step_zero():
    """A logarithm has no place for step 0."""
    figure = course_figure("parity", {"0": RUN}, ("train_accuracy", "accuracy"), scale="log")
    assert figure.x.scale == "log"
    assert min(row["step"] for row in figure.rows) == 10
    assert len({row["reading"] for row in figure.rows}) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "marks"),
    [
        (
            success_figure(
                "AND", TALLIES, [*THRESHOLDS, ABOVE], verdict=compare_laws([*THRESHOLDS, ABOVE]), floors=FLOORS
            ),
            {
                "square": 16,
                "point": 5,
                "rule mark": 5,
                "line mark": 4,
            },  # a size tried, m* and its interval, laws, floor
        ),
        (
            learners_figure("m*", {"tree": [*THRESHOLDS, ABOVE]}, floors=FLOORS),
            {"point": 5, "rule mark": 5, "line mark": 2},
        ),
        (course_figure("parity", {"0": RUN, "1": RUN}), {"line mark": 4}),  # two runs, two readings
    ],
    ids=["success", "learners", "course"],
)
def test_every_row_is_drawn(figure, marks):
    """A mark for each row: squares for sizes tried, points with their intervals, a line for each law, floor or run."""
    drawn = Counter(re.findall(r'aria-roledescription="([^"]+)"', to_svg(figure)))
    assert {kind: drawn[kind] for kind in ("square", "point", "rule mark", "line mark") if drawn[kind]} == marks


def test_refuses_empty_pictures():
    """Nothing run, no threshold or no reading: the picture is refused with what to do."""
    with pytest.raises(DataError, match="run a sweep first"):
        success_figure("AND", {25: {}}, [])
    with pytest.raises(DataError, match="run a sweep first"):
        learners_figure("m*", {"tree": []})
    with pytest.raises(DataError, match="train a network"):
        course_figure("parity", {"0": []})
