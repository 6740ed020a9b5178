"""Activations stay between their lines, and GELU is what ball arithmetic says."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from flint import arb, arb_series, ctx
from hypothesis import example, given
from hypothesis import strategies as st

from keyhole.attention.layers import GELU, Activation, Identity, ReLU, SiLU, TanhGELU
from keyhole.errors import AssumptionError
from keyhole.prover.proof.curves import (
    EDGE,
    GELU_CURVATURE,
    GELU_ERROR,
    GELU_SLOPE,
    LATTICE,
    POINTS,
    curve,
    curves,
    require_known,
)
from keyhole.rigorous.enclosures import Ball, exact

from helpers.exact_models import below as certainly_below
from helpers.exact_models import each, lifted, rational
from helpers.exact_models import gelu as gelu_of

ends = st.floats(-30, 30)
slopes = st.floats(-0.2, 1.2)


def gelu(x):
    """XΦ(x) to 120 bits, as a ball."""
    x = arb(float(x))
    return x * (1 + (x / arb(2).sqrt()).erf()) / 2


def tanh_gelu(x):
    """GELU's approximation to 120 bits, as a ball."""
    x = arb(float(x))
    inner = (2 / arb.pi()).sqrt() * (x + arb("0.044715") * x**3)
    return x * (1 + inner.tanh()) / 2


@pytest.fixture(autouse=True)
def _precise():
    before, ctx.prec = ctx.prec, 120
    yield
    ctx.prec = before


@given(st.one_of(ends, st.integers(-2600, 2600).map(lambda place: (place + 0.5) * LATTICE)))
def test_gelu_is_known(x):
    """The ball about the computed GELU holds the true one, in the middle between lattice points and beyond the edge."""
    for activation, truth in ((GELU(), gelu), (TanhGELU(), tanh_gelu)):
        found = curve(activation, exact(np.array([x])))
        assert abs(truth(x) - arb(float(found.mid[0]))) < arb(float(found.rad[0]))
        assert float(activation(np.array(x))) == pytest.approx(float(truth(x).mid()), rel=1e-12, abs=1e-14)


def test_the_error_of_gelu_is_nearly_attained():
    """Half a step from 0, where the fourth derivative is largest, more than half of the stated error is made."""
    found = curve(GELU(), exact(np.array([LATTICE / 2])))
    error = abs(gelu(LATTICE / 2) - arb(float(found.mid[0])))
    assert arb(GELU_ERROR / 2) < error < arb(GELU_ERROR)


def derivative(order, x):
    """The absolute derivative of the approximation over a ball."""
    before, ctx.cap = ctx.cap, order + 1
    try:
        t = arb_series([x, 1])
        inner = (2 / arb.pi()).sqrt() * (t + arb("0.044715") * t * t * t)
        return abs((t / ((-2 * inner).exp() + 1)).coeffs()[order]) * factorial(order)
    finally:
        ctx.cap = before


@pytest.mark.slow
@pytest.mark.parametrize(("order", "stated"), [(1, TanhGELU.lipschitz), (2, 0.798), (4, 1.604)])
def test_the_derivatives_of_the_approximation(order, stated):
    """The stated bounds of slope, curvature and fourth derivative hold on [−10, 10]; one per mille less does not."""
    width = EDGE / 256
    cells = [((2 * index + 1) * width - EDGE, width) for index in range(256)]
    places = [0.0, 1.42, *(middle for middle, _ in cells)]
    assert 0.999 * stated < max(float(derivative(order, arb(place)).lower()) for place in places)
    while cells:
        middle, radius = cells.pop()
        if not derivative(order, arb(middle, radius)) <= stated:
            assert radius > 1e-8, f"at {middle} the derivative is not known to be below {stated}"
            cells += [(middle - radius / 2, radius / 2), (middle + radius / 2, radius / 2)]


def silu(x):
    """SiLU of a ball, or of a power series of balls."""
    return x / ((-x).exp() + 1)


@given(st.one_of(ends, st.floats(-45, 45)))
def test_silu_is_known(x):
    """The ball about the computed SiLU holds the true one."""
    found = curve(SiLU(), exact(np.array([x])))
    assert abs(silu(arb(x)) - arb(float(found.mid[0]))) < arb(float(found.rad[0]))
    assert float(SiLU()(np.array(x))) == pytest.approx(float(silu(arb(x)).mid()), rel=1e-9, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "stated"), [(1, SiLU.lipschitz), (2, 0.501), (4, 0.501)])
def test_the_derivatives_of_silu(order, stated):
    """The stated bounds hold on [−40, 40]; two per mille less do not."""

    def size(x):
        before, ctx.cap = ctx.cap, order + 1
        try:
            return abs(silu(arb_series([x, 1])).coeffs()[order]) * factorial(order)
        finally:
            ctx.cap = before

    cells = [(place / 2 + 0.25, 0.25) for place in range(-80, 80)]
    assert 0.997 * stated < max(float(size(arb(place)).lower()) for place in (0.0, 2.4))
    while cells:
        middle, radius = cells.pop()
        if not size(arb(middle, radius)) <= stated:
            assert radius > 1e-8, f"at {middle} the derivative is not known to be below {stated}"
            cells += [(middle - radius / 2, radius / 2), (middle + radius / 2, radius / 2)]


def test_the_constants_of_both_gelus():
    """The slope, the curvature and Taylor's remainder that are used are not below those of either GELU."""
    assert max(GELU.lipschitz, TanhGELU.lipschitz) <= GELU_SLOPE
    assert max(2 / np.sqrt(2 * np.pi), 0.798) <= GELU_CURVATURE
    assert 1.604 / 24 * (LATTICE / 2) ** 4 < GELU_ERROR


@given(st.sampled_from([GELU(), TanhGELU(), ReLU(), Identity()]), ends, st.floats(0, 1))
def test_an_activation_of_a_ball(activation, x, radius):
    """σ(y) is in σ(ball) for y at the rim."""
    found = curve(activation, Ball(np.array([x]), np.array([radius])))
    for y in (x - radius, x + radius):
        inside = curve(activation, exact(np.array([y])))
        assert abs(inside.mid - found.mid) <= found.rad + inside.rad + 1e-15 * abs(x)  # x ± radius was rounded


@given(st.sampled_from([GELU(), TanhGELU(), ReLU(), Identity()]), ends, ends, slopes)
def test_lines_enclose(activation, one, two, slope):
    """α x + β is below σ for the lower line and above it for the upper one, at 2000 points of the range."""
    low, high = sorted((one, two))
    made = curves(activation, np.array([[low]]), np.array([[high]]))
    tilt = np.array([[slope]])
    below, above = made.below(tilt), made.above(tilt)
    x = np.linspace(low, high, 2000)
    truth = curve(activation, exact(x))
    allowed = truth.rad + 1e-14 * (1 + np.abs(x))  # the rounding of this comparison itself
    assert (slope * x + below.offset[0, 0] <= truth.mid + allowed).all()
    assert (slope * x + above.offset[0, 0] >= truth.mid - allowed).all()
    assert np.abs(truth.mid).max() <= made.size[0, 0] + allowed.max()


@pytest.mark.parametrize("place", [0.5, 384.5, -384.5, 100.5])
@pytest.mark.parametrize("width", [0.0, 2.0**-30])
def test_lines_of_a_narrow_range_pay_for_what_gelu_is_known_to(place, width):
    """Midway between lattice points, in a range too narrow to bend, lines are off by no more than GELU's own error."""
    low = place * LATTICE
    made = curves(GELU(), np.array([[low]]), np.array([[low + width]]))
    x = lifted([low, low + width])
    truth = each(gelu_of, x)
    for slope in (-0.2, 0.0, 0.3, 1.0, 1.2):
        tilt = np.array([[slope]])
        lower, upper = ([arb(slope)] * x + lifted(lines.offset[0]) for lines in (made.below(tilt), made.above(tilt)))
        assert all(lower <= truth)
        assert all(truth <= upper)
    assert certainly_below(-made.size[0], truth)
    assert certainly_below(-made.size[0], -truth)


@example(ReLU(), [-1e-220, 0.0, 0.0], 1e-220)  # slope · x underflows
@given(st.sampled_from([ReLU(), Identity()]), st.lists(ends, min_size=3, max_size=3), slopes)
def test_straight_lines_enclose_in_fractions(activation, places, slope):
    """Without any rounding of the comparison: at the ends, the bend and a place between, lines are on their side."""
    low, inside, high = sorted(places)
    made = curves(activation, np.array([[low]]), np.array([[high]]))
    tilt = np.array([[slope]])
    x = rational([low, inside, high, np.clip(0.0, low, high)])
    truth = np.maximum(x, Fraction(0)) if activation == ReLU() else x
    assert (Fraction(slope) * x + rational(made.below(tilt).offset[0]) <= truth).all()
    assert (Fraction(slope) * x + rational(made.above(tilt).offset[0]) >= truth).all()


@pytest.mark.parametrize("step", [0.1, 0.3])
def test_curvature_between_grid_points(step):
    """With 0 midway between grid points the line of slope ½ must still pass below GELU(0) = 0, by little."""
    low = -47.5 * step
    made = curves(GELU(), np.array([[low]]), np.array([[low + (POINTS - 1) * step]]))
    below = made.below(np.full((1, 1), 0.5))
    assert abs(below.touch[0, 0]) == pytest.approx(step / 2)
    assert -0.02 * step**2 <= below.offset[0, 0] <= 0


@given(st.floats(-8, 8), st.floats(0.01, 16), slopes)
def test_lines_touch(start, width, slope):
    """A line comes as near to GELU as the grid's step allows: within twice 0.8 h²/8 and the error of the values."""
    low, high = start, start + width
    made = curves(GELU(), np.array([[low]]), np.array([[high]]))
    x = np.linspace(low, high, 4001)
    over = curve(GELU(), exact(x)).mid - slope * x
    near = 2 * GELU_CURVATURE / 8 * (width / (POINTS - 1)) ** 2 + 4 * GELU_ERROR + 1e-12
    assert over.min() - made.below(np.array([[slope]])).offset[0, 0] <= near
    assert made.above(np.array([[slope]])).offset[0, 0] - over.max() <= near


@given(st.floats(-5, -0.01), st.floats(0.01, 5), st.floats(0, 1))
def test_relu_has_its_own_lines(low, high, slope):
    """Across 0 the lower line of slope in [0, 1] passes through 0, and the chord is the upper one."""
    made = curves(ReLU(), np.array([[low]]), np.array([[high]]))
    assert made.below(np.array([[slope]])).offset[0, 0] == pytest.approx(0, abs=1e-14)
    assert made.above(made.chord()).offset[0, 0] == pytest.approx(-made.chord()[0, 0] * low, abs=1e-13)


def test_other_activations_are_refused():
    """Only activations with known lines are bounded."""

    class Swish(Activation):
        name = "swish"
        lipschitz = 1.1

        def __call__(self, x):
            return x

    with pytest.raises(AssumptionError, match="activation swish was to be bounded"):
        require_known(Swish())
    with pytest.raises(AssumptionError, match="activation function"):
        require_known(lambda x: x)
