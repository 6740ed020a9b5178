"""Learning curves: what is measured, how sure it is, and what an accuracy takes."""

from math import exp, log

import numpy as np
import pytest

import keyhole
from keyhole.apps.tables.curve import curve
from keyhole.apps.tables.learning_curve import CurvePoint, curve_sizes, learning_curve, rows_for
from keyhole.apps.tables.table import make_table
from keyhole.errors import ArgumentError
from keyhole.estimate import Estimate
from keyhole.training.learners import learner_named


def noisy(n=600, columns=5, wrong=0.1, seed=0):
    """A table whose target is the sign of its first column, some labels flipped."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, columns))
    return features, (features[:, 0] > 0) ^ (rng.random(n) < wrong)


def curve_of(*heights, reach=0.02):
    """A curve through these accuracies at 8, 16, 32, … rows."""
    return [
        CurvePoint(8 * 2**place, Estimate(height, height - reach, height + reach), 10)
        for place, height in enumerate(heights)
    ]


def test_the_rows_for_an_accuracy_lie_on_a_line_in_their_logarithm():
    """Half way between two points in accuracy is half way in ln rows; the ends of the interval are the bands'."""
    found = rows_for(curve_of(0.6, 0.7, 0.9), 0.8)
    assert abs(found.value - exp((log(16) + log(32)) / 2)) < 1e-9
    assert found.low < found.value < found.high
    low = exp(log(16) + (0.8 - 0.72) / 0.2 * log(2))
    assert abs(found.low - low) < 1e-9


def test_an_accuracy_that_is_not_reached_is_not_extrapolated():
    """Beyond the last point nothing is said; an end whose band is not reached is open."""
    assert rows_for(curve_of(0.6, 0.7, 0.9), 0.95) is None
    assert rows_for(curve_of(0.6, 0.7, 0.9), 0.89).high == np.inf
    assert rows_for(curve_of(0.6, 0.7, 0.9), 0.5).value == 8


def test_a_curve_that_falls_is_levelled():
    """A dip is levelled by isotonic regression: the accuracy is reached where the levelled curve reaches it."""
    assert rows_for(curve_of(0.8, 0.6, 0.9), 0.7).value == 8
    assert rows_for(curve_of(0.8, 0.6, 0.9), 0.75).value > 16


@pytest.mark.slow
def test_the_interval_covers_the_accuracy_of_the_law():
    """Of 40 tables of 200 rows with one label in ten flipped, 90 % intervals at all rows cover .9 at least 33 times.

    A stump's true accuracy is within .01 of .9. With a coverage of 90 % fewer than 33 have probability 4.2 %; the
    intervals are meant to cover more often, and the seeds are fixed.
    """
    stump = keyhole.training.learners.Estimator("tree", (("max_depth", 1),))
    covered = 0
    for seed in range(40):
        table = make_table(*noisy(200, 2, seed=seed))
        (point,) = learning_curve(table, stump, sizes=(130,), splits=5, seed=seed)
        covered += point.accuracy.contains(0.895)
    assert covered >= 33


def test_sizes_double_up_to_the_rows_that_are_not_held_out():
    """Two thirds of the rows can be learned from."""
    assert curve_sizes(make_table(*noisy(60))) == (8, 16, 32, 40)


def test_irrelevant_columns_cost_the_lasso_less_than_the_ridge():
    """With 200 irrelevant columns beside 5 the ridge-penalised regression loses more accuracy than the lasso."""
    table = make_table(*noisy(90, 5, 0.0))  # 60 rows to learn from
    answer = curve(table, ["sklearn:logistic", "sklearn:lasso"], irrelevant=[200], splits=6, accuracy=0.9)
    lost = {
        name: plain.points[-1].accuracy.value - wide.points[-1].accuracy.value
        for name, (plain, wide) in answer.learners.items()
    }
    assert lost["sklearn:logistic"] > lost["sklearn:lasso"] + 0.05
    assert answer.learners["sklearn:lasso"][1].columns == 205
    assert answer.learners["sklearn:logistic"][1].rows_needed is None
    assert "60" in str(answer)
    assert len({row["of"] for row in answer.figure().rows}) == 4


def test_a_learner_of_bits_sees_medians():
    """Elimination learns a conjunction of two columns of bits from a hundred rows, whichever bit is more frequent."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (300, 4))
    table = make_table(bits, bits[:, 0] & bits[:, 2])
    points = learning_curve(table, learner_named("elimination"), sizes=(100,), splits=3)
    assert points[0].accuracy.value == 1


def test_the_same_question_has_the_same_answer():
    """Equal seeds, equal numbers; another seed, others."""
    first, again, other = (
        curve(make_table(*noisy(60)), ["sklearn:tree"], splits=3, seed=seed).record() for seed in (0, 0, 1)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accuracy": 1.0}, "such as 0.95"),
        ({"splits": 1}, "at least 2 splits"),
        ({"irrelevant": [-1]}, "-1 irrelevant columns"),
        ({"learners": ["sklearn:nothing.Here"]}, "not a classifier"),
    ],
)
def test_a_question_without_an_answer_gets_a_sentence(options, message):
    """Accuracies, splits, sizes and learners that cannot be."""
    with pytest.raises(ArgumentError, match=message):
        curve(make_table(*noisy()), **options)


def test_the_figure_has_the_level_of_its_intervals():
    """Bands are named by their confidence."""
    drawn = curve(make_table(*noisy(60)), splits=2).figure()
    assert drawn.subtitle.startswith("bands: 90 % intervals")
