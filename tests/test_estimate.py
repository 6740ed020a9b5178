"""Estimates: a value with its interval."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.estimate import Estimate

numbers = st.floats(-1e9, 1e9)


@given(numbers, numbers, numbers)
def test_an_estimate_contains_what_lies_between_its_ends(low, high, number):
    """Both ends are in the interval, and a number is in it exactly if it lies between them."""
    low, high = sorted((low, high))
    estimate = Estimate(0.0, low, high)
    assert estimate.contains(low)
    assert estimate.contains(high)
    assert estimate.contains(number) == (sorted((low, number, high))[1] == number)
    assert estimate.width == high - low


def test_an_open_end_bounds_nothing():
    """An infinite end contains every number on its side."""
    estimate = Estimate(3.0, 2.0, inf)
    assert estimate.contains(1e300)
    assert not estimate.contains(1.9)
    assert estimate.width == inf


@pytest.mark.parametrize(
    ("spec", "text"),
    [("", "12.35 (10.5 to 1.325e+04)"), (".2g", "12 (10 to 1.3e+04)"), (".0%", "1235% (1050% to 1325000%)")],
)
def test_the_text_has_the_value_and_both_ends(spec, text):
    """Four digits unless a format is given, which then holds for all three numbers."""
    estimate = Estimate(12.345678, 10.5, 13250.0)
    assert format(estimate, spec) == text
    assert str(estimate) == format(estimate)


def test_the_record_keeps_its_keys():
    """Value, low and high, as they are."""
    assert Estimate(1.0, 0.5, 2.0).record() == {"value": 1.0, "low": 0.5, "high": 2.0}


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(1.0, 3.0, "2 (1 to 3)"), (1.0, inf, "2 (1 or more)"), (-inf, 3.0, "2 (3 or less)"), (-inf, inf, "2 (no bounds)")],
)
def test_an_open_end_is_said_in_words(low, high, text):
    """An interval is printed with the ends that it has."""
    assert str(Estimate(2.0, low, high)) == text
