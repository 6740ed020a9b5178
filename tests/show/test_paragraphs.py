"""Names and paragraphs, rendered as text and as HTML."""

from hypothesis import given
from hypothesis import strategies as st

from keyhole.show.document import Paragraphs
from keyhole.show.html import to_html
from keyhole.show.text import to_text

WORD = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=12)
SENTENCE = st.lists(WORD, min_size=1).map(" ".join)
TOLD = st.lists(st.tuples(st.sampled_from(["status", "δ", ""]), st.lists(SENTENCE, min_size=1)), min_size=1)


@given(TOLD, st.integers(40, 120))
def test_paragraphs_leave_the_last_column_free_and_lose_no_letter(rows, width):
    """Each paragraph begins on a line of its own, beside its name or below the one before, and keeps its words."""
    text = to_text((Paragraphs(rows, at_least=12),), width)
    assert all(len(line) < width and line == line.rstrip() for line in text.splitlines())
    assert text.split() == [word for name, told in rows for part in (name, *told) for word in part.split()]
    assert all(line[12:14] in {"", "  "} for line in text.splitlines())


def test_paragraphs_are_escaped_rows_of_a_table():
    """Names in one column, paragraphs with breaks between them in the other."""
    page = to_html((Paragraphs([("a<b", ["x & y", "z"])]),))
    assert page.startswith("<table><tr><th")
    assert "a&lt;b</th>" in page
    assert "x &amp; y<br>z</td>" in page
