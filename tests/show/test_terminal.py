"""An answer keeps its words as text and as HTML, within the width; words of others steer no terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import printable
from keyhole.show.answer import Show, to_text
from keyhole.show.html import to_html

EVIL = "\x1b[2Jred\x1b]0;title\x07\u202e"
WORD = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=12)
SENTENCE = st.lists(WORD, min_size=1).map(" ".join)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def shown(sentences, rows, bars):
    """An answer with lines, a table and bars."""
    show = Show()
    for sentence in sentences:
        show.line(sentence)
    show.table({"first": "<", "second": ">"}, rows)
    show.bars(bars)
    return show


@given(
    st.lists(SENTENCE),
    st.lists(st.tuples(WORD, SENTENCE)),
    st.lists(st.tuples(WORD, WORD, st.floats(0, 1))),
    st.integers(40, 120),
)
def test_every_word_is_printed_within_the_width(sentences, rows, bars, width):
    """Lines and tables are folded at blanks and lose no word; colour changes no letter; HTML has the same words."""
    show = shown(sentences, rows, bars)
    text = to_text(show, width)
    assert all(len(line) <= width and line == line.rstrip() for line in text.splitlines()[: len(text) - len(bars)])
    words = sorted(" ".join([*sentences, "first second", *(" ".join(row) for row in rows)]).split())
    printed = text.splitlines()[: len(text.splitlines()) - len(bars)]
    assert sorted(" ".join(printed).split()) == words
    assert COLOUR.sub("", to_text(show, width, styled=True)) == text
    page = re.sub(r"<[^>]+>", " ", to_html(show)).split()
    assert set(words) <= set(page)


@pytest.mark.parametrize("styled", [False, True])
def test_words_of_others_steer_no_terminal(styled):
    """A name with an escape, a bell, a window title or a turn of direction is printed as codes."""
    text = to_text(shown([EVIL], [(EVIL, EVIL)], [(EVIL, EVIL, 1.0)]), styled=styled)
    assert not [part for part in ("\x1b[2J", "\x1b]", "\x07", "\u202e") if part in text]
    assert r"\x1b]0;title\x07\u202e" in text
    assert "<script>" not in to_html(shown(["<script>"], [], []))


def test_other_letters_stay():
    """Letters of every script, newlines and tabs are no trouble."""
    text = "naïve 数学 α\n\tβ ≤ 2¹⁰ 🙂"
    assert printable(text) == text


@pytest.mark.parametrize("word", ["PROVED", "VACUOUS", "WRONG INPUT"])
def test_a_judgement_is_coloured(word):
    """The word that judges has a tone, in a line and in a table; other words have none."""
    show = Show()
    show.line(f"{word} on all inputs")
    show.line("nothing")
    first, second = to_text(show, styled=True).splitlines()
    assert first != COLOUR.sub("", first)
    assert second == "nothing"
