"""The truth, in rational arithmetic, is never outside an enclosure."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.rigorous.enclosures import Enclosure, exactly, exponentials, outward, reading, relu, total, weighted_sum

from helpers.extreme_numbers import extremes

numbers = st.floats(-1e6, 1e6, allow_subnormal=True)
positives = st.floats(1e-6, 1e6)


@st.composite
def intervals(draw, of=numbers):
    """Two ends, and a number between them."""
    low, high = sorted((draw(of), draw(of)), key=lambda end: (end, np.copysign(1.0, end)))  # −0 below 0
    inside = draw(st.floats(low, high))
    return Enclosure(np.array(low), np.array(high)), Fraction(inside)


def holds(enclosure, truth, at=()):
    """Whether the enclosure holds a rational number; an end that is infinite or no number says nothing."""
    low, high = float(enclosure.low[at]), float(enclosure.high[at])
    below = not low > -np.inf or (np.isfinite(low) and Fraction(low) <= truth)
    return bool(below and (not high < np.inf or (np.isfinite(high) and truth <= Fraction(high))))


@given(intervals(), intervals())
def test_sums_differences_products(one, two):
    """X ∈ X and y ∈ Y give x + y ∈ X + Y, and so for − and ·, negation and ReLU."""
    (x, a), (y, b) = one, two
    assert holds(x + y, a + b)
    assert holds(x - y, a - b)
    assert holds(x * y, a * b)
    assert holds(-x, -a)
    assert holds(relu(x), max(a, Fraction(0)))
    assert abs(a) <= Fraction(float(x.size))


@given(intervals(), intervals(of=positives))
def test_quotients(one, two):
    """x/y ∈ X/Y for Y above zero."""
    (x, a), (y, b) = one, two
    assert holds(x.over(y), a / b)


@given(intervals(of=extremes), intervals(of=extremes))
def test_elementwise_at_extreme_exponents(one, two):
    """The same for exponents from −1074 to 1000, ±0 and numbers below the normal ones."""
    (x, a), (y, b) = one, two
    with np.errstate(all="ignore"):
        assert holds(x + y, a + b)
        assert holds(x - y, a - b)
        assert holds(x * y, a * b)
        assert holds(-x, -a)
        assert holds(relu(x), max(a, Fraction(0)))
        assert abs(a) <= Fraction(float(x.size))
        if y.low > 0:
            assert holds(x.over(y), a / b)


@st.composite
def products(draw, of=numbers, most=12):
    """A matrix and a vector of intervals with a rational vector inside."""
    n, k = draw(st.integers(1, 4)), draw(st.integers(1, most))
    rows = draw(arrays(np.float64, (n, k), elements=of | st.sampled_from([0.0, 1.0])))
    drawn = [draw(intervals(of=of)) for _ in range(k)]
    x = Enclosure(np.array([float(e.low) for e, _ in drawn]), np.array([float(e.high) for e, _ in drawn]))
    return rows, x, [inside for _, inside in drawn]


@given(products())
def test_sums_of_products(drawn):
    """Σ_j r_j x_j lies in the enclosure of the matrix product, from either side."""
    rows, x, inside = drawn
    truths = [sum(Fraction(float(r)) * v for r, v in zip(row, inside, strict=True)) for row in rows]
    summed = weighted_sum(rows, x)
    for i, truth in enumerate(truths):
        assert holds(summed, truth, i)
        turned = Enclosure(x.low[None, :], x.high[None, :])
        assert holds(reading(turned, rows[i]), truth, 0)
    assert holds(total(x), sum(inside))


@given(products(of=extremes, most=5))
def test_sums_of_products_at_extreme_exponents(drawn):
    """The same where products underflow and overflow."""
    with np.errstate(all="ignore"):
        test_sums_of_products.hypothesis.inner_test(drawn)


@given(st.integers(-1010, 1010), st.integers(0, 10**6), st.booleans())
def test_large_times_small(exponent, seed, positive):
    """Factors whose exponents cancel: what underflows in one is large again in the product."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        rows, x = np.ldexp(rng.normal(size=(2, 9)), -exponent), np.ldexp(rng.normal(size=9), exponent)
        rows = np.abs(rows) if positive else rows
        truths = [sum(Fraction(r) * Fraction(v) for r, v in zip(row.tolist(), x.tolist(), strict=True)) for row in rows]
        assert all(holds(weighted_sum(rows, exactly(x)), truth, at) for at, truth in enumerate(truths))
        assert all(holds(reading(exactly(x[None]), row), truth, 0) for row, truth in zip(rows, truths, strict=True))


@given(st.floats(-800, 800), st.floats(-800, 800), extremes.filter(lambda scale: scale > 0))
def test_exponentials_at_extreme_exponents(logit, shift, temperature):
    """exp((logit − shift)/temperature) is enclosed where it underflows, overflows, or the quotient does."""
    found = exponentials([logit], shift=shift, temperature=temperature)
    before, ctx.prec = ctx.prec, 3000
    try:
        ball = ((arb(logit) - arb(shift)) / arb(temperature)).exp()
        low, high = float(found.low[0]), float(found.high[0])
        assert not low > 0 or not ball < arb(low)
        assert not high < np.inf or not ball > arb(high)
        assert low != np.inf
    finally:
        ctx.prec = before


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=5))
def test_exponentials(logits):
    """The ball of 200 bits lies inside, and the enclosure is a few units wide."""
    found = exponentials(logits)
    before, ctx.prec = ctx.prec, 200
    try:
        for i, logit in enumerate(logits):
            ball = arb(logit).exp()
            assert arb(float(found.low[i])) <= ball <= arb(float(found.high[i]))
            assert found.high[i] - found.low[i] <= 8 * np.spacing(found.high[i])
    finally:
        ctx.prec = before


def test_every_operation_widens():
    """Rounding is outward even where the result is exact, so a lost step would show."""
    one = exactly(1.0)
    assert (one + one).low < 2 < (one + one).high
    assert (one * one).low < 1 < (one * one).high
    assert outward(np.zeros(1), np.zeros(1)).low[0] < 0
    assert weighted_sum(np.ones((1, 3)), exactly(np.ones(3))).low[0] < 3


@pytest.mark.slow
def test_long_sums_are_covered():
    """Ten thousand terms that cancel: the truth is inside, whatever numpy's own sum rounds to."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        terms = rng.normal(size=10_000) * 10.0 ** rng.integers(0, 12, 10_000)
        truth = sum(map(Fraction, terms.tolist()))
        assert holds(total(exactly(terms)), truth)
    # half a unit, added to 1 again and again, is lost every time it meets the 1: no luck of random signs here
    terms = np.append(1.0, np.full(4095, 2.0**-53))
    for order in (terms, terms[::-1].copy()):
        assert holds(total(exactly(order)), 1 + 4095 * Fraction(1, 2**53))
    with pytest.raises(ValueError, match="mismatch"):
        weighted_sum(np.ones((1, 3)), exactly(np.ones(4)))
