"""The exponent of growth: exact on power laws, covered by its interval, and decided as often as the simulation says."""

from math import exp

import numpy as np
import pytest

from keyhole.apps.ledger.training.conjunctions import exponent_rates, growth_exponent
from keyhole.errors import DataError

from helpers.threshold_fakes import threshold

CONTEXTS = (25, 50, 100, 200, 400, 800)
WIDTH = 1.6449  # standard errors in half of a 90 % interval


def test_the_exponent_of_a_power_law():
    """Exact thresholds give the exponent back, with ±1.645 standard errors: σ/√Σ(ln T − mean)² by least squares."""
    found = growth_exponent([threshold(T, 3 * T**0.4, spread=0.1 * WIDTH) for T in CONTEXTS])
    x = np.log(CONTEXTS)
    expected = WIDTH * 0.1 / np.sqrt(((x - x.mean()) ** 2).sum())
    assert found.value == pytest.approx(0.4)
    assert found.high - found.value == pytest.approx(expected, rel=1e-3)
    assert found.value - found.low == pytest.approx(expected, rel=1e-3)


def test_the_interval_covers():
    """Over 600 redrawn sweeps the 90 % interval covers in 90 % less and more three standard errors."""
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(600):
        drawn = [threshold(T, 3 * T**0.4 * exp(0.1 * rng.standard_normal()), spread=0.1 * WIDTH) for T in CONTEXTS]
        hits += growth_exponent(drawn).contains(0.4)
    # scatter above what the intervals allow widens them, so a little more than 90 % is covered
    assert 0.9 - 3 * (0.09 / 600) ** 0.5 <= hits / 600 <= 0.97


def test_points_off_every_power_law_widen_the_interval():
    """A bend beyond the intervals makes the exponent less certain, not more."""
    straight = growth_exponent([threshold(T, 3 * T**0.4, spread=0.02) for T in CONTEXTS])
    bent = growth_exponent([threshold(T, 3 * min(T, 200) ** 0.4, spread=0.02) for T in CONTEXTS])
    assert bent.width > 3 * straight.width


def test_the_power_is_that_of_a_normal_estimate():
    """Exponent .4 with standard error .034 lies below .5 by 1.645 of them in 90 % of sweeps; at the limit in 5 %."""
    values = [3 * T**0.4 for T in CONTEXTS]
    rates = exponent_rates(values, CONTEXTS, 0.1, 0.5)
    assert sum(rates.values()) == pytest.approx(1)
    assert rates["below"] == pytest.approx(0.88, abs=0.05)
    at_limit = exponent_rates([3 * T**0.5 for T in CONTEXTS], CONTEXTS, 0.1, 0.5)
    assert max(at_limit["below"], at_limit["above"]) <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5


def test_refuses_two_thresholds():
    """Two points fix a line and leave nothing over."""
    with pytest.raises(DataError, match="use at least 3"):
        growth_exponent([threshold(25, 10.0), threshold(50, 12.0)])
