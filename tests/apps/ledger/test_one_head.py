"""What one head sees of uniform bits: measured by its definition, never above the bounds, whatever the head."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.apps.ledger.representation.one_head import (
    OneHead,
    conjunction_head,
    degree_bound,
    influence,
    influence_bound,
    listed,
    parity_bound,
    parity_correlation,
    spectrum,
    weight_above,
)

INPUTS = ((np.arange(16)[:, None] >> np.arange(4)) & 1).astype(bool)


def test_spectrum_by_its_definition():
    """Each coefficient is the mean of the function times the parity of its set; squares add up."""
    outputs = np.random.default_rng(0).normal(size=16)
    found = spectrum(outputs)
    for size in range(5):
        for chosen in combinations(range(4), size):
            sign = (-1.0) ** INPUTS[:, list(chosen)].sum(axis=1)
            assert found[sum(1 << t for t in chosen)] == pytest.approx((outputs * sign).mean(), abs=1e-14)
    assert weight_above(outputs, -1) == pytest.approx((outputs**2).mean())
    assert weight_above(outputs, 3) == pytest.approx(found[15] ** 2)


def test_heads_that_are_built():
    """A conjunction head is the conjunction in signs; a list reads its items in order."""
    both = np.where(INPUTS[:, 0] & INPUTS[:, 1], 1.0, -1.0)
    assert conjunction_head(2, 4).outputs() == pytest.approx(both, abs=1e-12)
    expected = np.where(INPUTS[:, 0], 1.0, np.where(INPUTS[:, 1], -1.0, 0.5))
    assert listed([1.0, -1.0], 0.5, 4).outputs() == pytest.approx(expected, abs=1e-12)
    assert influence(both) == pytest.approx(2 * 2 * 0.5)  # two bits, each turns it by 2 on half of the inputs


@given(st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 6.0, 40.0]))
def test_no_head_exceeds_a_bound(tokens, seed, size):
    """Degree, influence and parity of random heads of any sharpness stay within their bounds."""
    rng = np.random.default_rng(seed)
    values = np.sign(rng.normal(size=(tokens, 2)))
    outputs = OneHead(size * rng.normal(size=(tokens, 2)), values, (size * float(rng.normal()), 1.0)).outputs()
    assert influence(outputs) <= influence_bound() + 1e-9
    for count in range(tokens + 1):
        assert weight_above(outputs, count) <= degree_bound(count) + 1e-9
        if count:
            assert parity_correlation(outputs, count) <= parity_bound(count) + 1e-9


def test_attained():
    """Nine alternating items come within 0.1 % of 8/3, and a conjunction of s bits within 10⁻⁹ of 2^−(s−1)."""
    alternating = listed([(-1.0) ** i for i in range(9)], -1.0, 9)
    assert influence(alternating.outputs()) > 0.999 * influence_bound()
    for bits in range(1, 7):
        assert parity_correlation(conjunction_head(bits, 7).outputs(), bits) == pytest.approx(
            parity_bound(bits), rel=1e-9
        )
