"""What follows the heads, in its one form, is what the model computes; rounding is on the safe side."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.attention.evaluation import evaluate
from keyhole.attention.layers import GELU, Activation, Identity, LayerNorm, ReLU
from keyhole.errors import AssumptionError
from keyhole.prover.proof.after_attention import tail_of, trace
from keyhole.prover.proof.tables import outputs, sequence_of, tables_of
from keyhole.rigorous.enclosures import exact

from helpers.exact_models import below, exact_f, holds
from helpers.planted_juntas import FEW, all_sequences, plans, planted
from helpers.random_models import Plan


def points_of(tables, sequences):
    """Sequences as points of the tables' rows."""
    shown = np.zeros((len(sequences), len(tables.counts), tables.symbols), dtype=np.int64)
    for row, places in enumerate(tables.places):
        for place in places:
            shown[np.arange(len(sequences)), row, sequences[:, place]] += 1
    return shown


@settings(max_examples=FEW)
@given(plans)
def test_the_tail_is_the_models(plan):
    """F by tables and tail is the model's f on every input, whatever the wiring."""
    model = planted(plan, [0], 1.0)
    tables, sequences = tables_of(model, (0,)), all_sequences(plan.tokens, plan.symbols)
    found = trace(tail_of(model), outputs(tables, points_of(tables, sequences))).output
    truth = evaluate(model, sequences)
    # double precision is off by 1e-12 of the size of what is added up; norms of nearly equal rows multiply that
    assert np.abs(found.mid - truth).max() <= found.rad.max() + 1e-9 * (1 + np.abs(truth).max())


@pytest.mark.parametrize("activation", [ReLU(), GELU()])
@pytest.mark.parametrize("norms", [True, False])
def test_heads_with_an_activation_are_the_units(activation, norms):
    """Heads with activations of their own are followed by affine maps and norms alone, and counted as units."""
    model = planted(Plan(feedforward=False, norms=norms, final_norm=True, tokens=4), [1])
    model = replace(model, heads=tuple(replace(head, activation=activation) for head in model.heads))
    tables, sequences = tables_of(model, ()), all_sequences(4, 2)
    found = trace(tail_of(model), outputs(tables, points_of(tables, sequences))).output
    assert np.allclose(found.mid, evaluate(model, sequences), rtol=0, atol=1e-9)


@settings(max_examples=FEW)
@given(plans)
def test_points_are_sequences(plan):
    """A point's sequence shows the point."""
    tables = tables_of(planted(plan, [0]), (0,))
    shown = points_of(tables, all_sequences(plan.tokens, plan.symbols)[-3:])
    for point in shown:
        assert (points_of(tables, sequence_of(tables, point)[None])[0] == point).all()


@settings(max_examples=FEW)
@given(plans, st.sampled_from([1e-12, 1e-5]), st.sampled_from([1.0, 1e3]))
def test_the_truth_is_in_the_ball(plan, eps, loud):
    """Norms, units and a read-out of any wiring: what 260 bits say of tables and weights lies in the ball about f."""
    plan = replace(plan, tokens=min(plan.tokens, 3))
    model = planted(plan, [0], 1.0)
    wiring = model.wiring
    if wiring.attention_norm is not None:
        norms = {name: replace(getattr(wiring, name), eps=eps) for name in ("attention_norm", "feedforward_norm")}
        wiring = replace(wiring, **norms)
    wiring = replace(wiring, output=replace(wiring.output, weight=loud * wiring.output.weight))
    model = replace(model, wiring=wiring)
    tables, sequences = tables_of(model, (0,)), all_sequences(plan.tokens, plan.symbols)
    found = trace(tail_of(model), outputs(tables, points_of(tables, sequences))).output
    truths = exact_f(model, sequences)
    assert holds(found, truths)
    assert below(found.low, truths)
    assert below(-found.high, -truths)
    assert found.rad.max() < 1e-5 * loud * (1 + np.abs(found.mid).max())


def test_projection_is_refused():
    """A projection into the unit ball is not bounded."""
    with pytest.raises(AssumptionError, match="projects its rows into the unit ball"):
        tail_of(planted(Plan(projected=True), [0]))


def test_two_layers_of_units_are_refused():
    """Heads with activations of their own and a feed-forward part are two layers."""
    model = planted(Plan(), [0])
    mixed = (replace(model.heads[0], activation=ReLU()), *model.heads[1:])
    with pytest.raises(AssumptionError, match="one layer of units of one kind"):
        tail_of(replace(model, heads=mixed))


def test_unknown_activations_are_refused():
    """An activation without lines is named."""

    class Cube(Activation):
        name = "cube"
        lipschitz = float("inf")

        def __call__(self, x):
            return x**3

    model = planted(Plan(feedforward=False), [0])
    cubes = tuple(replace(head, activation=Cube()) for head in model.heads)
    with pytest.raises(AssumptionError, match="activation cube"):
        tail_of(replace(model, heads=cubes))
    assert tail_of(model).units.activation == Identity()


def test_norms_are_optional():
    """A norm without bias is one with bias 0."""
    model = planted(Plan(norms=True), [0])
    bare = replace(model, wiring=replace(model.wiring, attention_norm=LayerNorm(np.ones(6))))
    full = replace(model, wiring=replace(model.wiring, attention_norm=LayerNorm(np.ones(6), np.zeros(6))))
    row = exact(np.arange(6.0)[None])
    assert trace(tail_of(bare), row).output.mid == trace(tail_of(full), row).output.mid
