"""Laws of growth: recovered exactly from clean thresholds, ranked as chance allows from noisy ones."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from keyhole.bounds.finite.floor import floor_slope, information_floor
from keyhole.errors import ArgumentError, DataError
from keyhole.lab.laws.fit import Points, fit_law, read_points
from keyhole.lab.laws.growth_laws import SHAPES, confusability, share_named
from keyhole.lab.laws.selection import beside_floor, comparable, compare
from keyhole.lab.thresholds.threshold import Threshold

WIDE = (10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120)
NARROW = (25, 50, 100, 200, 400, 800)


def threshold(context, m, *, spread=0.1, censored="no"):
    """A threshold with an interval of ±spread in ln m; a censored one is known to its edge only."""
    return Threshold(
        context=context,
        quantile=0.5,
        m=None if censored != "no" else m,
        low=None if censored == "below" else m * exp(-spread),
        high=None if censored == "above" else m * exp(spread),
        censored=censored,
        plateau=1.0,
        slope=0.2,
        trials=60,
        unfitted=None,
        smallest=max(1, int(m)),
        largest=int(m),
        empirical=None,
    )


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "constant"])
@given(st.floats(0.1, 20), st.floats(1.5, 60))
def test_a_law_is_recovered_from_its_own_values(name, level, ratio):
    """Fitted to exact values of a law, its level and rise are found, and the deviance vanishes."""
    shape = SHAPES[name]
    contexts = np.array(NARROW, dtype=float)
    values = log(level) + shape.rise(contexts, (25.0, 800.0), np.array(log(ratio)))
    points = Points(contexts, values, np.full(6, 0.1), np.zeros(6, dtype=int))
    fit = fit_law(points, shape)
    # the last mesh of ln ρ has steps of (range ≤ 13)/16/8³ < 2e-3, so it errs by half a step at most
    assert fit.ln_ratio[0] == pytest.approx(log(ratio), abs=1e-3)
    assert fit.at(contexts)[0] == pytest.approx(values, abs=1e-3)


@pytest.mark.parametrize("name", list(SHAPES))
def test_coefficients_give_the_law_back(name):
    """The named coefficients, put into the formula, are the fitted curve."""
    shape, contexts = SHAPES[name], np.array(NARROW, dtype=float)
    found = {k: float(v) for k, v in shape.coefficients(np.array(1.5), np.array(0.8), (25.0, 800.0)).items()}
    formula = {
        "constant": lambda t: found["a"] + 0 * t,
        "log": lambda t: found["a"] + found["b"] * np.log(t),
        "log squared": lambda t: found["a"] + found["b"] * np.log(t) ** 2,
        "square root": lambda t: found["a"] + found["b"] * np.sqrt(t),
        "linear": lambda t: found["a"] + found["b"] * t,
        "power": lambda t: found["a"] * t ** found["p"],
    }[name]
    expected = 1.5 + shape.rise(contexts, (25.0, 800.0), np.array(0.8))
    assert np.log(formula(contexts)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sides", [[0, 0, 0, 0, 0, 1], [-1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1]])
def test_censored_points_enter_by_their_probability(sides):
    """With points known on one side only, the fit is the optimum that a general optimiser finds."""
    contexts = np.array(NARROW, dtype=float)
    side = np.array(sides)
    errors = np.array([0.1, 0.2, 0.1, 0.15, 0.1, 0.3])
    values = np.log([30.0, 33.0, 45.0, 50.0, 52.0, 64.0])

    def deviance(point):
        z = (values - point[0] - SHAPES["log"].rise(contexts, (25.0, 800.0), np.array(point[1]))) / errors
        return float(np.where(side == 0, z**2, -2 * norm.logcdf(-side * z)).sum())

    best = minimize(deviance, [3.4, 0.7], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    fit = fit_law(Points(contexts, values, errors, side), SHAPES["log"])
    # flat at the optimum: half a step of 1e-3 in ln ρ costs under (1e-3/0.05)² of deviance
    assert fit.deviance[0] == pytest.approx(best.fun, abs=5e-4)
    assert fit.level[0] == pytest.approx(best.x[0], abs=5e-3)


def test_a_threshold_out_of_reach_speaks_for_growth():
    """A linear law with its longest context censored above foretells more there than the edge."""
    rows = [threshold(t, 2.0 * t) for t in NARROW[:-1]]
    law = next(law for law in compare([*rows, threshold(800, 900, censored="above")]).laws if law.name == "linear")
    assert law.at(800) == pytest.approx(1600, rel=0.15)  # five points of 6 % each, and one that says "above 900"


@pytest.mark.parametrize(("open_end", "side"), [("high", 1), ("low", -1)])
def test_an_open_end_charges_no_law_beyond_it(open_end, side):
    """An m* that nothing bounds above is no evidence against a law that foretells more there; below, likewise.

    The law's likelihood there is Φ(1.645·t) at t half-widths on the open side of the estimate: 0.05 at the end that is
    bounded, against e^(−1.645² t²/2) on both sides where both are.
    """
    known = [threshold(t, 50.0) for t in NARROW[:-1]]
    points = read_points([*known, replace(threshold(800, 50.0), **{open_end: None})], 0.9)
    assert points.side.tolist() == [0, 0, 0, 0, 0, side]
    assert points.errors[-1] == pytest.approx(points.errors[0])  # the half-width of the side that is bounded
    costs = []
    for away in (-1.0, 0.0, 1.0, 30.0):
        moved = points.only(np.array([0, 5]))
        moved = replace(moved, values=moved.values - np.array([0.0, side * away * 0.1]))
        costs.append(float(fit_law(moved, SHAPES["constant"]).deviance[0]))
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(0, abs=1e-9)  # the constant is beyond it by 30 half-widths, and pays nothing
    bounded = read_points([*known, threshold(800, 50.0)], 0.9)
    assert bounded.side.tolist() == [0] * 6


def test_a_threshold_that_nothing_bounds_is_left_out():
    """Neither end known: no information, whether its estimate lies in the range or beyond; too few left, no verdict."""
    rows = [threshold(t, 5 + 12 * log(t)) for t in NARROW]
    unknown = replace(rows[-1], m=900.0, low=None, high=None)
    assert compare([*rows[:-1], unknown], resamples=50) == compare(rows[:-1], resamples=50)
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
    verdict = compare([threshold(t, truth(t), spread=0.08) for t in WIDE])
    assert verdict.winner.name == name
    assert verdict.forecaster == verdict.winner
    assert verdict.decided
    assert verdict.odds > 10
    assert sum(law.weight for law in verdict.laws) == pytest.approx(1)
    assert sum(law.share for law in verdict.laws) == pytest.approx(1)
    assert not verdict.warnings


def test_a_short_range_is_undecided_and_says_so():
    """Below 10..3000 nothing is decided, however exact the points, and the warning names √T."""
    verdict = compare([threshold(t, 5 + 12 * log(t), spread=0.001) for t in NARROW])
    assert verdict.winner.name == "log"
    assert not verdict.decided
    assert "does not tell log T from √T" in verdict.warnings[0]
    assert "10 to 3000" in verdict.warnings[0]
    assert str(verdict).startswith("undecided: a + b ln T leads, ")


def test_small_odds_are_undecided():
    """With intervals of a factor of two, no law over any range is named."""
    verdict = compare([threshold(t, 5 + 12 * log(t), spread=0.7) for t in WIDE])
    assert not verdict.decided
    assert "too small to name a law" in " ".join(verdict.warnings)


def test_scatter_tempers_the_odds():
    """Points off every law by far more than their intervals allow make the odds no larger than their scatter does."""
    wiggle = [1.3, 1 / 1.3] * 5
    rows = [threshold(t, (5 + 12 * log(t)) * w, spread=0.02) for t, w in zip(WIDE, wiggle, strict=True)]
    verdict = compare(rows)
    assert verdict.scatter > 100  # 26 % off, intervals of 1.2 %: (0.26/0.012)² ≈ 470
    assert not verdict.decided
    # a 26 % wiggle about a law that rises sevenfold leaves the runner-up a fair chance; unscaled, e^100 to 1 and more
    assert verdict.odds < 100


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
    share = {law.name: law.share for law in compare(rows, resamples=2000).laws}
    assert share["constant"] < 0.5 - 3 * (0.25 / 2000) ** 0.5


def test_a_coefficient_costs_one_unit_of_log_weight():
    """On a level m* every law fits alike, and one with a coefficient more has e^(−1) of the constant's weight."""
    for n in (4, 6, 10):
        laws = {law.name: law for law in compare([threshold(t, 50.0) for t in WIDE[:n]], resamples=1).laws}
        for name in ("log", "square root", "linear", "power"):
            # the mesh of ln ρ comes within 1e-3 of a rise of 0, and errors are 6 %: (1e-3/0.06)² of deviance at most
            assert log(laws["constant"].weight / laws[name].weight) == pytest.approx(1, abs=2e-3)
            assert laws[name].aic - laws["constant"].aic == pytest.approx(2, abs=4e-3)


def test_coverage_of_the_slope():
    """The 90 % interval of the slope covers it in at least 90 % of redrawn data less three standard errors."""
    rng, runs, hits = np.random.default_rng(5), 40, 0
    for _ in range(runs):
        drawn = [threshold(t, (5 + 12 * log(t)) * exp(0.06 * rng.standard_normal()), spread=0.0987) for t in WIDE]
        slope = next(law for law in compare(drawn, resamples=100).laws if law.name == "log").coefficients["b"]
        hits += slope.low <= 12 <= slope.high  # 0.0987 is 1.645 standard errors of 6 %
    assert hits / runs >= 0.9 - 3 * (0.09 / runs) ** 0.5


@pytest.mark.parametrize(
    ("low", "high", "root", "residual", "linear", "cubed"),
    [
        (100, 1000, 0.9748, 0.091, 0.9095, 0.9877),
        (10, 3000, 0.8705, 0.226, 0.6694, 0.9219),
        (10, 10000, 0.8257, 0.269, 0.6025, 0.9112),
    ],
)
def test_table_of_confusability(low, high, root, residual, linear, cubed):
    """How much of √T, T and log³T an affine function of log T explains on ten geometric contexts."""
    r2, worst = confusability("square root", "log", low, high)
    assert r2 == pytest.approx(root, abs=5e-5)
    assert worst == pytest.approx(residual, abs=5e-4)
    assert confusability("linear", "log", low, high)[0] == pytest.approx(linear, abs=5e-5)
    assert confusability("log cubed", "log", low, high)[0] == pytest.approx(cubed, abs=5e-5)


@pytest.mark.parametrize(
    ("low", "high", "log_named", "root_named"),
    [
        (100, 1000, (0.93, 0.79, 0.66), (0.89, 0.58, 0.32)),
        (10, 3000, (1.00, 0.96, 0.82), (1.00, 0.89, 0.59)),
        (10, 10000, (1.00, 0.98, 0.85), (1.00, 0.92, 0.63)),
    ],
)
def test_planning_table(low, high, log_named, root_named):
    """Shares of runs in which the true law wins by AIC, on twelve geometric contexts at 5, 10 and 20 % noise."""
    contexts = np.geomspace(low, high, 12)
    for truth, shares in (("log", log_named), ("square root", root_named)):
        for noise, share in zip((0.05, 0.1, 0.2), shares, strict=True):
            # both sides are simulations: four errors of 4000 runs, as many again for the table's unstated number
            error = 2 * 4 * (max(share * (1 - share), 0.005) / 4000) ** 0.5
            assert share_named(truth, contexts, noise, runs=4000) == pytest.approx(share, abs=error + 0.005)


def test_the_floor_rises_as_its_slope_says():
    """log₂ C(T, s) gains s/ln 2 for each unit of ln T, up to s²/T."""
    gained = (information_floor(2_000_000, 3) - information_floor(1_000_000, 3)) / log(2)
    assert gained == pytest.approx(floor_slope(3), abs=1e-5)


def test_the_slope_is_shown_beside_the_floor():
    """For a logarithmic law the slope, its interval and 3/ln 2 are named together."""
    law = compare([threshold(t, 5 + 12 * log(t)) for t in WIDE]).winner
    assert beside_floor(law, 3).startswith("12 samples per unit of ln T (")
    assert beside_floor(law, 3).endswith("the floor rises by 3/ln 2 = 4.328")


def test_the_record_is_plain():
    """A verdict as plain values keeps its keys."""
    record = compare([threshold(t, 5 + 12 * log(t)) for t in NARROW]).record()
    assert set(record) == {"winner", "runner_up", "odds", "decided", "scatter", "held_out", "warnings", "laws"}
    keys = {"name", "formula", "coefficients", "aic", "weight", "share", "foretold"}
    assert all(set(law) == keys for law in record["laws"])
    assert record["held_out"] == [800]


def test_refuses_too_few_contexts():
    """Three contexts are too few to tell two coefficients from anything."""
    with pytest.raises(DataError, match="use at least 4"):
        compare([threshold(t, 10.0) for t in (25, 50, 100)])


def test_refuses_thresholds_that_are_all_out_of_reach():
    """Censored thresholds alone fix no law."""
    with pytest.raises(DataError, match="3 of them in reach"):
        compare([threshold(t, 100.0, censored="above") for t in NARROW])


def test_refuses_two_thresholds_at_one_context():
    """A context has one threshold."""
    with pytest.raises(DataError, match="one for each"):
        compare([threshold(50, 10.0)] * 4)


def test_refuses_laws_that_are_not_affine():
    """A power is no affine law, and the message lists those that are."""
    with pytest.raises(ArgumentError, match="use one of log, log squared, square root, linear, log cubed"):
        confusability("power", "log", 10, 100)
