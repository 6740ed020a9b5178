"""Laws of shortened text: no number is cut, and the width is the terminal's."""

import re
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.show.answer import abbreviate, columns, shorten


@pytest.mark.parametrize(("watched", "width"), [(False, 80), (True, 123)])
def test_a_pipe_is_80_columns_wide(monkeypatch, watched, width):
    """A terminal has its own width."""
    monkeypatch.setenv("COLUMNS", "123")
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: watched))
    assert columns() == width


@given(st.lists(st.integers(0, 10**6), min_size=12, max_size=80), st.sampled_from([", ", " & "]), st.integers(30, 300))
def test_a_list_is_never_cut_inside_a_number(numbers, between, longest):
    """What is left of a long list are whole numbers of its beginning and its end, in as many letters as are allowed."""
    text = between.join(map(str, numbers))
    found = shorten(text, longest)
    if len(text) <= longest:
        assert found == text
        return
    head, tail = ([int(n) for n in re.findall(r"\d+", part)] for part in found.split(" … "))
    assert head == numbers[: len(head)]
    assert tail == numbers[len(numbers) - len(tail) :]
    assert len(found) <= longest + 3


def test_a_long_word_is_cut_where_it_must_be():
    """A table of bits has no blank to be cut at."""
    assert shorten("01" * 20, 10) == "01010 … 10101"


@given(st.lists(st.integers(0, 10**6), min_size=6), st.integers(9, 40))
def test_an_abbreviation_ends_before_a_number_or_after_it(numbers, longest):
    """The ellipsis never follows the beginning of a number."""
    text = " & ".join(f"x{n}" for n in numbers)
    found = abbreviate(text, longest)
    assert len(found) <= longest
    if len(text) > longest:
        kept = [int(n) for n in re.findall(r"\d+", found)]
        assert kept == numbers[: len(kept)]
