"""The figure has the model's own numbers."""

import pytest

from keyhole.boolean.families import read_function
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.export.attention_figure import BARS, attention_figure
from keyhole.show.chart import to_spec

from helpers.compiled_plans import CONTEXT, FORMULAS, all_plans


@pytest.mark.parametrize("formula", FORMULAS)
def test_attention_adds_to_one_for_each_head(formula):
    """Every token is shown, alone or among the others."""
    for context in (CONTEXT, 3 * BARS):
        for plan in all_plans(formula, context):
            rows = attention_figure(plan).rows
            drawn = {row["shown"] for row in rows}
            assert len(drawn) == len(plan.heads) * (1 + any(head.reads_symbols for head in plan.heads))
            for shown in drawn:
                assert sum(row["attention"] for row in rows if row["shown"] == shown) == pytest.approx(1, abs=1e-12)


def test_attention_is_what_construction_a_states():
    """(1 − γ)/s on each relevant position."""
    plan = pair_plans(read_function("x3 & x9"), 50, 0.3, "signs")[0]
    shown = {row["token"]: row["attention"] for row in attention_figure(plan).rows}
    assert shown["x3"] == pytest.approx(0.35)
    assert shown["x9"] == pytest.approx(0.35)
    assert shown["48 others"] == pytest.approx(0.3 * 48 / 49)


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["x1 & ~x4 | x2", "maj(x1, x2, x5)"])
def test_every_picture_can_be_drawn(formula):
    """Each figure is a specification that Altair accepts, within its number of bars."""
    for plan in all_plans(formula, 2 * BARS):
        figure = attention_figure(plan)
        assert to_spec(figure)
        assert len({row[figure.x.column] for row in figure.rows}) <= BARS + 2
