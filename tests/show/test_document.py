"""Documents rendered as text and as HTML."""

from hypothesis import given
from hypothesis import strategies as st

from keyhole.show.document import Bars, Column, Facts, Gap, Grid, Lines
from keyhole.show.html import to_html
from keyhole.show.text import to_text

WORDS = st.lists(st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=12), min_size=1)
SENTENCE = WORDS.map(" ".join)


@given(st.lists(st.tuples(st.sampled_from(["sparsity", "margin"]), SENTENCE), min_size=1), st.integers(40, 120))
def test_facts_fit_the_width_and_lose_no_letter(rows, width):
    """No line is longer than the width, none ends in a blank, and every letter of every fact is there in order."""
    text = to_text((Facts(rows),), width)
    assert all(len(line) <= width and line == line.rstrip() for line in text.splitlines())
    assert "".join(text.split()) == "".join("".join((name + value).split()) for name, value in rows)


@given(SENTENCE, st.integers(30, 120))
def test_lines_fit_the_width(text, width):
    """Folded paragraphs stay within the width and keep their words."""
    shown = to_text((Lines(text),), width)
    assert all(len(line) <= width for line in shown.splitlines())
    assert shown.split() == text.split()


def test_no_text_is_read_as_markup():
    """Names, entries and sentences with angle brackets or rich markup come out as they are."""
    hostile = "<script>alert(1)</script> [bold]x[/bold]"
    document = (Facts([("a", hostile)]), Grid([Column(hostile)], [[hostile]]), Lines(hostile), Gap(), Bars(hostile, []))
    assert "<script>" not in to_html(document)
    assert to_html(document).count("&lt;script&gt;") == 5
    assert to_text(document, 200).count(hostile) == 5


def test_columns_are_set_to_their_side():
    """A grid sets numbers to the right and words to the left."""
    grid = Grid([Column("T", "right"), Column("law")], [["25", "log"], ["800", "root"]])
    assert to_text((grid,)).splitlines() == ["  T  law", " 25  log", "800  root"]


def test_the_longest_bar_is_the_largest_share():
    """Bars are as long as their shares."""
    text = to_text((Bars("weight", [("1", "0.5", 1.0), ("2", "0.25", 0.5)]),))
    lengths = [line.count("█") for line in text.splitlines()]
    assert lengths == [0, 24, 12]
