"""Derivations from their records: trees of text, HTML and LaTeX."""

import html.parser
import json
from dataclasses import replace

import pytest

from keyhole.bounds import ROUTES, TABULATED, guarantee, pair_construction
from keyhole.decimals import brief
from keyhole.show import derivation_html, derivation_latex, derivation_text


class Balanced(html.parser.HTMLParser):
    """Checks that every tag is closed in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        """Remember what was opened."""
        assert attrs is not None
        self.open.append(tag)

    def handle_endtag(self, tag):
        """Close the last opened."""
        assert self.open.pop() == tag


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
def test_renderings(route):
    """Text, HTML and LaTeX name every lemma; HTML is balanced; LaTeX environments are paired."""
    shown = guarantee(route, replace(pair_construction("and", 100, 3), least_probability=0.5), 1e5)
    record = json.loads(json.dumps(shown.record()))
    tree, page, paper = derivation_text(record), derivation_html(record), derivation_latex(record)
    for _, _, step in shown.derivation.walk():
        assert step.lemma.name in tree
        assert step.lemma.name in page
        assert step.lemma.name in paper
    for condition in shown.valid_if:
        assert condition in tree
    assert "derived here, with proof" in tree
    parser = Balanced()
    parser.feed(page)
    assert not parser.open
    assert paper.count(r"\begin{itemize}") == paper.count(r"\end{itemize}") >= 2
    assert ("VACUOUS" in str(shown)) == shown.vacuous == ("vacuous: the loss" in tree)


def test_the_tree_in_full():
    """One guarantee as it is printed."""
    shown = derivation_text(guarantee(TABULATED, pair_construction("and", 100, 3), 1e5).record())
    assert shown.splitlines()[:6] == [
        "gap ≤ 0.0876 with probability ≥ 0.99 at m = 100,000 (Theorem T: one layer with a fixed query)",
        "",
        "100 %  gap = 0.08758   Rule 3   [m = 100,000, δ = 0.01, L = 1, c = 1]",
        "├─  94 %  complexity R_m = 0.04121   Theorem T   [P_∞ = 4, L_σ = 1, sign factor = 1]",
        ("│  ├─  94 %  one-position functions r_m = 0.0103   Massart over one-position functions   [T = 100, A = 2]"),
        "│  └─   0 %  price of content Φ = 1   Theorem T, content-dependent scores   [R = 0]",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(float("inf"), "∞"), (float("nan"), "no number"), (0.0, "0"), (1234567.5, "1.23e6"), (0.25, "0.25")],
)
def test_numbers_for_people(value, shown):
    """Three or four digits, and words for what is no number."""
    assert brief(value) == shown


def test_no_name_is_read_as_markup():
    """Names, lemmas and conditions with angle brackets and quotes come out as text, in a title too."""
    hostile = '<script>alert("no")</script>'
    step = {"name": hostile, "value": None, "value_reason": "not finite", "share": 1.0, "lemma": hostile,
            "formula": hostile,
            "source": hostile, "inputs": [{"name": hostile, "value": 2.0}], "parts": []}  # fmt: skip
    record = {"sentence": hostile, "derivation": {**step, "parts": [step]}, "valid_if": [hostile], "note": hostile}
    page = derivation_html(record)
    assert "<script" not in page
    assert '"no"' not in page
    assert page.count("&lt;script&gt;") == 2 * 5 + 3
    assert page.count("<b>∞</b>") == 2
