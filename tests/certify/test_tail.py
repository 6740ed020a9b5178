"""What follows the heads, in its one form, is what the model computes; rounding is on the safe side."""

from dataclasses import replace

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings

from keyhole.attention.activations import GELU, Activation, Identity, ReLU
from keyhole.attention.evaluation import evaluate
from keyhole.attention.rowwise import LayerNorm
from keyhole.certify.ball import exact
from keyhole.certify.tables import outputs, sequence_of, tables_of
from keyhole.certify.tail import tail_of, trace
from keyhole.errors import AssumptionError
from planted_juntas import FEW, all_sequences, plans, planted
from random_models import Plan


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


def precisely(tail_model, outputs_row):
    """F at given outputs of the heads, in 200 bits, straight from the wiring."""
    wiring, readout = tail_model.wiring, tail_model.readout

    def affine(x, part):
        weight, bias = part.weight.tolist(), part.bias.tolist()
        return [sum((x[i] * arb(weight[i][j]) for i in range(len(x))), arb(bias[j])) for j in range(len(bias))]

    def norm(x, part):
        mean = sum(x, arb(0)) / len(x)
        spread = (sum(((each - mean) ** 2 for each in x), arb(0)) / len(x) + arb(part.eps)).sqrt()
        gains, biases = part.gain.tolist(), part.bias.tolist()
        return [(each - mean) / spread * arb(g) + arb(b) for each, g, b in zip(x, gains, biases, strict=True)]

    def curved(x):
        if isinstance(wiring.feedforward.activation, GELU):
            return x * (1 + (x / arb(2).sqrt()).erf()) / 2
        return x if x > 0 else arb(0)

    stream = [arb(each) for each in tail_model.stream.tolist()]
    x = [s + y for s, y in zip(stream, affine([arb(o) for o in outputs_row], wiring.output), strict=True)]
    x = norm(x, wiring.attention_norm)
    fed = affine([curved(u) for u in affine(x, wiring.feedforward.inner)], wiring.feedforward.outer)
    x = norm([a + b for a, b in zip(x, fed, strict=True)], wiring.feedforward_norm)
    x = norm(x, readout.norm)
    return sum((a * arb(w) for a, w in zip(x, readout.weight.tolist(), strict=True)), arb(float(readout.bias)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("gelu", [True, False])
def test_the_truth_is_in_the_ball(seed, gelu):
    """Three norms, units and a read-out: what 200 bits say of the same weights lies in the ball about f."""
    model = planted(Plan(seed=seed, gelu=gelu, final_norm=True, residual="each", placement="post"), [1])
    before, ctx.prec = ctx.prec, 200
    try:
        row = np.random.default_rng(seed).normal(size=6)
        found = trace(tail_of(model), exact(row[None])).output[0]
        truth = precisely(model, row.tolist())
        assert abs(truth - arb(float(found.mid))) < arb(float(found.rad))
        assert float(found.rad) < 1e-8
    finally:
        ctx.prec = before


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
