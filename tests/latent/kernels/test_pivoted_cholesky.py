"""Laws of pivoted Cholesky: exact on the rows read, and a positive rest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.errors import AssumptionError
from keyhole.latent.kernels.conditional_mean import factor
from keyhole.latent.kernels.families import Constant, Gaussian, Given, Matern, linear_kernel, sphere_kernel

KERNELS = [sphere_kernel(0.5), Gaussian(0.5), Matern(0.5, 0.5), linear_kernel(), Constant()]
each = pytest.mark.parametrize("kernel", KERNELS, ids=str)
small_keys = arrays(np.float64, (9, 2), elements=st.floats(-2, 2))


@each
@given(keys=small_keys, rank=st.integers(1, 9))
def test_a_partial_factor_leaves_a_positive_rest(kernel, keys, rank):
    """𝔎 − FᵀF is positive semi-definite, its diagonal is `left`, and the rows read are exact."""
    found = factor(kernel, keys, rank=rank, trace=1e-300)
    rest = kernel(keys, keys) - found.rows.T @ found.rows
    scale = max(1.0, float(kernel.diagonal(keys).max()))
    assert np.linalg.eigvalsh(rest).min() >= -1e-12 * scale
    np.testing.assert_allclose(np.diag(rest), found.left, atol=1e-12 * scale)
    np.testing.assert_allclose(rest[found.pivots], 0, atol=1e-7 * scale)  # a pivot of 1e-15 divides rounding of 1e-16


def test_refusals():
    """A factor has a row, and a kernel is not negative on its diagonal."""
    with pytest.raises(AssumptionError, match="at least one row; got a rank of 0"):
        factor(linear_kernel(), np.ones((3, 1)), rank=0, trace=1.0)
    with pytest.raises(AssumptionError, match="never negative on its diagonal"):
        factor(Given(lambda left, right: -np.ones((len(left), len(right)))), np.ones((3, 1)), rank=1, trace=1.0)
