"""Lists as people type them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.cli.arguments import count, counts
from keyhole.errors import ArgumentError


@given(st.lists(st.integers(1, 10**12), min_size=1))
def test_commas_give_back_what_was_typed(sizes):
    """A list between commas is that list, what is named twice taken once."""
    assert counts(",".join(map(str, sizes))) == list(dict.fromkeys(sizes))


@given(st.integers(1, 10**6), st.integers(0, 10**9))
def test_dots_double_and_end_where_asked(first, more):
    """The range starts and ends there; each size is twice the one before, the last at most that."""
    sizes = counts(f"{first}..{first + more}")
    assert (sizes[0], sizes[-1]) == (first, first + more)
    assert all(b == 2 * a for a, b in pairwise(sizes[:-1]))
    assert len(sizes) == 1 or sizes[-2] < sizes[-1] <= 2 * sizes[-2]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("25..800", [25, 50, 100, 200, 400, 800]),
        ("1e2..1e3", [100, 200, 400, 800, 1000]),
        ("1,2..4, 9", [1, 2, 4, 9]),
    ],
)
def test_examples(text, sizes):
    """As in the help."""
    assert counts(text) == sizes


def test_large_numbers_keep_their_digits():
    """Digits are read as digits, not as floats."""
    assert count("12345678901234567891") == 12345678901234567891
    assert count("1_000") == 1000


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not a whole number"),
        ("1.5", "not a whole number"),
        ("inf", "not a whole number"),
        ("1..", "not a whole number"),
        ("0,1", "below 1"),
        ("8..4", "runs backwards"),
        ("0..4", "starts below 1"),
    ],
)
def test_refusals(text, sentence):
    """One sentence each."""
    with pytest.raises(ArgumentError, match=sentence):
        counts(text)
