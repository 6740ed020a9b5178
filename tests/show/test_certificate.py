"""Certificates as they are printed, from their records alone."""

import json

import numpy as np
import pytest

from keyhole.api.prove import Effort, prove
from keyhole.boolean.symbols import LARGEST_ALPHABET
from keyhole.show.certificate import DRAWN, SIGNS, certificate_document, draw_counterexample
from keyhole.show.html import to_html
from keyhole.show.text import to_text

from helpers.planted import junta_of, leaky, planted

AND = junta_of("x3 & x7 & x11")


@pytest.fixture(scope="module")
def record():
    """The record of a proved model with its training set, as JSON gives it back."""
    inputs = np.random.default_rng(0).integers(0, 2, (200, 40))
    return json.loads(prove(planted(AND, 40, noise=0.05), (inputs, AND(inputs)), assume_junta=3).to_json())


def test_the_certificate_in_full(record):
    """Names in one column and sentences in the other, to the letter."""
    shown = to_text(certificate_document({**record, "margin": 0.98765, "seconds": 1.25, "rule": "a rule"}))
    assert shown.splitlines()[:12] == [
        "function      x3 & x7 & x11",
        "              found in the weights; reads 3 of 40 positions; agrees with the",
        "              model on 100.00 % of 8,192 random inputs",
        "status        PROVED equal to x3 & x7 & x11 on all 2^40 inputs, margin 0.987",
        "              (a rule; whether the function is the intended one is not asked",
        "              here)",
        "sample        200 labelled inputs: the function errs on 0, the model on 0",
        "error bound   at most 0.1058 (promised for the model; fails with probability at",
        "              most δ)",
        "trivial       0.125: the error of a constant answer, if the function is the",
        "              target",
        "held out      0.04501 would be the bound if half of the sample (100 inputs) had",
    ]
    assert shown.splitlines()[-1] == "time          1.2 s"


@pytest.mark.parametrize("width", [60, 80, 132])
def test_lines_fit_every_width(record, width):
    """One column stays free, none ends in a blank, and no word is lost."""
    shown = to_text(certificate_document(record), width)
    assert all(len(line) < width and line == line.rstrip() for line in shown.splitlines())
    assert shown.split() == to_text(certificate_document(record), 1000).split()


def test_rows_that_repeat_are_counted_in_words(record):
    """Distinct rows, rows written several times, and the worse count of all, each say how they were counted."""
    refuted = {**record, "rows": 600, "rows_distinct": 200, "rows_refuted": True}
    said = {
        "200 distinct of 600 labelled inputs: the function errs on 0": refuted,
        "200 first of 600 labelled inputs: the function errs on 0": {**refuted, "rows_written": 3},
        "600 labelled inputs, 200 distinct: the function errs on 0 of all": {**refuted, "samples": 600},
    }
    for words, counted in said.items():
        assert words in " ".join(to_text(certificate_document(counted)).split())


def test_inputs_are_drawn_with_a_sign_per_symbol():
    """Over 64 symbols marks stand below their positions, and signs are explained; no marks, no empty line."""
    given = {"counterexample": [0, 40, 3, 63], "positions": [1, 3], "symbols": 64}
    assert draw_counterexample(given) == [
        "input: x1 = 40, x3 = 63",
        "0e3/",
        " ^ ^",
        "(0-9, A-Z, a-z, +, / for the symbols from 0 on)",
    ]
    assert len(set(SIGNS)) == len(SIGNS) == LARGEST_ALPHABET
    given = {"counterexample": [0, 1, 1], "positions": [], "symbols": 2}
    assert draw_counterexample(given) == ["input: no position matters", "011"]
    given = {"counterexample": [0, 10, 1], "positions": [1], "symbols": 11}
    assert draw_counterexample(given)[-1].startswith("(0-9, A for")


def test_the_others_of_a_long_input_are_counted():
    """Beyond what a line holds, symbols are counted, the smallest first."""
    given = {"counterexample": [1, *[2, 0] * DRAWN], "positions": [0], "symbols": 3}
    assert (
        draw_counterexample(given)[1]
        == f"the {2 * DRAWN} others: 60 of symbol 0, 60 of symbol 2 (the record has them all)"
    )


@pytest.mark.slow
def test_marks_stand_below_their_positions():
    """A counterexample in the certificate: both rows begin in the same column."""
    shown = str(prove(leaky(junta_of("x3 & x7"), 40), effort=Effort(samples=10_000))).splitlines()
    (marks,) = [line for line in shown if set(line) == {" ", "^"}]
    row = shown[shown.index(marks) - 1]
    begins = len(row) - len(row.lstrip())
    assert [place - begins for place, letter in enumerate(marks) if letter == "^"] == [3, 7]


def test_no_name_is_read_as_markup(record):
    """A function or an assumption with angle brackets comes out as text."""
    hostile = "<script>alert(1)</script>"
    page = to_html(certificate_document({**record, "function": hostile, "assumptions": [hostile], "doubt": hostile}))
    assert page.startswith("<table>")
    assert "<script>" not in page
    assert page.count("&lt;script&gt;") == 3


def test_delta_is_said_only_where_it_is_spent():
    """Without a sample nothing is promised with probability 1 − δ, and no line speaks of δ."""
    alone = str(prove(planted(AND, 40, noise=0.05)))
    assert "δ" not in alone
    assert "give the data that the model was trained on" in " ".join(alone.split())
