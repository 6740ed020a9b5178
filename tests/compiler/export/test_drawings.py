"""Pictures hold the model's own numbers."""

import numpy as np
import pytest

from keyhole.boolean.families import read_function
from keyhole.compiler.constructions.additive import additive_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.distractors import Distractor, add_distractor
from keyhole.compiler.export.drawings import (
    BARS,
    attention_figure,
    pictures,
    query_figure,
    response_figure,
    value_figure,
)
from keyhole.show.chart import to_spec

from helpers.compiled_plans import CONTEXT, FORMULAS, all_plans, targets

NAMES = ("all 0", "all 1")


@pytest.mark.parametrize("formula", FORMULAS)
def test_attention_adds_to_one_for_each_head(formula):
    """Every token is shown, alone or among the others."""
    for context in (CONTEXT, 3 * BARS):
        for plan in all_plans(formula, context):
            rows = attention_figure(plan).rows
            by = "input" if "input" in rows[0] else "head"
            drawn = {row[by] for row in rows}
            assert len(drawn) == (2 if by == "input" else len(plan.heads))
            for shown in drawn:
                assert sum(row["value"] for row in rows if row[by] == shown) == pytest.approx(1, abs=1e-12)


def test_attention_is_what_construction_a_states():
    """(1 − γ)/s on each relevant position."""
    plan = pair_plans(read_function("x3 & x9"), 50, 0.3, "signs")[0]
    shown = {row["name"]: row["value"] for row in attention_figure(plan).rows}
    assert shown["x3"] == pytest.approx(0.35)
    assert shown["x9"] == pytest.approx(0.35)
    assert shown["48 others"] == pytest.approx(0.3 * 48 / 49)


@pytest.mark.parametrize("formula", FORMULAS)
def test_response_passes_through_the_function(formula):
    """At whole numbers of bits turned on, with the others 0 or 1, the line is at the function's value."""
    for plan in all_plans(formula):
        for row in response_figure(plan).rows:
            if row["on"] == int(row["on"]):
                others = [0, 1] if row["others"] == "0 or 1" else [int(row["others"][-1])]
                for other in others:
                    bits = np.full((1, CONTEXT), other)
                    bits[0, list(plan.function.positions)] = np.arange(plan.function.sparsity) < row["on"]
                    assert row["output"] == pytest.approx(targets(plan, bits)[0], abs=1e-9)


def test_response_bends_where_a_ramp_does():
    """Majority of 3 by B1 with ρ = 0.3: a ramp from 1.3 to 2 with the other bits 0, from 1 to 1.7 with them 1."""
    rows = response_figure(additive_plan(read_function("maj(x1, x2, x5)"), CONTEXT, 0.3, "signs")).rows
    points = {name: {round(row["on"], 9): row["output"] for row in rows if row["others"] == name} for name in NAMES}
    assert points["all 0"][1.3] == pytest.approx(-1, abs=1e-9)
    assert points["all 1"][1.7] == pytest.approx(1, abs=1e-9)


def test_query_and_values_are_the_plans():
    """Q is β on both symbols of each relevant position; W_V is the pattern's column and the constant's."""
    plan = pair_plans(read_function("x1 & ~x4"), CONTEXT, 0.5, "signs")[0]
    assert {row["name"]: row["value"] for row in query_figure(plan).rows} == pytest.approx(
        dict.fromkeys(("x1=0", "x1=1", "x4=0", "x4=1"), plan.parameters["beta"])
    )
    entries = {(row["unit"], row["direction"]): row["value"] for row in value_figure(plan).rows}
    assert [entries["pattern", name] for name in ("x1=0", "x1=1", "x4=0", "x4=1")] == [-0.5, 0.5, 0.5, -0.5]


def test_values_leave_distractors_out():
    """A distractor's unit is read by nothing, and is not shown."""
    plan = add_distractor(pair_plans(read_function("x1 & ~x4"), CONTEXT, 0.5, "signs")[0], Distractor((0,), 0.1))
    assert {row["unit"] for row in value_figure(plan).rows} == {"pattern", "constant"}


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["x1 & ~x4 | x2", "maj(x1, x2, x5)"])
def test_every_picture_can_be_drawn(formula):
    """Each figure is a specification that Altair accepts, within its number of bars."""
    for plan in all_plans(formula, 2 * BARS):
        for figure in pictures(plan).values():
            assert to_spec(figure)
            assert len({row[figure.x.column] for row in figure.rows}) <= max(BARS + 2, 4 * plan.function.sparsity + 20)
