"""Design: the rounds are a pure function of counts, few runs suffice, and intervals cover after they stop."""

from dataclasses import replace
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import ArgumentError
from keyhole.sweeps.thresholds.design import Design
from keyhole.sweeps.thresholds.psychometric import WidthPrior, fit_curves
from keyhole.sweeps.thresholds.threshold import estimate_threshold

from helpers.threshold_fakes import logistic, weibull

DESIGN = Design(start=24, largest=20_000, batch=16)
some_counts = st.dictionaries(
    st.integers(1, 500),
    st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=8,
)


def played(curve, rng, **options):
    """Rounds until they end."""
    counts, design = {}, replace(DESIGN, **options)
    while chosen := design.next_round(counts):
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


@pytest.mark.slow
@pytest.mark.long
def test_intervals_cover_after_adaptive_rounds():
    """90 % intervals of rounds that stop when they are narrow cover m* in 90 % less three standard errors.

    So for every curve, and for all together: of 240 sweeps 84.2 % at least. Every sweep ends within ±20 % or its
    budget, after 60 runs or more, in at most 250 runs nine times of ten.
    """
    sweeps, all_hits = 40, 0
    for place, (curve, middle) in enumerate(CURVES):
        rng, hits, trials = np.random.default_rng([3, place]), [], []
        for _ in range(sweeps):
            found = estimate_threshold(100, played(curve, rng, start=int(rng.integers(12, 48))), rounds=True)
            hits.append((found.low or 0) <= middle <= (found.high or inf))
            trials.append(found.trials)
            if found.trials < 400:
                assert found.low >= found.m * 0.8
                assert found.high <= found.m * 1.2
        assert np.mean(hits) >= 0.9 - 3 * (0.09 / sweeps) ** 0.5
        assert min(trials) >= 60
        assert np.quantile(trials, 0.9) <= 250
        all_hits += sum(hits)
    runs = sweeps * len(CURVES)
    assert all_hits / runs >= 0.9 - 3 * (0.09 / runs) ** 0.5


@pytest.mark.slow
@pytest.mark.long
def test_intervals_of_sweeps_that_end_first_cover():
    """Of 150 sweeps of a slow rise the 50 that end first cover in 90 % less three standard errors, as all do.

    Runs that happen to look steep end a sweep early: without `widening` some 65 to 75 % of these cover.
    """
    rng, found = np.random.default_rng([3, 99]), []
    for _ in range(150):
        middle = 40 * 8 ** float(rng.random())
        found.append((middle, estimate_threshold(100, played(logistic(middle, 0.7), rng, batch=12), rounds=True)))
    covers = np.array([(one.low or 0) <= middle <= (one.high or inf) for middle, one in found])
    first = np.argsort([one.trials for _, one in found], kind="stable")[:50]
    assert covers.mean() >= 0.9 - 3 * (0.09 / 150) ** 0.5
    assert covers[first].mean() >= 0.9 - 3 * (0.09 / 50) ** 0.5


def swept_together(curves, rng):
    """Rounds at contexts that share widths, until none wants more; the thresholds that are reported."""
    tallies = [{} for _ in curves]

    def told():
        places = range(len(tallies))
        return [Design().beside(tallies[place], tallies[:place] + tallies[place + 1 :]) for place in places]

    while any(chosen := [schedule.next_round(tally) for schedule, tally in zip(told(), tallies, strict=True)]):
        for curve, tally, sizes in zip(curves, tallies, chosen, strict=True):
            for m, seeds in sizes.items():
                won, trials = tally.get(m, (0, 0))
                tally[m] = (won + int(rng.binomial(seeds, curve(m))), trials + seeds)
    return [
        estimate_threshold(100, tally, prior=schedule.prior, rounds=sum(n for _, n in tally.values()) < 400)
        for schedule, tally in zip(told(), tallies, strict=True)
    ]


SHARED = {
    "steep": lambda middle, _: logistic(middle, 0.1),
    "usual": lambda middle, _: logistic(middle, 0.25),
    "slow": lambda middle, _: logistic(middle, 0.7),
    "widening": lambda middle, place: logistic(middle, 0.15 * 4 ** (place / 5)),
    "one apart": lambda middle, place: logistic(middle, 0.7 if place == 5 else 0.1),
    "levelling off": lambda middle, place: logistic(middle, 0.25, 1 - place / 20),
    "another form": lambda middle, _: weibull(middle, 3),
}


@pytest.mark.slow
@pytest.mark.long
def test_intervals_of_contexts_that_share_widths_cover():
    """Of six contexts: 90 % less three standard errors for each kind of curve, of all and of the third that ends first.

    Every interval lies within ±20 %, and there are fewer runs than where each context is alone: of the usual width
    about 95 (`python bench/coverage.py`), with a standard error of some 4 over 30 contexts.
    """
    for place, (kind, make) in enumerate(SHARED.items()):
        rng, found = np.random.default_rng([4, place]), []
        for _ in range(5):
            middles = 40 * 8 ** rng.random(6)
            curves = [make(middle, number) for number, middle in enumerate(middles)]
            found += zip(middles, swept_together(curves, rng), strict=True)
        covers = np.array([one.low <= middle <= one.high for middle, one in found])
        trials = np.array([one.trials for _, one in found])
        first = trials <= np.quantile(trials, 1 / 3)
        assert covers.mean() >= 0.9 - 3 * (0.09 / len(found)) ** 0.5, kind
        assert covers[first].mean() >= 0.9 - 3 * (0.09 / first.sum()) ** 0.5, kind
        assert trials.min() >= 36
        if kind == "usual":
            assert trials.mean() < 80
        for _, one in found:
            if one.trials < 400:
                assert one.low >= one.m * (0.8 - 1e-9)
                assert one.high <= one.m * (1.2 + 1e-9)


TOLD = WidthPrior(0.25, 0.4)


def test_where_the_width_is_told_the_estimate_is_the_middle():
    """Of the interval in m, up to the sizes tried; the likeliest where nothing is told, an end is open, or none."""
    counts = {30: (0, 15), 50: (3, 15), 60: (7, 15), 80: (15, 15)}
    told = estimate_threshold(100, counts, prior=TOLD, rounds=True)
    assert told.m == pytest.approx((told.low + told.high) / 2)
    likeliest = exp(fit_curves(counts, 0.5, TOLD).peak)
    assert estimate_threshold(100, counts, prior=TOLD).m == pytest.approx(likeliest) != pytest.approx(told.m)
    assert estimate_threshold(100, counts, rounds=True).m == pytest.approx(exp(fit_curves(counts, 0.5).peak))
    level = {30: (0, 6), 60: (2, 6), 120: (3, 6), 240: (3, 6), 480: (4, 6)}
    half = estimate_threshold(100, level, prior=TOLD, rounds=True)
    assert half.high is None
    assert half.m == pytest.approx(exp(fit_curves(level, 0.5, TOLD).peak))
    few = estimate_threshold(100, {30: (0, 3), 60: (0, 3), 120: (2, 3)}, prior=TOLD, rounds=True)
    assert (few.low + few.high) / 2 > few.largest
    assert few.m == pytest.approx(few.largest)


def test_where_the_width_is_told_the_interval_is_that_of_the_likelihood_and_widened():
    """The central part and what a test accepts, both with the prior, and no more; about the likeliest it widens."""
    counts = {30: (0, 15), 50: (3, 15), 60: (7, 15), 80: (15, 15)}
    fit = fit_curves(counts, 0.5, TOLD)
    accepted = fit.places[fit.profile >= fit.profile.max() - 1.6448536**2 / 2]
    weights = np.exp(fit.likelihood - fit.likelihood.max()).sum(axis=1)
    central = np.interp([0.05, 0.95], (weights.cumsum() - weights / 2) / weights.sum(), fit.places)
    plain = estimate_threshold(100, counts, prior=TOLD)
    assert log(plain.low) == pytest.approx(min(accepted[0], central[0]))
    assert log(plain.high) == pytest.approx(max(accepted[-1], central[1]))
    reported, factor = estimate_threshold(100, counts, prior=TOLD, rounds=True), 1 + 30 * 0.4**2 / 60
    for end, before in ((reported.low, plain.low), (reported.high, plain.high)):
        assert log(end) - fit.peak == pytest.approx(factor * (log(before) - fit.peak))
    width = reported.high / reported.m - 1  # what is reported is what ends the rounds
    assert not replace(DESIGN, precision=width * 1.001, prior=TOLD).next_round(counts)
    assert replace(DESIGN, precision=width * 0.999, prior=TOLD).next_round(counts)


def test_where_the_width_is_told_the_last_rounds_are_small():
    """As many runs as are wanted, from six to a batch; fewer than 36 runs do not end the rounds."""
    counts = {30: (0, 12), 45: (2, 12), 60: (6, 12), 90: (12, 12)}
    widths = [replace(DESIGN, precision=p, batch=40, prior=TOLD) for p in (0.02, 0.1, 0.13, 0.9)]
    wanted = [sum(design.next_round(counts).values()) for design in widths]
    assert wanted[0] == 40 > wanted[1] > wanted[2] >= 6
    assert wanted[3] == 0
    fewer = {30: (0, 9), 45: (1, 8), 60: (4, 9), 90: (9, 9)}
    assert sum(widths[3].next_round(fewer).values()) == 6
    assert widths[3].remaining(fewer) == 1
    assert sum(replace(widths[3], budget=38).next_round(fewer).values()) == 3


def test_widths_are_shared_or_apart():
    """Nothing else."""
    with pytest.raises(ArgumentError, match="they are shared or apart"):
        replace(DESIGN, widths="alone")


def test_coverage_is_stated_where_it_was_measured():
    """Numbers are those of the next smaller sweep that was simulated; other settings are said not to be measured."""
    assert "641 of 660" in Design().coverage(1) == Design(widths="apart").coverage(2)
    assert "620 of 660" in Design(start=7).coverage(5)
    assert "only 63 of 120" in Design().coverage(6)  # with a shelf at one half
    assert "619 of 660" in Design().coverage(9)
    for other in ({"quantile": 0.9}, {"precision": 0.1}, {"confidence": 0.95}, {"budget": 90}, {"batch": 16}):
        assert "not measured" in Design(**other).coverage(6)


def test_intervals_of_rounds_are_widened():
    """By 1 + (60/runs)² about the estimate, in ln m: twice at 60 runs, not at all below; on a fixed grid never."""
    for each, factor in ((15, 2.0), (30, 1.25), (14, 1.0)):
        counts = {30: (0, each), 45: (each // 5, each), 60: (each // 2, each), 90: (each, each)}
        plain, rounds = estimate_threshold(100, counts), estimate_threshold(100, counts, rounds=True)
        assert rounds.m == plain.m
        for end, before in ((rounds.low, plain.low), (rounds.high, plain.high)):
            assert log(end / plain.m) == pytest.approx(factor * log(before / plain.m))


def test_rounds_go_on_until_the_widened_interval_is_within_the_precision():
    """Counts whose plain interval is within ±20 % at 60 runs go on while the one that is reported is not."""
    counts = {30: (0, 15), 50: (3, 15), 60: (7, 15), 80: (15, 15)}
    plain, reported = estimate_threshold(100, counts), estimate_threshold(100, counts, rounds=True)
    wide = reported.high / reported.m - 1
    within = plain.high / plain.m - 1
    assert within < wide
    assert replace(DESIGN, precision=(within + wide) / 2).next_round(counts)
    assert not replace(DESIGN, precision=0.9).next_round(counts)


def test_a_narrow_interval_is_not_believed_before_sixty_runs():
    """Counts that end the rounds at 60 runs do not at 59, whatever their interval; the budget still ends them."""
    counts = {30: (0, 15), 45: (3, 15), 60: (8, 15), 90: (15, 15)}
    fewer = counts | {30: (0, 14)}
    design = replace(DESIGN, precision=0.9)
    assert design.next_round(counts) == {}
    assert design.remaining(counts) == 0
    assert sum(design.next_round(fewer).values()) == design.batch
    assert design.remaining(fewer) == 1
    assert replace(design, budget=59).next_round(fewer) == {}


@given(some_counts)
def test_a_round_is_a_pure_function_within_its_range(counts):
    """The same counts ask for the same runs, of sizes in the range, no more than the batch."""
    design = Design(start=20, largest=400, batch=10, budget=10_000)
    chosen = design.next_round(counts)
    assert chosen == design.next_round(dict(reversed(counts.items())))
    assert all(1 <= m <= 400 and seeds > 0 for m, seeds in chosen.items())
    assert sum(chosen.values()) <= 10


@pytest.mark.parametrize("batch", [1, 2, 5, 12, 40])
def test_the_first_round_spends_its_batch(batch):
    """Before anything is known the batch is spread over a ladder around the start."""
    chosen = Design(start=24, largest=1000, batch=batch).next_round({})
    assert sum(chosen.values()) == batch
    assert 24 in chosen


def test_sizes_double_until_the_rise_is_bracketed():
    """While all fail the sizes double up to the largest; while all succeed they halve down to one."""
    assert DESIGN.next_round({24: (0, 8), 48: (0, 8)}) == {96: 8, 192: 8}
    assert replace(DESIGN, largest=60).next_round({24: (0, 8), 48: (0, 8)}) == {60: 16}
    assert DESIGN.next_round({24: (8, 8), 48: (8, 8)}) == {6: 8, 12: 8}


def test_the_bracket_goes_from_a_quarter_to_three_quarters():
    """A fraction of 3/10 at the smallest size asks for smaller ones, 7/10 at the largest for larger; ¼ and ¾ do not."""
    assert set(DESIGN.next_round({24: (3, 10), 96: (10, 10)})) == {6, 12}
    assert set(DESIGN.next_round({24: (0, 10), 96: (7, 10)})) == {192, 384}
    enough = DESIGN.next_round({24: (3, 12), 96: (9, 12)})
    assert not enough.keys() & {6, 12, 192, 384}


def test_rounds_end_where_no_size_suffices():
    """A learner that never succeeds is run at the largest size with 20 seeds, then left; m* is above."""
    counts = played(lambda _: 0.0, np.random.default_rng(0), largest=500)
    found = estimate_threshold(100, counts)
    assert found.censored == "above"
    assert found.largest == 500
    assert counts[500][1] >= 20
    assert sum(trials for _, trials in counts.values()) < 120


def test_rounds_end_where_one_sample_suffices():
    """A learner that always succeeds has its threshold below the smallest size there is."""
    counts = played(lambda _: 1.0, np.random.default_rng(0))
    found = estimate_threshold(100, counts)
    assert found.censored == "below"
    assert found.smallest == 1


def test_the_budget_ends_it():
    """No round goes beyond the budget, nor starts once it is spent."""
    counts = {24: (8, 16), 48: (9, 16), 12: (3, 16), 6: (0, 16), 96: (16, 16)}
    assert sum(replace(DESIGN, precision=0.02, budget=85).next_round(counts).values()) == 5
    assert replace(DESIGN, precision=0.02, budget=80).next_round(counts) == {}


def test_runs_go_where_success_is_uncertain():
    """Once bracketed, a round's runs lie within a factor of three of m*, and not all at one size."""
    counts = {12: (0, 8), 24: (1, 8), 48: (4, 8), 96: (8, 8)}
    chosen = DESIGN.next_round(counts)
    middle = estimate_threshold(1, counts).m
    assert all(middle / 3 < m < middle * 3 for m in chosen)
    assert len(chosen) > 1


@pytest.mark.slow
def test_what_remains_is_about_what_it_takes():
    """The forecast after two rounds is right within a factor of three for most sweeps, and zero at the end."""
    rng, ratios, design = np.random.default_rng(8), [], replace(DESIGN, precision=0.2, budget=5000)
    for _ in range(5):
        counts = played(logistic(60, 0.3), rng, budget=32)
        ahead = design.remaining(counts)
        more = dict(counts)
        while chosen := design.next_round(more):
            for m, seeds in chosen.items():
                won, trials = more.get(m, (0, 0))
                more[m] = (won + int(rng.binomial(seeds, logistic(60, 0.3)(m))), trials + seeds)
        assert design.remaining(more) == 0
        ratios.append(ahead / (sum(n for _, n in more.values()) - 32))
    assert 1 / 3 < np.median(ratios) < 3


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
def test_refuses_designs_that_cannot_be(wrong, words):
    """A design outside its ranges is refused when it is made, before any run."""
    with pytest.raises(ArgumentError, match=words):
        replace(DESIGN, **wrong)
