"""m*: where it is estimated to lie, and how often its interval covers it."""

from dataclasses import replace
from math import inf, log
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import ArgumentError, DataError
from keyhole.sweeps.thresholds.psychometric import fit_curves
from keyhole.sweeps.thresholds.threshold import (
    central_interval,
    empirical_threshold,
    estimate_threshold,
    threshold_interval,
)

from helpers.threshold_fakes import logistic

some_counts = st.dictionaries(
    st.integers(1, 500),
    st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.9])
@pytest.mark.parametrize(("width", "plateau"), [(0.15, 1.0), (0.3, 1.0), (0.3, 0.95)])
def test_expected_counts_give_the_threshold_back(width, plateau, quantile):
    """From the success rates themselves, over many runs, m* is the size at which the rate is the quantile."""
    curve = logistic(60, width, plateau, quantile)
    counts = {m: (round(4000 * curve(m)), 4000) for m in (20, 30, 40, 50, 60, 75, 90, 120, 200)}
    found = estimate_threshold(100, counts, quantile=quantile)
    # 36,000 runs know ln m* to about 2·0.3/√9000 = 0.006; the grid of widths and plateaus costs as much again
    assert found.m == pytest.approx(60, rel=0.03)
    assert found.censored == "no"


def test_a_sudden_rise_is_bracketed_not_guessed():
    """All fail at 50 and all succeed at 60: a step anywhere between explains that best, so all of the gap is held.

    A curve that is at one half at 50 fails there 20 times running with probability 2⁻²⁰: nothing beyond is held.
    """
    found = estimate_threshold(50, {40: (0, 20), 50: (0, 20), 60: (20, 20), 80: (20, 20)})
    assert found.low == pytest.approx(50)
    assert found.high == pytest.approx(60)
    assert 50 < found.m < 60


@pytest.mark.parametrize("seeds", [1, 20, 200])
def test_beyond_the_sizes_tried_nothing_is_claimed(seeds):
    """All fail at 10: m* may be just above; all succeed at 10: just below, however many the runs."""
    above, below = estimate_threshold(5, {10: (0, seeds)}), estimate_threshold(5, {10: (seeds, seeds)})
    assert (above.censored, above.high) == ("above", None)
    assert above.low is None or above.low <= 10 * (1 + 1e-12)
    assert (below.censored, below.low) == ("below", None)
    assert below.high is None or below.high >= 10 * (1 - 1e-12)
    if seeds >= 20:  # one half at 10 or before, and so many failures: 2⁻²⁰; the bound is the size itself
        assert (above.low, below.high) == (pytest.approx(10), pytest.approx(10))


@pytest.mark.slow
@pytest.mark.parametrize("width", [0.001, 0.02, 0.05])
@pytest.mark.parametrize(
    ("sizes", "middle"),
    [
        pytest.param((10,), 11, id="just above the only size"),
        pytest.param((10,), 9.1, id="just below the only size"),
        pytest.param((10, 160), 11, id="low in a wide gap"),
        pytest.param((10, 160), 145, id="high in a wide gap"),
        pytest.param((20, 40, 80), 44, id="in a grid of doublings"),
    ],
)
def test_intervals_of_fixed_grids_cover_sudden_rises(sizes, middle, width):
    """90 % intervals from 20 seeds at each size of a fixed grid cover m* in 90 % less three standard errors."""
    draws = 40
    rng, hits, curve = np.random.default_rng(5), 0, logistic(middle, width)
    for _ in range(draws):
        found = estimate_threshold(9, {m: (int(rng.binomial(20, curve(m))), 20) for m in sizes})
        hits += (found.low or 0) <= middle <= (found.high or inf)
    assert hits / draws >= 0.9 - 3 * (0.09 / draws) ** 0.5


@given(some_counts, st.sampled_from([0.25, 0.5, 0.9]))
def test_an_interval_holds_its_estimate(counts, quantile):
    """For any counts: ends in order around m*, none beyond an edge that m* is beyond, shares within [0, 1]."""
    found = estimate_threshold(10, counts, quantile=quantile)
    assert (found.m is None) == (found.censored != "no")
    if found.censored == "above":
        assert found.high is None
        assert (found.low or 0) <= found.largest * (1 + 1e-9)
    if found.censored == "below":
        assert found.low is None
        assert (found.high or inf) >= found.smallest * (1 - 1e-9)
    if found.m is not None:
        assert (found.low or 0) <= found.m * (1 + 1e-9)
        assert found.m <= (found.high or inf) * (1 + 1e-9)
        assert found.smallest <= found.m <= found.largest
    assert 0 <= found.plateau <= 1
    assert found == estimate_threshold(10, counts, quantile=quantile)


def test_a_plateau_below_the_quantile_is_said_aloud():
    """Runs that level off at 30 % never reach one half: censored above, with the plateau."""
    found = estimate_threshold(100, {10: (0, 40), 30: (6, 40), 100: (12, 40), 300: (12, 40), 1000: (12, 40)})
    assert (found.censored, found.m, found.high) == ("above", None, None)
    assert found.plateau == pytest.approx(0.3)


def test_the_plateau_is_seen():
    """Success levelling off at 80 % is not taken for a slow rise to 1, and one half stays absolute."""
    curve = logistic(60, 0.2, 0.8)
    found = estimate_threshold(9, {m: (round(400 * curve(m)), 400) for m in (20, 40, 60, 80, 160, 640)})
    assert found.plateau == pytest.approx(0.8, abs=0.06)  # the grid of plateaus has a step of 0.065 here
    assert found.m == pytest.approx(60, rel=0.05)


def test_unfitted_failures_are_kept_apart():
    """The share of runs that failed without fitting their training set is told, where it was recorded."""
    counts = {10: (0, 10), 20: (5, 10), 40: (10, 10)}
    assert estimate_threshold(5, counts, unfitted={10: (3, 10), 20: (0, 10), 40: (0, 10)}).unfitted == pytest.approx(
        0.1
    )
    assert estimate_threshold(5, counts).unfitted is None


@pytest.mark.parametrize("confidence", [0.5, 0.9])
@pytest.mark.parametrize("middle", [-0.04, 0.0, 0.03])
def test_the_middle_share_of_a_bell_is_its_own(confidence, middle):
    """Of a likelihood that is a bell in θ, the middle share ends at z standard errors either side of its top.

    With cells of h standard errors the trapezoid rule errs by h²φ′/12 and a chord by h²φ′/8, where φ′ ≤ (z + h)φ: below
    0.004 standard errors at h = 0.1. Counting all of a cell's weight below its place would move both ends by h/2.
    """
    places = np.linspace(-8, 8, 161)
    bell = -((places - middle) ** 2) / 2
    fit = fit_curves({50: (10, 20), 51: (10, 20)}, 0.5)
    bent = replace(fit, places=places, shapes=np.array([[0.25, 1.0]]), likelihood=bell[:, None])
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    assert central_interval(bent, confidence) == pytest.approx((middle - z, middle + z), abs=4e-3)


def test_the_empirical_threshold_needs_twenty_seeds():
    """Def. 7.1: the smallest size with the success fraction over at least twenty seeds, or none."""
    assert empirical_threshold({10: (19, 19), 20: (10, 20), 30: (20, 20)}) == 20
    assert empirical_threshold({10: (19, 19), 20: (9, 20)}) is None
    assert empirical_threshold({20: (17, 20), 30: (18, 20)}, quantile=0.9) == 30


def test_more_runs_narrow_the_interval():
    """Four times the runs halve the interval, within a quarter."""
    curve = logistic(60, 0.25)
    wide, narrow = (
        estimate_threshold(1, {m: (round(n * curve(m)), n) for m in (30, 42, 60, 85, 120)}) for n in (40, 160)
    )
    assert log(narrow.high / narrow.low) / log(wide.high / wide.low) == pytest.approx(0.5, rel=0.25)


def test_the_seed_moves_only_the_bootstrap():
    """Another seed of the bootstrap leaves everything but the ends alone."""
    counts = {30: (2, 10), 60: (5, 10), 90: (9, 10)}
    one, other = estimate_threshold(1, counts, seed=0), estimate_threshold(1, counts, seed=1)
    assert replace(one, low=None, high=None) == replace(other, low=None, high=None)


@pytest.mark.parametrize("counts", [{}, {10: (0, 0)}])
def test_refuses_no_runs(counts):
    """A threshold of nothing is not asked."""
    with pytest.raises(DataError, match="train at least one model"):
        estimate_threshold(1, counts)


@pytest.mark.parametrize("counts", [{10: (3, 2)}, {10: (-1, 2)}, {0: (1, 2)}])
def test_refuses_counts_that_cannot_be(counts):
    """More successes than trials, or no samples, are refused."""
    with pytest.raises(DataError, match="cannot be"):
        estimate_threshold(1, counts)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5])
@pytest.mark.parametrize(
    ("name", "words"), [("quantile", "A quantile of success of"), ("confidence", "A confidence of")]
)
def test_refuses_levels_at_the_ends(name, words, level):
    """A success probability or a confidence of 0 or 1 has no threshold and no interval: both are refused alike."""
    with pytest.raises(ArgumentError, match=f"{words} {level} was asked for; it lies strictly between 0 and 1"):
        estimate_threshold(1, {10: (1, 2)}, **{name: level})


def test_the_same_counts_are_fitted_once():
    """Counts in another order, or without sizes that nothing was run at, give the very same fit and interval."""
    fit = fit_curves({30: (2, 9), 60: (7, 9)}, 0.5)
    assert fit_curves({60: (7, 9), 45: (0, 0), 30: (2, 9)}, 0.5) is fit
    assert fit_curves({30: (2, 9), 60: (8, 9)}, 0.5) is not fit
    assert fit_curves({30: (2, 9), 60: (7, 9)}, 0.6) is not fit
    assert threshold_interval(fit, 0.9, 0) is threshold_interval(fit, 0.9, 0)
    assert threshold_interval(fit, 0.5, 0) != threshold_interval(fit, 0.9, 0)
    assert not any(array.flags.writeable for array in (fit.places, fit.shapes, fit.likelihood, fit.trials))
