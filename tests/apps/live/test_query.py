"""What a browser asks is read word by word; a value out of range is a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.apps.live.query import Query
from keyhole.errors import ArgumentError


@given(st.text(max_size=60))
def test_a_number_is_in_range_or_refused(text):
    """Whatever is typed, a number comes back within its ends, or a sentence."""
    try:
        number = Query({"m": text}).number("m", 1, 100, 7)
    except ArgumentError:
        return
    assert 1 <= number <= 100


@given(st.text(max_size=60))
def test_places_are_whole_numbers_or_refused(text):
    """Whatever is typed, places are whole numbers from 0 on, or a sentence."""
    try:
        places = Query({"ones": text}).places("ones", 5)
    except ArgumentError:
        return
    assert len(places) <= 5
    assert all(isinstance(place, int) and place >= 0 for place in places)


@pytest.mark.parametrize("given", ["1.5", "1e400", "nan", "inf", "-1", "0x10", "1" * 50])
def test_no_whole_number(given):
    """What is no whole number in range is refused."""
    with pytest.raises(ArgumentError):
        Query({"T": given}).whole("T", 1, 100, 7)


@given(st.text(alphabet="0123456789.,- x", max_size=30))
def test_lengths_are_in_range_or_refused(text):
    """Whatever is typed, lengths come back in order, each once, within their limits, or a sentence."""
    try:
        lengths = Query({"lengths": text}).lengths("lengths", 20, 300)
    except ArgumentError:
        return
    assert lengths == sorted(set(lengths))
    assert len(lengths) <= 20
    assert all(1 <= length <= 300 for length in lengths)


def test_lengths_are_lists_and_ranges():
    """Numbers between commas and ranges with both ends; nothing gives none."""
    assert Query({"lengths": "3..5, 9,4"}).lengths("lengths", 20, 300) == [3, 4, 5, 9]
    assert Query({}).lengths("lengths", 20, 300) == []
    for bad in ("0", "5..3", "1..301", "1..21", "a", "1,,2", "1...3"):
        with pytest.raises(ArgumentError):
            Query({"lengths": bad}).lengths("lengths", 20, 300)


def test_long_text_is_refused():
    """A text beyond its limit is refused, and steering characters are shown as codes."""
    with pytest.raises(ArgumentError, match="at most 3"):
        Query({"f": "abcd"}).text("f", 3)
    assert Query({"f": "\x1b"}).text("f", 9) == "\\x1b"
