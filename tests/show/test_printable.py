"""Words of others, shown: what would steer a terminal is printed as codes."""

import pytest

from keyhole.errors import printable
from keyhole.show.document import Bars, Column, Facts, Grid, Heading, Lines, Paragraphs
from keyhole.show.text import to_text

EVIL = "\x1b[2Jred\x1b]0;title\x07\u202e"
STEERING = ("\x1b[2J", "\x1b]", "\x07", "\u202e")


@pytest.mark.parametrize("styled", [False, True])
@pytest.mark.parametrize(
    "element",
    [
        Facts([("name", EVIL)]),
        Facts([(EVIL, "value")]),
        Grid([Column("name")], [[EVIL]]),
        Grid([Column("name")], [[EVIL + "x" * 90]]),
        Bars(EVIL, [(EVIL, "1", 1.0)], EVIL),
        Lines(EVIL),
        Paragraphs([(EVIL, [EVIL])]),
        Heading(EVIL),
    ],
    ids=lambda element: type(element).__name__,
)
def test_words_of_others_steer_no_terminal(element, styled):
    """A name with an escape, a bell, a window title or a turn of direction, in every element, with colours too."""
    shown = to_text((element,), styled=styled)
    assert not [part for part in STEERING if part in shown]
    assert r"\x1b]0;title\x07\u202e" in shown


def test_other_letters_stay():
    """Letters of every script, newlines and tabs are no trouble."""
    text = "naïve 数学 α\n\tβ ≤ 2¹⁰ 🙂"
    assert printable(text) == text
