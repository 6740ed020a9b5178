"""From covers to Rademacher complexity."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds.covers.calculus import plain
from keyhole.bounds.covers.chaining import (
    BASES,
    DEEPEST,
    LINKS,
    chained,
    chained_sizes,
    complexity_of,
    dudley,
)
from keyhole.bounds.covers.linear import scalar_cover
from keyhole.errors import AssumptionError

rates = st.floats(1e-12, 10)


def chained_at(base, depth, rate, bound=1.0):
    """The bound of Theorem G for one base, one depth and √(C/m) = rate."""
    first, further = base * sqrt(2), (1 + base) * sqrt(2 * (1 + base**-2))
    return bound * base**-depth + (first + (depth - 1) * further) * rate


@given(rates, st.floats(0.1, 10))
def test_the_chosen_chain_is_the_best_of_all(ratio, bound):
    """Base and depth found by convexity are as good as a search over all of them, and never above A."""
    every = [chained_at(b, J, sqrt(ratio), bound) for b in BASES for J in range(1, DEEPEST + 1)]
    assert chained(ratio, 1, bound).value == pytest.approx(min([bound, *every]), rel=1e-12)


@given(rates)
def test_the_generic_chain_agrees_with_the_closed_form(ratio):
    """Log N(ε) = C/ε² put into the generic chain gives the closed form."""
    generic = chained_sizes(lambda accuracy: ratio * 1000 / accuracy**2, 1000)
    assert generic.value == pytest.approx(chained(ratio * 1000, 1000).value, rel=1e-9)


@given(rates, st.floats(1.01, 10))
def test_more_capacity_never_helps(ratio, factor):
    """The bound grows with C/m."""
    assert chained(ratio, 1).value <= chained(ratio * factor, 1).value * (1 + 1e-12)


@pytest.mark.parametrize("m", [50, 400])
def test_a_linear_class_stays_below_its_bound(m):
    """Monte Carlo: R_m of the unit ball on unit points, E‖Σξ_i u_i‖/m, is below Theorem G with Lemma A."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(m, 20))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    signs = rng.choice([-1.0, 1.0], size=(500, m))
    simulated = np.linalg.norm(signs @ points / m, axis=1).mean()
    assert simulated <= chained(scalar_cover(1, 1, m).capacity, m).value


@pytest.mark.parametrize(
    ("ratio", "value", "base", "depth", "textbook"),
    [
        (1e-2, 0.757597, 3, 1, 1),
        (1e-4, 0.191955, 4, 2, 0.540787),
        (1e-6, 0.0314292, 4, 4, 0.0817097),
        (1e-8, 0.00445417, 4, 6, 0.0109341),
    ],
)
def test_vectors(ratio, value, base, depth, textbook):
    """The theory's numbers to their last digit."""
    found = chained(ratio, 1)
    assert float(f"{found.value:.6g}") == value
    assert (found.base, found.depth) == (base, depth)
    assert float(f"{dudley(ratio, 1):.6g}") == textbook


def test_single_evaluation_and_linear_class():
    """Base 4, depth 3 at C/m = 1e-4; and the class C = log(2m+1) at m = 10⁵."""
    assert round(chained_at(4.0, 3, 1e-2), 6) == 0.217967
    assert round(chained(log(2e5 + 1), 1e5).value, 4) == 0.2055
    assert round(dudley(log(2e5 + 1), 1e5), 4) == 0.5843


@pytest.mark.parametrize(
    ("base", "cost"),
    [(1.5, 10.480), (2, 6.843), (3, 5.428), (4, 5.258), (5, 5.377), (6, 5.601), (8, 6.168)],
)
def test_cost_per_unit_of_log_accuracy(base, cost):
    """Each base's price per unit of log(1/ε), base 4 being the cheapest on the grid."""
    further = {b: link / log_b for b, log_b, _, link in LINKS}
    assert round(further[base], 3) == cost


def test_complexity_shares_and_caps():
    """Shares add up to one; a chain longer than the range gives the range; no capacity gives zero."""
    step = complexity_of(plain(1, 1, 1), 1e6).step
    assert sum(part.share for part in step.parts) == pytest.approx(1)
    assert complexity_of(plain(1, 1e6, 1), 1).value == 1.0
    assert chained(0.0, 10).value == 0.0
    assert dudley(0.0, 10) == 0.0


def test_refusals():
    """No samples, no bound."""
    with pytest.raises(AssumptionError, match="at least one sample"):
        chained(1.0, 0)
    with pytest.raises(AssumptionError, match="capacity C is a norm"):
        chained(float("nan"), 10)
