"""The truth, in rational arithmetic, is never outside a ball."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.rigorous.enclosures import Ball, Enclosure, ball_of, between, exact, inverse, root

from helpers.exact_models import each, lifted, precisely, rational
from helpers.exact_models import holds as certainly_holds
from helpers.extreme_numbers import extremes

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
radii = st.sampled_from([0.0, 0.0, 1e-12, 0.5])


@st.composite
def balls(draw, shape, of=numbers):
    """A ball and, entry by entry, a rational number inside."""
    mid = draw(arrays(np.float64, shape, elements=of))
    rad = np.abs(mid) * draw(arrays(np.float64, shape, elements=radii))
    share = draw(arrays(np.float64, shape, elements=st.sampled_from([-1.0, -0.5, 0.0, 1.0])))
    inside = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        inside[index] = Fraction(mid[index]) + Fraction(share[index]) * Fraction(rad[index])
    return Ball(mid, rad), inside


def holds(ball, truth):
    """Whether every entry of the ball holds the rational number beside it, between both ends and within the radius.

    What is not finite says nothing: then no end is a number that could prove anything.
    """
    for index in np.ndindex(*ball.mid.shape):
        if not (np.isfinite(ball.mid[index]) and np.isfinite(ball.rad[index])):
            assert not ball.low[index] > -np.inf
            assert not ball.high[index] < np.inf
            assert not ball.size[index] < np.inf
            continue
        mid, rad = Fraction(float(ball.mid[index])), Fraction(float(ball.rad[index]))
        assert abs(truth[index] - mid) <= rad
        low, high, size = (float(end[index]) for end in (ball.low, ball.high, ball.size))
        assert low == -np.inf or Fraction(low) <= truth[index]
        assert high == np.inf or truth[index] <= Fraction(high)
        assert size == np.inf or abs(truth[index]) <= Fraction(size)
    return True


@given(balls((2, 3)), balls((2, 3)))
def test_sums_and_products(one, two):
    """X ∈ X and y ∈ Y give x ± y ∈ X ± Y and xy ∈ XY, entry by entry."""
    (x, a), (y, b) = one, two
    assert holds(x + y, a + b)
    assert holds(x - y, a - b)
    assert holds(x * y, a * b)
    assert holds(-x, -a)


@given(balls((2, 7)), balls((7, 3)))
def test_matrix_products(one, two):
    """The product of matrices of balls holds the product of any matrices inside."""
    (x, a), (y, b) = one, two
    assert holds(x @ y, a @ b)
    assert holds((y.T @ x.T).T, a @ b)


@given(balls((2, 7)))
def test_totals_and_means(drawn):
    """Sums over the last axis, and rows less their means."""
    x, a = drawn
    assert holds(x.total(), a.sum(axis=-1))
    assert holds(x.centred(), a - (a.sum(axis=-1) / 7)[:, None])


@given(balls((4,), of=st.floats(1e-6, 1e6)))
def test_inverses(drawn):
    """1/x lies in the inverse of what is certainly positive."""
    x, a = drawn
    assert holds(inverse(x), np.array([1 / inside for inside in a], dtype=object))


@given(balls((4,), of=st.floats(0, 1e6)))
def test_roots(drawn):
    """√x lies in the root: the ends, squared, enclose x."""
    x, a = drawn
    found = root(x)
    for low, high, inside in zip(found.low, found.high, a, strict=True):
        assert max(Fraction(float(low)), Fraction(0)) ** 2 <= inside <= Fraction(float(high)) ** 2


@pytest.mark.parametrize("scale", [2.0**-40, 1.0, 2.0**41])
def test_roots_and_inverses_of_numbers_hold_the_truth(scale):
    """A number without a radius has a root and an inverse that are no doubles: the radius covers the rounding."""
    numbers = scale * np.linspace(1.0, 4.0, 301)
    with precisely():
        roots, inverses = each(lambda x: x.sqrt(), lifted(numbers)), 1 / lifted(numbers)
    assert certainly_holds(root(exact(numbers)), roots)
    assert certainly_holds(inverse(exact(numbers)), inverses)
    assert certainly_holds(inverse(root(exact(numbers))), 1 / roots)


def test_inverse_of_what_may_be_zero():
    """Nothing is known of 1/x where x may be 0."""
    assert not np.isfinite(inverse(Ball(np.array([0.5]), np.array([0.5]))).rad).any()


@given(numbers, numbers)
def test_a_ball_of_two_ends(a, b):
    """The conversion keeps both ends inside, and gives ends back that hold them."""
    low, high = sorted((a, b))
    ball = ball_of(Enclosure(np.array(low), np.array(high)))
    assert ball.low <= low <= high <= ball.high
    assert ball.high - ball.low <= (high - low) * (1 + 2.0**-29) + 1e-15 * max(abs(low), abs(high)) + 2.0**-198


@given(numbers, numbers)
def test_between_holds_both_ends(a, b):
    """Both ends lie in the ball between them."""
    low, high = sorted((a, b))
    ball = between(low, high)
    assert holds(ball, np.array(Fraction(low), dtype=object))
    assert holds(ball, np.array(Fraction(high), dtype=object))


def test_rounding_is_seen():
    """1 + 2^−53 is not a number of double precision, and the ball knows."""
    assert (exact(np.array([1.0])) + exact(np.array([2.0**-53]))).rad[0] > 0
    assert (exact(np.array([[1.0, 2.0**-53]])) @ exact(np.array([1.0, 1.0]))).rad[0] >= 2.0**-53


class TestExtremeExponents:
    """The same laws for exponents from −1074 to 1000, ±0 and numbers below the normal ones."""

    @staticmethod
    @given(balls((2, 3), of=extremes), balls((2, 3), of=extremes))
    def test_sums_and_products(one, two):
        """Sums, differences and products, entry by entry."""
        (x, a), (y, b) = one, two
        with np.errstate(all="ignore"):
            assert holds(x + y, a + b)
            assert holds(x - y, a - b)
            assert holds(x * y, a * b)
            assert holds(-x, -a)

    @staticmethod
    @given(balls((2, 5), of=extremes), balls((5, 3), of=extremes))
    def test_matrix_products(one, two):
        """The product of matrices of balls holds the product of any matrices inside."""
        (x, a), (y, b) = one, two
        with np.errstate(all="ignore"):
            assert holds(x @ y, a @ b)
            assert holds((y.T @ x.T).T, a @ b)

    @staticmethod
    @given(st.integers(-1010, 1010), st.integers(0, 10**6))
    def test_large_times_small(exponent, seed):
        """Factors whose exponents cancel: what underflows in one is large again in the product."""
        rng = np.random.default_rng(seed)
        with np.errstate(all="ignore"):
            x, y = np.ldexp(rng.normal(size=(2, 9)), -exponent), np.ldexp(rng.normal(size=(9, 2)), exponent)
            assert holds(exact(x) @ exact(y), rational(x) @ rational(y))
            assert holds(exact(x[:, :2]) * exact(y[:2]), rational(x[:, :2]) * rational(y[:2]))

    @staticmethod
    @given(balls((2, 7), of=extremes))
    def test_totals_and_means(drawn):
        """Sums over the last axis, and rows less their means."""
        x, a = drawn
        with np.errstate(all="ignore"):
            assert holds(x.total(), a.sum(axis=-1))
            assert holds(x.centred(), a - (a.sum(axis=-1) / 7)[:, None])

    @staticmethod
    @given(balls((4,), of=extremes))
    def test_inverses(drawn):
        """1/x lies in the inverse of what is certainly positive; of all else nothing is known."""
        x, a = drawn
        with np.errstate(all="ignore"):
            found = inverse(x)
            for index, inside in enumerate(a):
                if x.low[index] > 0:
                    assert holds(found[index : index + 1], np.array([1 / inside], dtype=object))
                else:
                    assert not np.isfinite(found.rad[index])

    @staticmethod
    @given(balls((4,), of=extremes))
    def test_roots(drawn):
        """√x lies in the root: the ends, squared, enclose x."""
        x, a = drawn
        with np.errstate(all="ignore"):
            found = root(x)
        for low, high, inside in zip(found.low, found.high, a, strict=True):
            assert not low > 0 or Fraction(float(low)) ** 2 <= max(inside, Fraction(0))
            assert not high < np.inf or Fraction(float(high)) ** 2 >= max(inside, Fraction(0))

    @staticmethod
    @given(extremes, extremes)
    def test_between(a, b):
        """Both ends lie in the ball between them."""
        low, high = sorted((a, b))
        with np.errstate(all="ignore"):
            ball = between(low, high)
            assert holds(ball, np.array(Fraction(low), dtype=object))
            assert holds(ball, np.array(Fraction(high), dtype=object))
