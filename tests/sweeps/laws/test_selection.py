"""Selection of a law: the true one wins where the data separate the laws, and none is named where they do not."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest

from keyhole.bounds.finite.floor import floor_slope, information_floor
from keyhole.errors import ArgumentError, DataError
from keyhole.sweeps.laws.decision import best_forecaster, comparable, compare_laws, slope_beside_floor
from keyhole.sweeps.laws.growth_laws import LAWS, AffineLaw

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
    assert verdict.winner == name
    assert best_forecaster(verdict.laws).name == verdict.winner
    assert verdict.decided
    assert verdict.odds > 10
    assert sum(law.weight for law in verdict.laws) == pytest.approx(1)
    assert sum(law.share for law in verdict.laws) == pytest.approx(1)
    assert not verdict.warnings


def test_a_short_range_is_undecided():
    """Below a ratio of 300 no law that grows is named, however exact the points."""
    verdict = compare_laws([threshold(t, 5 + 12 * log(t), spread=0.001) for t in NARROW])
    assert verdict.winner == "log"
    assert verdict.status == "undecided"
    assert len(verdict.warnings) == 1


def test_small_odds_are_undecided():
    """With intervals of a factor of two no law is named: the power is low."""
    verdict = compare_laws([threshold(t, 5 + 12 * log(t), spread=0.7) for t in WIDE])
    assert verdict.status == "undecided"
    assert verdict.power < 0.1


def test_points_off_every_law_are_a_misfit():
    """A wiggle of 26 % with intervals of 2 % fits no law and no rising curve."""
    wiggle = [1.3, 1 / 1.3] * 5
    rows = [threshold(t, (5 + 12 * log(t)) * w, spread=0.02) for t, w in zip(WIDE, wiggle, strict=True)]
    verdict = compare_laws(rows)
    assert verdict.status == "misfit"
    assert not verdict.decided
    assert verdict.scatter > 100  # 26 % off, intervals of 1.2 %: (0.26/0.012)² ≈ 470
    assert verdict.monotone_p < 1e-6


def test_growth_that_stops_is_a_misfit_that_a_rising_curve_explains():
    """Thresholds that follow ln T up to 500 and stay there: no law is named, and the bend is found."""
    verdict = compare_laws([threshold(t, -22.6 + 22 * log(min(t, 500)), spread=0.05 * 1.645) for t in WIDE])
    assert verdict.status == "misfit"
    assert verdict.monotone_p == pytest.approx(1)
    assert verdict.rival in ("a + b ln T up to T = 320", "a + b ln T up to T = 640")
    assert verdict.rival_odds > 100


def test_a_free_rising_curve_is_told_from_none():
    """A staircase is no law and yet rises: the verdict says that a free rising curve fits."""
    verdict = compare_laws([threshold(t, m, spread=0.05) for t, m in zip(WIDE, [10] * 5 + [100] * 5, strict=True)])
    assert verdict.status == "misfit"
    assert verdict.monotone_p == pytest.approx(1)


def test_the_constant_is_named():
    """Level thresholds of 9 % error name the constant, on long and on short ranges, and say up to what rise."""
    for contexts in (WIDE, NARROW):
        verdict = compare_laws([threshold(t, 80.0, spread=0.09 * 1.645) for t in contexts])
        assert verdict.winner == "constant"
        assert verdict.status == "named"
        assert verdict.laws[0].weight > 0.7


def test_a_constant_of_wide_intervals_is_not_named():
    """With errors of 60 % a rise by half is not excluded, and the verdict says so."""
    verdict = compare_laws([threshold(t, 80.0, spread=0.6 * 1.645) for t in NARROW])
    assert (verdict.winner, verdict.status) == ("constant", "undecided")


def test_a_better_forecast_is_a_remark():
    """The longest contexts 8 % above log T: it is named, and that (ln T)² predicts those two better is told."""
    rows = [threshold(t, (5 + 12 * log(t)) * (1.08 if t > 2000 else 1), spread=0.05) for t in WIDE]
    verdict = compare_laws(rows, smooth=False)
    assert (verdict.winner, best_forecaster(verdict.laws).name) == ("log", "log squared")
    assert verdict.held_out == (2560, 5120)
    assert verdict.decided


def test_a_coefficient_costs_three_units_of_log_weight():
    """On a level m* every law fits alike, and one with a coefficient more has e^(−3) of the constant's weight."""
    for n in (4, 6, 10):
        laws = {law.name: law for law in compare_laws([threshold(t, 50.0) for t in WIDE[:n]], resamples=1).laws}
        for name in ("log", "square root", "linear", "power"):
            # the mesh of ln ρ comes within 1e-3 of a rise of 0, and errors are 6 %: (1e-3/0.06)² of deviance at most
            assert log(laws["constant"].weight / laws[name].weight) == pytest.approx(3, abs=2e-3)
            assert laws[name].score - laws["constant"].score == pytest.approx(6, abs=4e-3)


@pytest.mark.long
def test_coverage_of_the_slope():
    """The 90 % interval of the slope covers it in at least 90 % of redrawn data less three standard errors."""
    rng, runs, hits = np.random.default_rng(5), 40, 0
    for _ in range(runs):
        drawn = [threshold(t, (5 + 12 * log(t)) * exp(0.06 * rng.standard_normal()), spread=0.0987) for t in WIDE[::2]]
        slope = next(law for law in compare_laws(drawn, resamples=100).laws if law.name == "log").coefficients["b"]
        hits += slope.low <= 12 <= slope.high  # 0.0987 is 1.645 standard errors of 6 %
    assert hits / runs >= 0.9 - 3 * (0.09 / runs) ** 0.5


def test_the_floor_rises_as_its_slope_says():
    """log₂ C(T, s) gains s/ln 2 for each unit of ln T, up to s²/T."""
    gained = (information_floor(2_000_000, 3) - information_floor(1_000_000, 3)) / log(2)
    assert gained == pytest.approx(floor_slope(3), abs=1e-5)


def test_the_slope_is_shown_beside_the_floor():
    """For a logarithmic law the slope, its interval and 3/ln 2 are named together."""
    law = compare_laws([threshold(t, 5 + 12 * log(t)) for t in WIDE]).laws[0]
    said = slope_beside_floor(law, 3, 0.9)
    assert said.startswith("12 ")
    assert "4.328" in said


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


@pytest.mark.slow
def test_laws_of_ones_own_are_compared():
    """A law beside the library's wins where it is the truth; the library's laws keep their fits."""
    saturating = AffineLaw("saturating", "a − b e^(−T/200)", lambda contexts: -np.exp(-contexts / 200))
    rows = [threshold(t, 80 - 60 * exp(-t / 200), spread=0.08) for t in WIDE]
    verdict = compare_laws(rows, laws=(*LAWS, saturating))
    assert (verdict.winner, verdict.laws[0].formula) == ("saturating", "a − b e^(−T/200)")
    assert verdict.decided
    assert verdict.laws[0].coefficients["a"].contains(80)
    assert verdict.laws[0].at(10**5) == pytest.approx(80, rel=0.02)
    alone = {law.name: law for law in compare_laws(rows).laws}
    assert set(alone) == {law.name for law in verdict.laws[1:]}
    for law in verdict.laws[1:]:  # fits; intervals are wider by the scatter about the best law of all
        assert law.foretold == alone[law.name].foretold
        assert {k: c.value for k, c in law.coefficients.items()} == {
            k: c.value for k, c in alone[law.name].coefficients.items()
        }
    assert sum(law.weight for law in verdict.laws) == pytest.approx(1)


def test_laws_are_chosen_by_name():
    """Only the laws that are named are compared; weights are relative to them, and their score is what it was."""
    rows = [threshold(t, 5 + 12 * log(t)) for t in WIDE]
    verdict = compare_laws(rows, laws=("linear", "log"))
    assert [law.name for law in verdict.laws] == ["log", "linear"]
    everything = {law.name: law for law in compare_laws(rows).laws}
    for law in verdict.laws:
        assert law.score == everything[law.name].score
        assert {k: c.value for k, c in law.coefficients.items()} == {
            k: c.value for k, c in everything[law.name].coefficients.items()
        }


def test_a_law_without_a_value_at_a_context_is_refused():
    """A law that has no value at the shortest context is refused, and not fitted around it."""
    log_log = AffineLaw("log log", "a + b ln ln T", lambda contexts: np.log(np.log(contexts)))
    with pytest.raises(ArgumentError, match="'log log' was asked for at T = 1 to 8"):
        compare_laws([threshold(t, 10.0 + t) for t in (1, 2, 4, 8)], laws=(*LAWS, log_log))
