"""Laws of the kernels: symmetric, positive semi-definite, and their formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.errors import AssumptionError, ShapeError
from keyhole.latent.kernels.families import (
    Constant,
    Exponential,
    Features,
    Gaussian,
    Polynomial,
    linear_kernel,
    sphere_kernel,
)


def label(kernel):
    """A name that is the same in every process; a function has none."""
    return "Features" if isinstance(kernel, Features) else str(kernel)


def squares(points):
    """Some features, and positive ones."""
    return points**2 + 1


POSITIVE = [
    Gaussian(0.7),
    Exponential(2.0),
    sphere_kernel(0.5),
    Constant(3.0),
    Features(squares, positive=True),
]
EVERY = [*POSITIVE, linear_kernel(), Polynomial(3, 1.0), Polynomial(2, 0.5)]

points = arrays(np.float64, st.tuples(st.integers(1, 6), st.just(2)), elements=st.floats(-1, 1))


@given(st.sampled_from(EVERY), points)
def test_every_kernel_is_positive_semi_definite(kernel, rows):
    """A matrix of any of them is symmetric, positive semi-definite, and has its diagonal."""
    gram = kernel(rows, rows)
    np.testing.assert_allclose(gram, gram.T, rtol=0, atol=1e-14 * np.abs(gram).max())
    np.testing.assert_allclose(kernel.diagonal(rows), np.diag(gram), rtol=1e-12)
    # Entries are right to about 1e-15 of the largest, so eigenvalues to 6 × 1e-15 of it.
    assert np.linalg.eigvalsh((gram + gram.T) / 2)[0] >= -1e-13 * np.abs(gram).max()


@given(st.sampled_from(POSITIVE), points, points)
def test_logarithms_are_logarithms(kernel, left, right):
    """The logarithm of a positive kernel is that of its values."""
    # A value below e^20 in size and rounded to 1e-15 of itself has a logarithm rounded to 1e-14.
    np.testing.assert_allclose(kernel.logarithm(left, right), np.log(kernel(left, right)), rtol=0, atol=1e-13)


def textbook(kernel, a, b):
    """One pair at a time, in the words of the formula."""
    match kernel:
        case Gaussian(bandwidth):
            return np.exp(-sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / (2 * bandwidth**2))
        case Exponential(temperature, offset):
            return np.exp((sum(x * y for x, y in zip(a, b, strict=True)) - offset) / temperature)
        case Polynomial(degree, offset):
            return (sum(x * y for x, y in zip(a, b, strict=True)) + offset) ** degree
        case Constant(value):
            return value
        case Features(features):
            return sum(x * y for x, y in zip(features(a), features(b), strict=True))


@pytest.mark.parametrize("kernel", EVERY, ids=label)
def test_entries_follow_the_formula(kernel):
    """Every entry is the formula at its pair of points."""
    left, right = np.random.default_rng(0).normal(size=(2, 4, 3))
    expected = [[textbook(kernel, a, b) for b in right] for a in left]
    np.testing.assert_allclose(kernel(left, right), expected, rtol=1e-12)


@given(points, st.floats(0.1, 5))
def test_on_the_sphere_the_exponential_kernel_is_gaussian(rows, temperature):
    """exp((aᵀb − 1)/γ) = exp(−‖a − b‖²/(2γ)) for unit vectors."""
    angles = rows[:, 0] * np.pi
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    gaussian = Gaussian(temperature**0.5)(circle, circle)
    # Norms are one to 1e-16, exponents are below 2/0.1, so ratios are right to 20 × 1e-15.
    np.testing.assert_allclose(sphere_kernel(temperature)(circle, circle), gaussian, rtol=1e-13)


def test_near_points_keep_their_distance():
    """Two points 1e-8 apart, far from the origin, are told apart by a Gaussian of that bandwidth."""
    pair = np.array([[1.0], [1.0 + 2.0**-27]])
    assert Gaussian(2.0**-27)(pair, pair)[0, 1] == pytest.approx(np.exp(-0.5), rel=1e-14)


@pytest.mark.parametrize("kernel", [linear_kernel(), Polynomial(2)], ids=label)
def test_kernels_of_either_sign_have_no_logarithm(kernel):
    """A kernel that may vanish or be negative cannot weigh tokens."""
    with pytest.raises(AssumptionError, match="can be negative or zero, so it has no logarithm"):
        kernel.logarithm(np.ones((1, 2)), np.ones((1, 2)))


@pytest.mark.parametrize("ask", [Gaussian(1.0).__call__, Gaussian(1.0).logarithm])
def test_points_of_two_widths_are_refused(ask):
    """Points are compared in one space."""
    with pytest.raises(ShapeError, match="points of width 2 were compared with points of width 3"):
        ask(np.ones((1, 2)), np.ones((1, 3)))


@pytest.mark.parametrize("number", [0.0, -2.0, np.nan])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (Gaussian, "a bandwidth"),
        (Exponential, "a temperature"),
        (sphere_kernel, "a temperature"),
        (Constant, "a constant kernel"),
    ],
)
def test_parameters_are_positive(make, name, number):
    """A parameter that is not positive makes no kernel."""
    with pytest.raises(AssumptionError, match=f"{name} must be positive and finite"):
        make(number)


@pytest.mark.parametrize(("degree", "offset"), [(0, 1.0), (2, -1.0), (2, np.nan)])
def test_polynomials_that_are_no_kernels_are_refused(degree, offset):
    """(aᵀb + c)^degree is positive semi-definite for degree ≥ 1, c ≥ 0."""
    with pytest.raises(AssumptionError, match="is a kernel for degree ≥ 1 and c ≥ 0"):
        Polynomial(degree, offset)
