"""Laws of Matérn's kernels and of kernels given as functions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.errors import AssumptionError, ShapeError
from keyhole.latent.kernels.families import Gaussian, Given, Matern

points = arrays(np.float64, (5, 2), elements=st.floats(-3, 3))
smoothness = pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])


@smoothness
@given(points=points, bandwidth=st.floats(0.1, 10))
def test_matern_agrees_with_scikit_learn(nu, points, bandwidth):
    """The same closed forms, to rounding."""
    from sklearn.gaussian_process.kernels import Matern as Theirs

    theirs = Theirs(length_scale=bandwidth, nu=nu)(points)
    np.testing.assert_allclose(Matern(bandwidth, nu)(points, points), theirs, rtol=1e-9, atol=1e-12)


@smoothness
@given(points=points, bandwidth=st.floats(0.1, 10))
def test_matern_is_positive_semi_definite_with_unit_diagonal(nu, points, bandwidth):
    """A Gram matrix has no eigenvalue below rounding, and ones on its diagonal."""
    gram = Matern(bandwidth, nu)(points, points)
    assert np.linalg.eigvalsh(gram).min() >= -1e-12
    np.testing.assert_array_equal(np.diag(gram), Matern(bandwidth, nu).diagonal(points))


@pytest.mark.parametrize("nu", [1.0, 0.0, float("nan")])
def test_matern_refuses_other_smoothness(nu):
    """Only the three closed forms are offered."""
    with pytest.raises(AssumptionError, match=r"smoothness 0\.5, 1\.5 or 2\.5"):
        Matern(1.0, nu)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), float("inf")])
def test_matern_refuses_what_is_no_bandwidth(bandwidth):
    """A bandwidth is positive and finite."""
    with pytest.raises(AssumptionError, match="a bandwidth must be positive"):
        Matern(bandwidth)


@given(points=arrays(np.float64, (70, 2), elements=st.floats(-3, 3)))
def test_a_given_function_is_the_kernel_it_computes(points):
    """Its matrix, its diagonal (over more points than one block) and its logarithm are those of the same kernel."""
    known = Gaussian(1.3)
    given_one = Given(known, positive=True)
    np.testing.assert_array_equal(given_one(points[:3], points), known(points[:3], points))
    np.testing.assert_allclose(given_one.diagonal(points), known.diagonal(points), rtol=0, atol=0)
    np.testing.assert_allclose(
        given_one.logarithm(points[:3], points[:3]), known.logarithm(points[:3], points[:3]), atol=1e-12
    )


def test_a_given_function_of_the_wrong_shape_is_refused():
    """A kernel of m and n points is m × n."""
    with pytest.raises(ShapeError, match=r"matrix of shape \(2, 3\)"):
        Given(lambda left, _right: left)(np.ones((2, 2)), np.ones((3, 2)))
