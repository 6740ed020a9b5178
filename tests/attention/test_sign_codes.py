"""Random sign codes: packed bits and numbers are the same codes, and products are counts of differing bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.attention.positions import SignCodes


@given(st.integers(1, 300), st.integers(0, 2**64), st.integers(0, 30), st.integers(1, 10))
def test_products_are_products(width, seed, start, rows):
    """⟨p_t, p_i⟩ from XOR and popcount equals the product of the rows, to a rounding of d terms."""
    codes = SignCodes(40, width, seed)
    numbers = codes.rows(0, 40, np.zeros(()))
    found = codes.products(start, min(40, start + rows), (3, 17, 39))
    # d products of ±1/d, and one division: (d + 2) u at most
    assert np.abs(found - numbers[start : start + rows] @ numbers[[3, 17, 39]].T).max() <= (width + 2) * 2.0**-52


@given(st.integers(1, 200), st.integers(0, 1000))
def test_words_hold_the_signs(width, seed):
    """Bit j of a row's words is 1 exactly where coordinate j is negative; spare bits are 0."""
    codes = SignCodes(9, width, seed)
    words, numbers = codes.words(2, 9), codes.rows(2, 9, np.zeros(()))
    bits = np.array([[int(word) >> i & 1 for word in row for i in range(64)] for row in words])
    assert np.array_equal(bits[:, :width], (numbers < 0).astype(int))
    assert not bits[:, width:].any()
    assert np.allclose(np.linalg.norm(numbers, axis=1), 1.0)


@pytest.mark.parametrize("width", [1, 63, 64, 65, 256, 257])
def test_a_row_is_the_same_in_every_block(width):
    """Any block of rows holds the same rows."""
    codes = SignCodes(50, width, 7)
    whole = codes.words(0, 50)
    for start in (0, 1, 17, 49):
        assert np.array_equal(codes.words(start, 50), whole[start:])
