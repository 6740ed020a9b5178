"""m*: where it is put, how often its interval covers it, and how few runs the rounds take."""

from dataclasses import replace
from math import exp, inf, log, tanh
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import ArgumentError, DataError
from keyhole.lab.thresholds.design import empirical, estimate, next_round, remaining
from keyhole.lab.thresholds.psychometric import fit_curves
from keyhole.lab.thresholds.threshold import middle_share

PLAN = {"start": 24, "largest": 20_000, "batch": 16}
some_counts = st.dictionaries(
    st.integers(1, 500),
    st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=8,
)


def logistic(middle, width, plateau=1.0, quantile=0.5):
    """A learner that succeeds with probability `quantile` at `middle` samples, as the model has it."""
    shift = log(quantile / (plateau - quantile))
    return lambda m: plateau * (1 + tanh((log(m / middle) / width + shift) / 2)) / 2


def weibull(middle, steepness, plateau=1.0):
    """A learner that the model does not describe: early and late are not alike."""
    scale = middle / (-log(1 - 0.5 / plateau)) ** (1 / steepness)
    return lambda m: plateau * (1 - exp(-((m / scale) ** steepness)))


def played(curve, rng, **options):
    """Rounds until they end."""
    counts = {}
    while chosen := next_round(counts, **(PLAN | options)):
        for m, seeds in chosen.items():
            won, trials = counts.get(m, (0, 0))
            counts[m] = (won + int(rng.binomial(seeds, curve(m))), trials + seeds)
    return counts


CURVES = (
    (logistic(60, 0.005), 60),  # sudden
    (logistic(60, 0.15), 60),  # steep
    (logistic(60, 0.3), 60),  # shallow
    (logistic(60, 0.3, 0.9), 60),  # with a plateau
    (weibull(60, 3), 60),
    (weibull(200, 6, 0.9), 200),
)


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.9])
@pytest.mark.parametrize(("width", "plateau"), [(0.15, 1.0), (0.3, 1.0), (0.3, 0.95)])
def test_expected_counts_give_the_threshold_back(width, plateau, quantile):
    """From the success rates themselves, over many runs, m* is the size at which the rate is the quantile."""
    curve = logistic(60, width, plateau, quantile)
    counts = {m: (round(4000 * curve(m)), 4000) for m in (20, 30, 40, 50, 60, 75, 90, 120, 200)}
    found = estimate(100, counts, quantile=quantile)
    # 36,000 runs know ln m* to about 2·0.3/√9000 = 0.006; the grid of widths and plateaus costs as much again
    assert found.m == pytest.approx(60, rel=0.03)
    assert found.censored == "no"


@pytest.mark.slow
def test_intervals_cover_after_adaptive_rounds():
    """90 % intervals of rounds that stop when they are narrow cover m* in 90 % less three standard errors.

    So for every curve, and for all together: of 372 sweeps 85.3 % at least, which intervals that cover 82 % reach with
    probability 0.05 (1.66 standard errors of 0.0199). Every sweep ends within ±20 % or its budget, after 60 runs or
    more, in at most 250 runs nine times of ten.
    """
    sweeps, all_hits = 62, 0
    for curve, middle in CURVES:
        rng, hits, trials = np.random.default_rng(3), 0, []
        for _ in range(sweeps):
            found = estimate(100, played(curve, rng, start=int(rng.integers(12, 48))))
            hits += (found.low or 0) <= middle <= (found.high or inf)
            trials.append(found.trials)
            if found.trials < 400:
                assert found.low >= found.m * 0.8
                assert found.high <= found.m * 1.2
        assert hits / sweeps >= 0.9 - 3 * (0.09 / sweeps) ** 0.5
        assert min(trials) >= 60
        assert np.quantile(trials, 0.9) <= 250
        all_hits += hits
    runs = sweeps * len(CURVES)
    assert all_hits / runs >= 0.9 - 3 * (0.09 / runs) ** 0.5


def test_a_narrow_interval_is_not_believed_before_sixty_runs():
    """Counts that end the rounds at 60 runs do not at 59, whatever their interval; the budget still ends them."""
    counts = {30: (0, 15), 45: (3, 15), 60: (8, 15), 90: (15, 15)}
    fewer = counts | {30: (0, 14)}
    assert next_round(counts, **PLAN, precision=0.9) == {}
    assert remaining(counts, **PLAN, precision=0.9) == 0
    assert sum(next_round(fewer, **PLAN, precision=0.9).values()) == PLAN["batch"]
    assert remaining(fewer, **PLAN, precision=0.9) == 1
    assert next_round(fewer, **PLAN, precision=0.9, budget=59) == {}


def test_a_sudden_rise_is_bracketed_not_guessed():
    """All fail at 50 and all succeed at 60: a step anywhere between explains that best, so all of the gap is held.

    A curve that is at one half at 50 fails there 20 times running with probability 2⁻²⁰: nothing beyond is held.
    """
    found = estimate(50, {40: (0, 20), 50: (0, 20), 60: (20, 20), 80: (20, 20)})
    assert found.low == pytest.approx(50)
    assert found.high == pytest.approx(60)
    assert 50 < found.m < 60


@pytest.mark.parametrize("seeds", [1, 20, 200])
def test_beyond_the_sizes_tried_nothing_is_claimed(seeds):
    """All fail at 10: m* may be just above; all succeed at 10: just below, however many the runs."""
    above, below = estimate(5, {10: (0, seeds)}), estimate(5, {10: (seeds, seeds)})
    assert (above.censored, above.high) == ("above", None)
    assert above.low is None or above.low <= 10 * (1 + 1e-12)
    assert (below.censored, below.low) == ("below", None)
    assert below.high is None or below.high >= 10 * (1 - 1e-12)
    if seeds >= 20:  # one half at 10 or before, and so many failures: 2⁻²⁰; the bound is the size itself
        assert (above.low, below.high) == (pytest.approx(10), pytest.approx(10))


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
        found = estimate(9, {m: (int(rng.binomial(20, curve(m))), 20) for m in sizes})
        hits += (found.low or 0) <= middle <= (found.high or inf)
    assert hits / draws >= 0.9 - 3 * (0.09 / draws) ** 0.5


@given(some_counts, st.sampled_from([0.25, 0.5, 0.9]))
def test_an_interval_holds_its_estimate(counts, quantile):
    """For any counts: ends in order around m*, none beyond an edge that m* is beyond, shares within [0, 1]."""
    found = estimate(10, counts, quantile=quantile)
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
    assert found == estimate(10, counts, quantile=quantile)


@given(some_counts)
def test_a_round_is_a_pure_function_within_its_range(counts):
    """The same counts ask for the same runs, of sizes in the range, no more than the batch."""
    chosen = next_round(counts, start=20, largest=400, batch=10, budget=10_000)
    assert chosen == next_round(dict(reversed(counts.items())), start=20, largest=400, batch=10, budget=10_000)
    assert all(1 <= m <= 400 and seeds > 0 for m, seeds in chosen.items())
    assert sum(chosen.values()) <= 10


@pytest.mark.parametrize("batch", [1, 2, 5, 12, 40])
def test_the_first_round_spends_its_batch(batch):
    """Before anything is known the batch is spread over a ladder around the start."""
    chosen = next_round({}, start=24, largest=1000, batch=batch)
    assert sum(chosen.values()) == batch
    assert 24 in chosen


def test_sizes_double_until_the_rise_is_bracketed():
    """While all fail the sizes double up to the largest; while all succeed they halve down to one."""
    assert next_round({24: (0, 8), 48: (0, 8)}, **PLAN) == {96: 8, 192: 8}
    assert next_round({24: (0, 8), 48: (0, 8)}, **(PLAN | {"largest": 60})) == {60: 16}
    assert next_round({24: (8, 8), 48: (8, 8)}, **PLAN) == {6: 8, 12: 8}


def test_the_bracket_goes_from_a_quarter_to_three_quarters():
    """A fraction of 3/10 at the smallest size asks for smaller ones, 7/10 at the largest for larger; ¼ and ¾ do not."""
    assert set(next_round({24: (3, 10), 96: (10, 10)}, **PLAN)) == {6, 12}
    assert set(next_round({24: (0, 10), 96: (7, 10)}, **PLAN)) == {192, 384}
    enough = next_round({24: (3, 12), 96: (9, 12)}, **PLAN)
    assert not enough.keys() & {6, 12, 192, 384}


def test_rounds_end_where_no_size_suffices():
    """A learner that never succeeds is run at the largest size with 20 seeds, then left; m* is above."""
    counts = played(lambda _: 0.0, np.random.default_rng(0), largest=500)
    found = estimate(100, counts)
    assert found.censored == "above"
    assert found.largest == 500
    assert counts[500][1] >= 20
    assert sum(trials for _, trials in counts.values()) < 120
    assert "not reached" in str(found) or "above 500" in str(found)


def test_rounds_end_where_one_sample_suffices():
    """A learner that always succeeds has its threshold below the smallest size there is."""
    counts = played(lambda _: 1.0, np.random.default_rng(0))
    found = estimate(100, counts)
    assert found.censored == "below"
    assert found.smallest == 1
    assert "below 1, the smallest size tried" in str(found)


def test_a_plateau_below_the_quantile_is_said_aloud():
    """Runs that level off at 30 % never reach one half: censored above, with the plateau."""
    found = estimate(100, {10: (0, 40), 30: (6, 40), 100: (12, 40), 300: (12, 40), 1000: (12, 40)})
    assert (found.censored, found.m, found.high) == ("above", None, None)
    assert found.plateau == pytest.approx(0.3)
    assert str(found) == "m* at T = 100, success 0.5: not reached; runs level off at 0.3 by m = 1000"


def test_the_plateau_is_seen():
    """Success levelling off at 80 % is not taken for a slow rise to 1, and one half stays absolute."""
    curve = logistic(60, 0.2, 0.8)
    found = estimate(9, {m: (round(400 * curve(m)), 400) for m in (20, 40, 60, 80, 160, 640)})
    assert found.plateau == pytest.approx(0.8, abs=0.06)  # the grid of plateaus has a step of 0.065 here
    assert found.m == pytest.approx(60, rel=0.05)


def test_the_budget_ends_it():
    """No round goes beyond the budget, nor starts once it is spent."""
    counts = {24: (8, 16), 48: (9, 16), 12: (3, 16), 6: (0, 16), 96: (16, 16)}
    assert sum(next_round(counts, **PLAN, precision=0.02, budget=85).values()) == 5
    assert next_round(counts, **PLAN, precision=0.02, budget=80) == {}


def test_runs_go_where_success_is_uncertain():
    """Once bracketed, a round's runs lie within a factor of three of m*, and not all at one size."""
    counts = {12: (0, 8), 24: (1, 8), 48: (4, 8), 96: (8, 8)}
    chosen = next_round(counts, **PLAN)
    middle = estimate(1, counts).m
    assert all(middle / 3 < m < middle * 3 for m in chosen)
    assert len(chosen) > 1


def test_what_remains_is_about_what_it_takes():
    """The forecast after two rounds is right within a factor of three for most sweeps, and zero at the end."""
    rng, ratios = np.random.default_rng(8), []
    for _ in range(8):
        counts = played(logistic(60, 0.3), rng, budget=32)
        ahead = remaining(counts, **PLAN, precision=0.1)
        more = dict(counts)
        while chosen := next_round(more, **PLAN, precision=0.1, budget=5000):
            for m, seeds in chosen.items():
                won, trials = more.get(m, (0, 0))
                more[m] = (won + int(rng.binomial(seeds, logistic(60, 0.3)(m))), trials + seeds)
        assert remaining(more, **PLAN, precision=0.1) == 0
        ratios.append(ahead / (sum(n for _, n in more.values()) - 32))
    assert 1 / 3 < np.median(ratios) < 3


def test_unfitted_failures_are_kept_apart():
    """The share of runs that failed without fitting their training set is told, where it was recorded."""
    counts = {10: (0, 10), 20: (5, 10), 40: (10, 10)}
    assert estimate(5, counts, unfitted={10: (3, 10), 20: (0, 10), 40: (0, 10)}).unfitted == pytest.approx(0.1)
    assert estimate(5, counts).unfitted is None


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
    assert middle_share(bent, confidence) == pytest.approx((middle - z, middle + z), abs=4e-3)


def test_the_empirical_threshold_needs_twenty_seeds():
    """Def. 7.1: the smallest size with the success fraction over at least twenty seeds, or none."""
    assert empirical({10: (19, 19), 20: (10, 20), 30: (20, 20)}) == 20
    assert empirical({10: (19, 19), 20: (9, 20)}) is None
    assert empirical({20: (17, 20), 30: (18, 20)}, quantile=0.9) == 30


def test_more_runs_narrow_the_interval():
    """Four times the runs halve the interval, within a quarter."""
    curve = logistic(60, 0.25)
    wide, narrow = (estimate(1, {m: (round(n * curve(m)), n) for m in (30, 42, 60, 85, 120)}) for n in (40, 160))
    assert log(narrow.high / narrow.low) / log(wide.high / wide.low) == pytest.approx(0.5, rel=0.25)


def test_the_seed_moves_only_the_bootstrap():
    """Another seed of the bootstrap leaves everything but the ends alone."""
    counts = {30: (2, 10), 60: (5, 10), 90: (9, 10)}
    one, other = estimate(1, counts, seed=0), estimate(1, counts, seed=1)
    assert replace(one, low=None, high=None) == replace(other, low=None, high=None)


@pytest.mark.parametrize("counts", [{}, {10: (0, 0)}])
def test_refuses_no_runs(counts):
    """A threshold of nothing is not asked."""
    with pytest.raises(DataError, match="train at least one model"):
        estimate(1, counts)


@pytest.mark.parametrize("counts", [{10: (3, 2)}, {10: (-1, 2)}, {0: (1, 2)}])
def test_refuses_counts_that_cannot_be(counts):
    """More successes than trials, or no samples, are refused."""
    with pytest.raises(DataError, match="cannot be"):
        estimate(1, counts)


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.5])
def test_refuses_quantiles_at_the_ends(quantile):
    """Success with probability 0 or 1 has no threshold."""
    with pytest.raises(DataError, match="strictly between 0 and 1"):
        fit_curves({10: (1, 2)}, quantile)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"precision": 0.0}, "use 0 to 1"),
        ({"start": 0}, "1 ≤ start"),
        ({"largest": 3}, "1 ≤ start"),
        ({"batch": 0}, "Rounds of 0 runs"),
        ({"budget": 0}, "A budget of 0 runs"),
        ({"quantile": 1.5}, "A quantile of success of 1.5"),
        ({"quantile": 0.0}, "A quantile of success of 0.0"),
        ({"confidence": 1.0}, "A confidence of 1.0"),
    ],
)
def test_refuses_plans_that_cannot_be(wrong, words):
    """A plan outside its ranges is refused."""
    with pytest.raises(ArgumentError, match=words):
        next_round({}, **(PLAN | wrong))
