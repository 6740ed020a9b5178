"""Scores of attributions against closed forms: perfect, constant, random, reversed."""

from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.apps.tables.attribution import CONFIDENCE, RESAMPLES, auc, hits, score_attribution
from keyhole.errors import DataError

sizes = arrays(np.float64, (2, 7), elements=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
sets = st.sets(st.integers(0, 6), min_size=1, max_size=6)


@given(sizes, sets)
def test_auc_counts_pairs(drawn, relevant):
    """The share of (relevant, other) pairs in order, ties counting half, pair by pair."""
    inside = np.isin(np.arange(7), list(relevant))
    pairs = [(i, j) for i in range(7) if inside[i] for j in range(7) if not inside[j]]
    slow = [np.mean([(row[i] > row[j]) + (row[i] == row[j]) / 2 for i, j in pairs]) for row in drawn]
    assert auc(drawn, inside) == pytest.approx(slow, abs=1e-12)


@given(sizes, sets, st.integers(1, 7))
def test_hits_average_over_ties(drawn, relevant, top):
    """The mean of hits over all sets of `top` positions that no other position beats."""
    inside = np.isin(np.arange(7), list(relevant))
    for row, found in zip(drawn, hits(drawn, inside, top), strict=True):
        best = max(sum(row[list(chosen)]) for chosen in combinations(range(7), top))
        choices = [c for c in combinations(range(7), top) if abs(sum(row[list(c)]) - best) < 1e-12]
        assert found == pytest.approx(np.mean([inside[list(chosen)].sum() for chosen in choices]), abs=1e-12)


def test_perfect_attributions():
    """Large where relevant, whatever the sign: 1 everywhere, with intervals of no width."""
    rng = np.random.default_rng(0)
    given_ = rng.uniform(0, 0.5, (40, 16))
    given_[:, [2, 9]] = rng.choice([-1, 1], (40, 2))
    score = score_attribution(given_, (2, 9))
    for found in (score.precision, score.recall, score.auc, score.auc_per_input):
        assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_constant_attributions():
    """All ties: AUC ½, precision s/T, recall top/T."""
    score = score_attribution(np.full((5, 16), -3.0), (2, 9), top=4)
    assert (score.auc.value, score.auc.low, score.auc.high) == (0.5, 0.5, 0.5)
    assert score.auc_per_input.value == 0.5
    assert score.precision.value == pytest.approx(2 / 16)
    assert score.recall.value == pytest.approx(4 / 16)


def test_reversed_attributions():
    """The relevant positions last: AUC 0, and nothing found until the others run out."""
    given_ = np.ones((3, 10))
    given_[:, [0, 5]] = 0
    assert score_attribution(given_, (0, 5)).auc.value == 0
    assert score_attribution(given_, (0, 5)).precision.value == 0
    assert score_attribution(given_, (0, 5), top=9).recall.value == 0.5


@pytest.mark.slow
def test_random_attributions():
    """Independent noise: AUC within an input has mean ½ and variance (T+1)/(12 s (T−s)), so n inputs come near ½."""
    n, T, s = 4000, 20, 3
    score = score_attribution(np.random.default_rng(0).normal(size=(n, T)), (1, 4, 7), seed=1)
    deviation = sqrt((T + 1) / (12 * s * (T - s)) / n)
    found = score.auc_per_input
    assert abs(found.value - 0.5) < 5 * deviation  # a chance below one in a million
    # the interval is ±1.96 deviations; 1000 resamples place its ends to about a tenth of one
    assert found.high - found.low == pytest.approx(2 * 1.96 * deviation, rel=0.15)


@pytest.mark.slow
def test_intervals_cover():
    """Over 200 data sets of noise the interval of the mean AUC holds ½ about 95 times in 100."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        found = score_attribution(rng.normal(size=(60, 8)), (1, 4)).auc_per_input
        held += found.low <= 0.5 <= found.high
    assert 176 <= held <= 199  # 190 expected; five deviations of a binomial count are 15, and percentiles run narrow


def test_more_positions_find_more_and_dilute():
    """With perfect attributions and top = 2s, recall is 1 and precision ½."""
    given_ = np.zeros((4, 12))
    given_[:, [3, 8]] = 1
    score = score_attribution(given_, (3, 8), top=4)
    assert (score.recall.value, score.precision.value) == (1.0, 0.5)


def test_says_how_it_was_made():
    """Seed, resamples, inputs and top are part of the score; one seed gives one answer."""
    given_ = np.random.default_rng(3).normal(size=(30, 9))
    one, again, other = (score_attribution(given_, (1, 2), seed=seed) for seed in (5, 5, 6))
    assert one == again
    assert one != other
    assert (one.seed, one.resamples, one.inputs, one.top, CONFIDENCE) == (5, RESAMPLES, 30, 2, 0.95)


@pytest.mark.parametrize(
    ("attributions", "positions", "top", "says"),
    [
        (np.full((2, 3), np.nan), (0,), None, "NaN or infinity"),
        (np.zeros((0, 3)), (0,), None, "a row per input"),
        (np.array([["a", "b"]]), (0,), None, "real numbers"),
        (np.zeros((2, 3)), (5,), None, "position 5"),
        (np.zeros((2, 3)), (0, 1, 2), None, "3 of 3 positions"),
        (np.zeros((2, 3)), (), None, "0 of 3 positions"),
        (np.zeros((2, 3)), (0,), 4, "The top 4 positions"),
    ],
)
def test_refuses_what_cannot_be_ranked(attributions, positions, top, says):
    """Numbers, finite, with some positions relevant and some not."""
    with pytest.raises(DataError, match=says):
        score_attribution(attributions, positions, top=top)
