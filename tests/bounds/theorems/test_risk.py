"""From complexity to risk, and norms measured after training."""

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds import DEEP, PATH, SCALAR, TABULATED, guarantee, hypothetical
from keyhole.bounds.construction_norms import pair_construction
from keyhole.bounds.derivation import STANDARD, Complexity, Lemma, Step
from keyhole.bounds.theorems.peeling import peel, peeled, peeled_or_zero
from keyhole.bounds.theorems.risk import Loss, deviation, margin_loss, risk_step
from keyhole.errors import AssumptionError


def some(value):
    """A complexity of this value."""
    return Complexity(value, Step("complexity", value, Lemma("given", "R", STANDARD)))


@given(st.floats(0, 2), st.integers(1, 10**9), st.floats(1e-9, 0.5), st.floats(0.1, 10), st.floats(0.1, 10))
def test_rule_3_in_both_forms(R, m, delta, lipschitz, ceiling):
    """2LR + c√(log(2/δ)/2m) two-sided, log(1/δ) one-sided; the shares add up."""
    loss = Loss(lipschitz, ceiling)
    two, one = (risk_step(some(R), m, delta, loss, two_sided=sides) for sides in (True, False))
    assert two.value == pytest.approx(2 * lipschitz * R + ceiling * sqrt(log(2 / delta) / (2 * m)))
    assert one.value == pytest.approx(2 * lipschitz * R + ceiling * sqrt(log(1 / delta) / (2 * m)))
    assert sum(part.share for part in two.parts) == pytest.approx(1)


def test_a_finite_class_keeps_rule_3():
    """Monte Carlo: 20 fixed functions, uniform points; the largest |gap| exceeds Rule 3 with chance ≤ δ."""
    rng = np.random.default_rng(7)
    m, delta, exceeded, draws = 30, 0.5, 0, 400
    table = rng.choice([0.0, 1.0], size=(20, 50))
    R = sqrt(2 * log(20) / m)  # Massart for values in [0, 1]: half of this would do
    for _ in range(draws):
        points = rng.integers(0, 50, size=m)
        exceeded += np.abs(table[:, points].mean(1) - table.mean(1)).max() > risk_step(some(R), m, delta).value
    assert exceeded <= draws * delta


def test_hoeffding_is_kept_and_nearly_used():
    """One fair coin at δ = .05: |mean − ½| exceeds the deviation rarely, and the constant is not idle."""
    rng = np.random.default_rng(8)
    means = rng.integers(0, 2, size=(20_000, 100)).mean(1)
    exceeded = (np.abs(means - 0.5) > deviation(100, 0.05)).mean()
    assert exceeded <= 0.05
    assert (np.abs(means - 0.5) > 0.7 * deviation(100, 0.05)).mean() > 0.05


@given(st.floats(0.01, 10), st.floats(-20, 20), st.floats(-20, 20))
def test_the_ramp_is_as_lipschitz_as_said(margin, u, v):
    """The ramp of margin γ moves by at most |u − v|/γ and lies between the error and the margin count."""

    def ramp(x):
        return min(1.0, max(0.0, 1 - x / margin))

    assert abs(ramp(u) - ramp(v)) <= margin_loss(margin).lipschitz * abs(u - v) + 1e-12
    assert (u <= 0) <= ramp(u) <= (u < margin)
    assert ramp(0) - ramp(margin / 2) == pytest.approx(margin_loss(margin).lipschitz * margin / 2)  # equality
    assert margin_loss(margin).ceiling == 1


@given(st.floats(0, 1e12), st.floats(1e-3, 1e3))
def test_peeling_rounds_up_to_the_smallest_class(value, scale):
    """The class holds the norm, is at most 2^{1/4} of it (or the first class), and has the share 1/(j(j+1))."""
    rounded, weight = peeled(value, scale)
    j = round((sqrt(1 + 4 / weight) - 1) / 2)
    assert weight == pytest.approx(1 / (j * (j + 1)))
    assert rounded == pytest.approx(2.0 ** (j / 4) * scale)
    assert value <= rounded
    assert j == 1 or rounded <= 2**0.25 * value * (1 + 1e-9)


def test_shares_of_delta_sum_to_one():
    """Over all classes, with and without zero as a class of its own."""
    assert sum(peeled(2.0 ** (j / 4)).weight for j in range(1, 400)) == pytest.approx(1, abs=3e-3)
    with_zero = [peeled_or_zero(0.0).weight, *(peeled_or_zero(2.0 ** (j / 4)).weight for j in range(1, 400))]
    assert sum(with_zero) == pytest.approx(1, abs=3e-3)
    assert with_zero[:3] == pytest.approx([1 / 2, 1 / 6, 1 / 12])


def test_a_profile_is_peeled_norm_by_norm():
    """P_∞ = 10 goes to 2^{14/4} with share 1/210, R = 0 stays with share 1/2: δ is multiplied by 1/420."""
    profile = replace(pair_construction("signed-and", 100, 3))
    rounded, nats = peel(profile, TABULATED.dials(profile))
    assert (rounded.path_inf, rounded.spread) == (pytest.approx(2**3.5), 0.0)
    assert nats == pytest.approx(log(420))
    assert deviation(100, 0.02, peeled=nats) == pytest.approx(deviation(100, 0.02 / 420))


def test_a_model_of_many_layers_is_peeled():
    """Thirty layers of three heads: the shares of their norms multiply to 0 in doubles, and the bound is a number."""
    one = hypothetical(tokens=11, value21=4.0, value=3.0, score=8.0, width=4)
    deep = replace(
        one, blocks=tuple(replace(block, heads=block.heads * 3) for block in one.blocks * 30), projected=True
    )
    nats = peel(deep, DEEP.dials(deep))[1]
    assert nats > 750
    assert exp(-nats) == 0
    found = guarantee(DEEP, deep, 1e9, measured=True)
    assert found.derivation.parts[1].value == pytest.approx(sqrt((log(200) + nats) / 2e9))


@pytest.mark.parametrize("route", [TABULATED, PATH, SCALAR, DEEP], ids=lambda route: route.key)
def test_a_dial_reads_what_was_turned(route):
    """Each dial turns its own number and no other."""
    profile = pair_construction("parity", 50, 3)
    found = route.dials(profile)
    assert len({dial.way for dial in found}) == len(found) == len({dial.label for dial in found})
    for dial in found:
        turned = dial.turn(profile, 1234.5)
        assert dial.read(turned) == 1234.5
        assert all(other.read(turned) == other.read(profile) for other in found if other != dial)


@pytest.mark.parametrize("delta", [0.0, -0.1, 1.0, float("nan")])
def test_refuses_a_chance_outside_its_range(delta):
    """δ lies strictly between 0 and 1."""
    with pytest.raises(AssumptionError, match="0 < δ < 1"):
        deviation(10, delta)


@pytest.mark.parametrize("samples", [0, -5, float("nan"), float("inf")])
def test_refuses_no_samples(samples):
    """There is at least one sample, and finitely many."""
    with pytest.raises(AssumptionError, match="at least one sample"):
        deviation(samples, 0.1)


def test_refuses_a_margin_of_zero():
    """A margin is above zero."""
    with pytest.raises(AssumptionError, match="margin must be above 0"):
        margin_loss(0.0)
