"""Compiled functions as they are printed, from their records alone."""

import json

import pytest

import keyhole
from keyhole.compiler.precision.verdicts import FormatVerdict
from keyhole.show.compiled import compiled_document, verdict_words
from keyhole.show.html import to_html
from keyhole.show.text import to_text


def test_the_answer_in_full():
    """What was made and what was proved, to the letter, from what --json prints."""
    record = json.loads(keyhole.compile("x3 & x17", 64).to_json())
    lines = to_text(compiled_document(record)).splitlines()
    assert lines[0] == "function            x3 & x17"
    assert lines[1] == "context             T = 64"
    assert "size                1 head, 2 hidden units, embedding dimension 129" in lines
    assert "certificate         PROVED: right on all 2^64 inputs, with margin 0.999999999" in lines
    assert any(line.startswith("path norm P_∞       6              theorem: exactly 6") for line in lines), lines
    assert to_html(compiled_document({**record, "why": "<b>"})).count("&lt;b&gt;") == 1


@pytest.mark.parametrize(
    "verdict",
    [
        FormatVerdict("float16", "float32", "proved", 0.33749, 0.9999999999999891, 0, None, None),
        FormatVerdict("float16", "float32", "proved", 0.99941, 0.99949, 0, None, None),
        FormatVerdict("float16", "float16", "refuted", 2.0, 1.0, 40, 1.5, "x3 = 1, all others 0"),
        FormatVerdict("float16", "float16", "tried", float("inf"), 1.0, 0, None, None),
        FormatVerdict("float16", "float16", "tried", 2.0, 1.0, 40, 0.1234, None),
    ],
)
def test_verdicts_on_formats_are_the_compilers(verdict):
    """The words from a record are those of the verdict itself."""
    assert verdict_words(vars(verdict)) == str(verdict)
