"""Which construction a head is, by a rule written before measuring: on heads made by hand."""

from math import log

import numpy as np
import pytest

from keyhole.apps.ledger.training import found_constructions as found
from keyhole.apps.ledger.training.found_constructions import Found
from keyhole.attention import ReadOut, Tabulated, TabulatedHead, Wiring

CONTEXT, PLACES = 20, np.array([2, 7, 11])
INPUTS = np.random.default_rng(0).integers(0, 2, (300, CONTEXT)).astype(np.uint8)


def tables(scores):
    """A model of one head with these scores."""
    head = TabulatedHead(scores, np.zeros((CONTEXT, 2, 1)), np.zeros(()), np.zeros(1))
    return Tabulated(CONTEXT, (head,), np.zeros(1), Wiring(), ReadOut(np.ones(1)))


def scored(zeros, ones):
    """Scores of 0 but at the relevant positions, by the symbol shown there."""
    scores = np.zeros((CONTEXT, 2))
    scores[PLACES] = [zeros, ones]
    return scores


@pytest.mark.parametrize(
    ("zeros", "ones", "kind"),
    [
        (log(10 * CONTEXT), 0.0, "veto"),  # 200 of 220
        (log(CONTEXT + 1), 0.0, "veto"),  # 21 of 41
        (log(CONTEXT - 1), 0.0, "neither"),  # 19 of 39
        (6.0, 6.0, "average"),
        (6.0, 5.5, "average"),
        (6.0, 4.5, "veto"),
        (0.0, 0.0, "neither"),
        (0.0, 8.0, "neither"),  # looks at satisfied literals
    ],
)
def test_constructions_are_told_apart_by_the_rule(zeros, ones, kind):
    """More than half on a violated literal is a veto, equal parts on all three an average, anything else neither."""
    assert found.construction(tables(scored(zeros, ones)), PLACES, INPUTS, (0,))[0] == kind


def test_a_disjunction_vetoes_by_the_other_symbol():
    """The symbol that decides an OR is 1."""
    model = tables(scored(0.0, 8.0))
    assert found.construction(model, PLACES, INPUTS, (1,))[0] == "veto"
    assert found.construction(model, PLACES, INPUTS, (0, 1))[0] == "veto"


def test_attention_is_softmax_with_cls():
    """Weights are exponentials over their sum, in which [CLS] counts."""
    scores = np.random.default_rng(1).normal(size=(CONTEXT, 2))
    weights = found.attention(scores, 0.7, INPUTS[:1])[0]
    mass = np.exp([scores[t, a] for t, a in enumerate(INPUTS[0])])
    assert np.abs(weights - mass / (mass.sum() + np.exp(0.7))).max() < 1e-14


@pytest.mark.parametrize(("vetoes", "verdict"), [(12, "holds"), (6, "undecided at this scale"), (1, "fails here")])
def test_the_share_of_vetoes_is_judged_by_its_interval(vetoes, verdict):
    """Only ANDs of the default settings count."""
    ones = [Found("and:3", "transformer", 25, "veto" if i < vetoes else "average", 0.5) for i in range(12)]
    beside = [Found("or:3", "transformer", 25, "veto", 0.9), Found("and:2", "transformer:bounded", 25, "neither", 0.1)]
    outcome = found.conclude([*ones, *(one for one in beside for _ in range(50))])
    assert outcome.verdict == verdict
    assert outcome.numbers["ANDs that veto, default"] == vetoes / 12
