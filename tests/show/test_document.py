"""Documents rendered as text and as HTML."""

from hypothesis import given
from hypothesis import strategies as st

from keyhole.show.document import Bars, Column, Facts, Gap, Grid, Heading, Lines
from keyhole.show.html import to_html
from keyhole.show.text import _render, _table, to_text

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
    document = (
        Facts([("a", hostile)]),
        Grid([Column(hostile)], [[hostile]]),
        Lines(hostile),
        Gap(),
        Bars(hostile, [], hostile),
    )
    document = (*document, Heading(hostile))
    assert "<script>" not in to_html(document)
    assert to_html(document).count("&lt;script&gt;") == 7
    assert to_text(document, 200).count(hostile) == 7


def test_columns_are_set_to_their_side():
    """A grid sets numbers to the right and words to the left."""
    grid = Grid([Column("T", "right"), Column("law")], [["25", "log"], ["800", "root"]])
    assert to_text((grid,)).splitlines() == ["  T  law", " 25  log", "800  root"]


def test_the_longest_bar_is_the_largest_share():
    """Bars are as long as their shares."""
    text = to_text((Bars("weight", [("1", "0.5", 1.0), ("2", "0.25", 0.5)]),))
    lengths = [line.count("█") for line in text.splitlines()]
    assert lengths == [0, 24, 12]


COLUMN = st.builds(
    Column,
    SENTENCE,
    st.sampled_from(["left", "right"]),
    at_least=st.integers(0, 12),
    gap=st.integers(1, 3),
)


@given(st.data(), st.lists(COLUMN, min_size=1, max_size=4), st.integers(0, 3))
def test_a_grid_that_fits_is_set_as_rich_would_set_it(data, columns, indent):
    """Put together line by line, a grid within the width equals the one that rich makes of it."""
    rows = data.draw(st.lists(st.tuples(*(SENTENCE for _ in columns)), max_size=4))
    grid = Grid(columns, rows, indent)
    assert to_text((grid,), 2000) == _render(_table(grid), 2000, styled=False)


@given(st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=4), st.integers(30, 80))
def test_a_grid_that_does_not_fit_is_folded(rows, width):
    """No line is longer than the width, and no letter is lost."""
    text = to_text((Grid([Column("a"), Column("b", "right")], rows),), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert sorted("".join(text.split())) == sorted("ab" + "".join("".join((a + b).split()) for a, b in rows))


def test_tones_are_colours_on_a_terminal_and_on_a_page_alone():
    """A verdict is coloured where that is asked for; piped text has no codes."""
    grid = Grid([Column("verdict", tones={"holds": "good", "fails": "bad"})], [["holds"], ["fails"], ["other"]])
    assert to_text((grid,)) == "verdict\nholds\nfails\nother"
    styled = to_text((grid, Heading("claims")), styled=True).splitlines()
    assert styled[1:4] == ["\x1b[32mholds\x1b[0m", "\x1b[31mfails\x1b[0m", "other"]
    assert styled[4] == "\x1b[1mclaims\x1b[0m"
    assert to_html((grid,)).count("color:") == 2


def test_the_smallest_share_still_has_a_bar():
    """A share above 0 is drawn with at least one letter, a share of 0 with none."""
    text = to_text((Bars("weight", [("1", "1", 1.0), ("2", "1e-05", 1e-5), ("3", "0", 0.0)], "(of 9)"),))
    assert [line.count("█") for line in text.splitlines()] == [0, 24, 1, 0]
    assert text.splitlines()[0] == "weight (of 9)"


def test_a_hanging_indent_may_be_none():
    """Paragraphs are folded flush where that is asked for."""
    assert to_text((Lines("aa bb cc", hang=0),), 5) == "aa bb\ncc"
