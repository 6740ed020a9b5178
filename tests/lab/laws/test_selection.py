"""Selection of a law: the true one wins where the data separate the laws, and none is named where they do not."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

from keyhole.bounds.finite.floor import floor_slope, information_floor
from keyhole.errors import ArgumentError, DataError
from keyhole.lab.laws.growth_laws import LAWS, AffineLaw
from keyhole.lab.laws.selection import comparable, compare_laws
from keyhole.lab.laws.verdict import slope_beside_floor

from helpers.threshold_fakes import threshold

WIDE = (10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120)
NARROW = (25, 50, 100, 200, 400, 800)


def test_a_threshold_out_of_reach_speaks_for_growth():
    """A linear law with its longest context censored above foretells more there than the edge."""
    rows = [threshold(t, 2.0 * t) for t in NARROW[:-1]]
    law = next(law for law in compare_laws([*rows, threshold(800, 900, censored="above")]).laws if law.name == "linear")
    assert law.at(800) == pytest.approx(1600, rel=0.15)  # five points of 6 % each, and one that says "above 900"


def test_a_threshold_that_nothing_bounds_is_left_out():
    """Neither end known: no information, whether its estimate lies in the range or beyond; too few left, no verdict."""
    rows = [threshold(t, 5 + 12 * log(t)) for t in NARROW]
    unknown = replace(rows[-1], m=900.0, low=None, high=None)
    assert compare_laws([*rows[:-1], unknown], resamples=50) == compare_laws(rows[:-1], resamples=50)
    assert comparable(rows[:4])
    assert not comparable([*rows[:3], unknown])
    assert comparable([*rows[:3], replace(rows[3], high=None)])
    assert not comparable([*rows[:2], *(replace(row, high=None) for row in rows[2:])])
    assert not comparable([])


@pytest.mark.parametrize(
    ("name", "truth"),
    [("log", lambda t: 5 + 12 * log(t)), ("square root", lambda t: 10 + 4 * t**0.5), ("linear", lambda t: t + 10.0)],
)
def test_a_clear_law_is_named(name, truth):
    """On ten contexts over 2.7 decades with exact values of 5 % error, the true law wins all three ways."""
    verdict = compare_laws([threshold(t, truth(t), spread=0.08) for t in WIDE])
    assert verdict.winner.name == name
    assert verdict.forecaster == verdict.winner
    assert verdict.decided
    assert verdict.odds > 10
    assert sum(law.weight for law in verdict.laws) == pytest.approx(1)
    assert sum(law.share for law in verdict.laws) == pytest.approx(1)
    assert not verdict.warnings


def test_a_short_range_is_undecided_and_says_so():
    """Below 10..3000 nothing is decided, however exact the points, and the warning names √T."""
    verdict = compare_laws([threshold(t, 5 + 12 * log(t), spread=0.001) for t in NARROW])
    assert verdict.winner.name == "log"
    assert not verdict.decided
    assert "does not tell log T from √T" in verdict.warnings[0]
    assert "10 to 3000" in verdict.warnings[0]
    assert str(verdict).startswith("undecided: a + b ln T leads, ")


def test_small_odds_are_undecided():
    """With intervals of a factor of two, no law over any range is named."""
    verdict = compare_laws([threshold(t, 5 + 12 * log(t), spread=0.7) for t in WIDE])
    assert not verdict.decided
    assert "too small to name a law" in " ".join(verdict.warnings)


def test_scatter_tempers_the_odds():
    """Points off every law by far more than their intervals allow make the odds no larger than their scatter does."""
    wiggle = [1.3, 1 / 1.3] * 5
    rows = [threshold(t, (5 + 12 * log(t)) * w, spread=0.02) for t, w in zip(WIDE, wiggle, strict=True)]
    verdict = compare_laws(rows)
    assert verdict.scatter > 100  # 26 % off, intervals of 1.2 %: (0.26/0.012)² ≈ 470
    assert not verdict.decided
    # a 26 % wiggle about a law that rises sevenfold leaves the runner-up a fair chance; unscaled, e^100 to 1 and more
    assert verdict.odds < 100


def test_scatter_alone_forbids_no_name():
    """Points 2 % off a law that rises fourfold, with errors of 1.2 %: the scatter is reported, the law is named."""
    wiggle = [1.02, 1 / 1.02] * 5
    rows = [threshold(t, (5 + 12 * log(t)) * w, spread=0.02) for t, w in zip(WIDE, wiggle, strict=True)]
    verdict = compare_laws(rows)
    assert [warning.split()[:3] for warning in verdict.warnings] == [["The", "points", "scatter"]]
    assert verdict.winner.name == "log"
    assert verdict.decided


def test_a_better_forecast_alone_forbids_a_name():
    """The longest contexts 8 % above log T: it fits all points best, and yet (ln T)² predicts those two better."""
    rows = [threshold(t, (5 + 12 * log(t)) * (1.08 if t > 2000 else 1), spread=0.05) for t in WIDE]
    verdict = compare_laws(rows)
    assert (verdict.winner.name, verdict.forecaster.name) == ("log", "log squared")
    assert verdict.odds > 1000
    assert verdict.warnings == ("a + b (ln T)² foretold T = 2560, 5120 better than a + b ln T did.",)
    assert not verdict.decided


@pytest.mark.parametrize("n", [4, 5, 6])
def test_a_true_rise_beats_the_constant_on_few_contexts(n):
    """Where m* rises linearly by 30 % and is known to 9 %, the constant has the smallest AIC in a minority of draws.

    Resamples of exact thresholds are draws of the truth with its errors. The rise is ln 1.3/0.09 = 2.9 standard errors
    of a point, which gains a deviance of 5 and more on the average, above the 2 that a coefficient costs; a term
    2k(k + 1)/(n − k − 1) would ask for 10 more at n = 4, and the constant would win 9 of 10.
    """
    contexts = [10 * 2**i for i in range(n)]
    truth = [100 * (1 + 0.3 * (t - 10) / (contexts[-1] - 10)) for t in contexts]
    rows = [threshold(t, m, spread=0.09 * 1.645) for t, m in zip(contexts, truth, strict=True)]
    share = {law.name: law.share for law in compare_laws(rows, resamples=2000).laws}
    assert share["constant"] < 0.5 - 3 * (0.25 / 2000) ** 0.5


def test_a_coefficient_costs_one_unit_of_log_weight():
    """On a level m* every law fits alike, and one with a coefficient more has e^(−1) of the constant's weight."""
    for n in (4, 6, 10):
        laws = {law.name: law for law in compare_laws([threshold(t, 50.0) for t in WIDE[:n]], resamples=1).laws}
        for name in ("log", "square root", "linear", "power"):
            # the mesh of ln ρ comes within 1e-3 of a rise of 0, and errors are 6 %: (1e-3/0.06)² of deviance at most
            assert log(laws["constant"].weight / laws[name].weight) == pytest.approx(1, abs=2e-3)
            assert laws[name].aic - laws["constant"].aic == pytest.approx(2, abs=4e-3)


@pytest.mark.slow
def test_coverage_of_the_slope():
    """The 90 % interval of the slope covers it in at least 90 % of redrawn data less three standard errors."""
    rng, runs, hits = np.random.default_rng(5), 40, 0
    for _ in range(runs):
        drawn = [threshold(t, (5 + 12 * log(t)) * exp(0.06 * rng.standard_normal()), spread=0.0987) for t in WIDE]
        slope = next(law for law in compare_laws(drawn, resamples=100).laws if law.name == "log").coefficients["b"]
        hits += slope.low <= 12 <= slope.high  # 0.0987 is 1.645 standard errors of 6 %
    assert hits / runs >= 0.9 - 3 * (0.09 / runs) ** 0.5


def test_the_floor_rises_as_its_slope_says():
    """log₂ C(T, s) gains s/ln 2 for each unit of ln T, up to s²/T."""
    gained = (information_floor(2_000_000, 3) - information_floor(1_000_000, 3)) / log(2)
    assert gained == pytest.approx(floor_slope(3), abs=1e-5)


def test_the_slope_is_shown_beside_the_floor():
    """For a logarithmic law the slope, its interval and 3/ln 2 are named together."""
    law = compare_laws([threshold(t, 5 + 12 * log(t)) for t in WIDE]).winner
    assert slope_beside_floor(law, 3).startswith("12 samples per unit of ln T (")
    assert slope_beside_floor(law, 3).endswith("the floor rises by 3/ln 2 = 4.328")


def test_the_record_is_plain():
    """A verdict as plain values keeps its keys."""
    record = compare_laws([threshold(t, 5 + 12 * log(t)) for t in NARROW]).record()
    assert set(record) == {"winner", "runner_up", "odds", "decided", "scatter", "held_out", "warnings", "laws"}
    keys = {"name", "formula", "coefficients", "aic", "weight", "share", "foretold"}
    assert all(set(law) == keys for law in record["laws"])
    assert record["held_out"] == [800]


def test_refuses_too_few_contexts():
    """Three contexts are too few to tell two coefficients from anything."""
    with pytest.raises(DataError, match="use at least 4"):
        compare_laws([threshold(t, 10.0) for t in (25, 50, 100)])


def test_refuses_thresholds_that_are_all_out_of_reach():
    """Censored thresholds alone fix no law."""
    with pytest.raises(DataError, match="3 of them in reach"):
        compare_laws([threshold(t, 100.0, censored="above") for t in NARROW])


def test_refuses_two_thresholds_at_one_context():
    """A context has one threshold."""
    with pytest.raises(DataError, match="one for each"):
        compare_laws([threshold(50, 10.0)] * 4)


def test_laws_of_ones_own_are_compared():
    """A law beside the library's wins where it is the truth; the library's laws keep their fits."""
    saturating = AffineLaw("saturating", "a − b e^(−T/200)", lambda contexts: -np.exp(-contexts / 200))
    rows = [threshold(t, 80 - 60 * exp(-t / 200), spread=0.08) for t in WIDE]
    verdict = compare_laws(rows, laws=(*LAWS, saturating))
    assert (verdict.winner.name, verdict.winner.formula) == ("saturating", "a − b e^(−T/200)")
    assert verdict.decided
    assert verdict.winner.coefficients["a"].contains(80)
    assert verdict.winner.at(10**5) == pytest.approx(80, rel=0.02)
    alone = {law.name: law for law in compare_laws(rows).laws}
    assert set(alone) == {law.name for law in verdict.laws[1:]}
    for law in verdict.laws[1:]:  # fits; AIC and intervals are tempered by the scatter about the best law of all
        assert law.held_out_error == alone[law.name].held_out_error
        assert {k: c.value for k, c in law.coefficients.items()} == {
            k: c.value for k, c in alone[law.name].coefficients.items()
        }
    assert sum(law.weight for law in verdict.laws) == pytest.approx(1)


def test_laws_are_chosen_by_name():
    """Only the laws that are named are compared; weights are relative to them, and their AIC is what it was."""
    rows = [threshold(t, 5 + 12 * log(t)) for t in WIDE]
    verdict = compare_laws(rows, laws=("linear", "log"))
    assert [law.name for law in verdict.laws] == ["log", "linear"]
    everything = {law.name: law for law in compare_laws(rows).laws}
    for law in verdict.laws:
        assert (law.aic, law.coefficients) == (everything[law.name].aic, everything[law.name].coefficients)


def test_a_law_without_a_value_at_a_context_is_refused():
    """A law that has no value at the shortest context is refused, and not fitted around it."""
    log_log = AffineLaw("log log", "a + b ln ln T", lambda contexts: np.log(np.log(contexts)))
    with pytest.raises(ArgumentError, match="'log log' was asked for at T = 1 to 8"):
        compare_laws([threshold(t, 10.0 + t) for t in (1, 2, 4, 8)], laws=(*LAWS, log_log))
