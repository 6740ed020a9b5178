"""Fits of growth laws: exact values give the law back, and censored points enter by their probability."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

from keyhole.errors import ArgumentError
from keyhole.sweeps.laws.fit import Points, fit_law, read_points
from keyhole.sweeps.laws.growth_laws import LAWS, LOG, ConstantLaw

from helpers.threshold_fakes import threshold

NARROW = (25, 50, 100, 200, 400, 800)
BY_NAME = {law.name: law for law in LAWS}


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "constant"])
@given(st.floats(0.1, 20), st.floats(1.5, 60))
def test_a_law_is_recovered_from_its_own_values(name, level, ratio):
    """Fitted to exact values of a law, its level and rise are found, and the deviance vanishes."""
    law = BY_NAME[name]
    contexts = np.array(NARROW, dtype=float)
    values = log(level) + law.ln_rise(contexts, (25.0, 800.0), np.array(log(ratio)))
    points = Points(contexts, values, np.full(6, 0.1), np.zeros(6, dtype=int))
    fit = fit_law(points, law)
    # the last mesh of ln ρ has steps of (range ≤ 13)/16/8³ < 2e-3, so it errs by half a step at most
    assert fit.ln_ratio[0] == pytest.approx(log(ratio), abs=1e-3)
    assert fit.ln_values(contexts)[0] == pytest.approx(values, abs=1e-3)


@pytest.mark.parametrize("sides", [[0, 0, 0, 0, 0, 1], [-1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1]])
def test_censored_points_enter_by_their_probability(sides):
    """With points known on one side only, the fit is the optimum that a general optimiser finds."""
    contexts = np.array(NARROW, dtype=float)
    side = np.array(sides)
    errors = np.array([0.1, 0.2, 0.1, 0.15, 0.1, 0.3])
    values = np.log([30.0, 33.0, 45.0, 50.0, 52.0, 64.0])

    def deviance(point):
        z = (values - point[0] - LOG.ln_rise(contexts, (25.0, 800.0), np.array(point[1]))) / errors
        return float(np.where(side == 0, z**2, -2 * norm.logcdf(-side * z)).sum())

    best = minimize(deviance, [3.4, 0.7], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    fit = fit_law(Points(contexts, values, errors, side), LOG)
    # flat at the optimum: half a step of 1e-3 in ln ρ costs under (1e-3/0.05)² of deviance
    assert fit.deviance[0] == pytest.approx(best.fun, abs=5e-4)
    assert fit.level[0] == pytest.approx(best.x[0], abs=5e-3)


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
        moved = points.subset(np.array([0, 5]))
        moved = replace(moved, values=moved.values - np.array([0.0, side * away * 0.1]))
        costs.append(float(fit_law(moved, ConstantLaw()).deviance[0]))
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(0, abs=1e-9)  # the constant is beyond it by 30 half-widths, and pays nothing
    bounded = read_points([*known, threshold(800, 50.0)], 0.9)
    assert bounded.side.tolist() == [0] * 6


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5])
def test_refuses_a_confidence_that_no_interval_has(confidence):
    """A confidence outside (0, 1) is refused in a sentence."""
    with pytest.raises(ArgumentError, match=f"A confidence of {confidence}"):
        read_points([threshold(t, 50.0) for t in NARROW], confidence)
