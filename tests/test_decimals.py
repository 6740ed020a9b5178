"""A printed bound, read back exactly, is never on the wrong side of the number it stands for."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from keyhole.decimals import at_least, at_most, chance, surely

from helpers.extreme_numbers import extremes

numbers = extremes | st.floats(-1e6, 1e6) | st.sampled_from([0.1, 0.3, 1 - 2.0**-53, 9.995, 999.5, 1e22])


@given(numbers, st.integers(1, 17))
def test_digits_are_rounded_outwards(value, digits):
    """The decimal from `at_most` is no smaller, that from `at_least` no larger, and both are within a last digit."""
    low, high = Fraction(at_least(value, digits)), Fraction(at_most(value, digits))
    assert low <= Fraction(value) <= high
    assert high - low <= abs(Fraction(value)) * Fraction(10) ** (1 - digits) * 2


@given(numbers, st.integers(0, 6))
def test_places_are_rounded_outwards(value, places):
    """The same for a number of decimal places, all of which are written."""
    low, high = at_least(value, places=places), at_most(value, places=places)
    assert Fraction(low) <= Fraction(value) <= Fraction(high)
    assert Fraction(high) - Fraction(low) <= Fraction(1, 10**places)
    assert len(low.partition(".")[2]) == len(high.partition(".")[2]) == places


@given(st.floats(1e-4, 1e4), st.integers(3, 9))
def test_few_digits_are_written_as_usual(value, digits):
    """A number that has no more digits than are asked for is written as Python's own format writes it."""
    short = float(f"{value:.{digits}g}")
    written = {at_most(short, digits), at_least(short, digits)}
    assert f"{short:.{digits}g}" in written


@given(st.floats(5e-324, 1, exclude_max=True), st.integers(1, 4))
def test_chances(delta, times):
    """A chance of failure is printed no smaller than it was asked for, and 1 − δ no larger, never as 1."""
    asked = Fraction(repr(delta))
    slack = 1 - Fraction(1, 10**11)
    assert Fraction(chance(delta, times)) >= times * asked * slack
    shown = surely(delta)
    assert shown != "1"
    least = 1 - Fraction(shown.removeprefix("1 − ")) if shown.startswith("1 − ") else Fraction(shown)
    assert least <= 1 - asked * slack


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_quotients_of_counts(count, of):
    """k/n is printed as the decimal it is, rounded up where it has more digits: 3/1000 as 0.003."""
    exact = Fraction(min(count, of), max(count, of))
    shown = Fraction(chance(float(exact), digits=4))
    assert exact * (1 - Fraction(1, 10**11)) <= shown <= exact * (1 + Fraction(1, 1000))
    if Fraction(f"{float(exact):.4g}") == exact:
        assert shown == exact


def test_what_is_not_finite():
    """Infinity and what is no number have signs of their own."""
    assert [at_most(value) for value in (float("inf"), float("-inf"), float("nan"))] == ["∞", "-∞", "no number"]
