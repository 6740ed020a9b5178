"""Every lower bound is below the enumerated minimum, and each replacement on the way lowers what it replaces."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from keyhole.prover.proof.after_attention import Norm, tail_of, trace
from keyhole.prover.proof.fractional_minimum import view
from keyhole.prover.proof.lower_bound import _box_of_squares, _inverse_spread_ends, _quotient_below, bound
from keyhole.prover.proof.relaxation import Box, spread_below, sum_below
from keyhole.prover.proof.tables import outputs, sequence_of, split, tables_of
from keyhole.rigorous.enclosures import Ball, exact

from helpers.exact_models import below, exact_f, holds, least_signed, lifted, precisely, rational
from helpers.planted_juntas import FEW, LOUD, answers, plans, planted
from helpers.random_models import Plan

loudness = st.sampled_from([0.0, 3.0, LOUD])


@settings(max_examples=FEW)
@given(plans, loudness, st.integers(0, 3), st.sampled_from([1.0, 1.0, -1.0]))
def test_bounds_are_below_the_minimum(plan, loud, count, side):
    """Sign·f of every input of a cell, to 260 bits, is at least the cell's bound; so is f at the worst point."""
    positions = tuple(range(min(count, plan.tokens)))
    model = planted(plan, positions, loud)
    sequences, _, cells, junta = answers(model, positions)
    tables, tail = tables_of(model, positions), tail_of(model)
    signs = side * np.where(junta.table, 1.0, -1.0)
    found = bound(tables, tail, view(tables, split(tables, junta.cells(), positions)), signs)
    assert below(found.low, least_signed(exact_f(model, sequences), cells, signs))
    worst = np.array([sequence_of(tables, point) for point in found.worst])
    assert holds(found.output, exact_f(model, worst))
    assert np.array_equal(found.output.mid, trace(tail, outputs(tables, found.worst)).output.mid)


@pytest.mark.parametrize("place", ["bias", "weight", "outer"])
@settings(max_examples=FEW // 2)
@given(plans, st.sampled_from([1.0, -1.0]), st.data())
def test_a_tail_may_be_uncertain(place, plan, side, data):
    """A read-out, or what the units write, known up to 1/8: the bound is below f of every tail inside.

    Where the push is against the sign, and no norm follows, f moves by all that the radius can do.
    """
    assume(plan.feedforward or place != "outer")
    plan = replace(plan, tokens=1)
    positions = (0,)
    model = planted(plan, positions)
    sequences, _, cells, junta = answers(model, positions)
    signs = np.full(len(junta.table), side)
    tail, tables, radius = tail_of(model), tables_of(model, positions), 0.125

    def wide(ball):
        return Ball(ball.mid, np.full_like(ball.mid, radius))

    push = 0.999 * radius  # the rounding of a sum does not leave the ball
    readout, wiring = model.readout, model.wiring
    if place == "bias":
        tail = replace(tail, bias=wide(tail.bias))
        readout = replace(readout, bias=np.asarray(readout.bias - side * push))
    elif place == "weight":
        tail = replace(tail, weight=wide(tail.weight))
        turns = data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=6, max_size=6))
        readout = replace(readout, weight=readout.weight + push * np.array(turns))
    else:
        tail = replace(tail, units=replace(tail.units, outer=wide(tail.units.outer)))
        outer = wiring.feedforward.outer
        outer = replace(outer, weight=outer.weight - side * push * np.sign(readout.weight))
        wiring = replace(wiring, feedforward=replace(wiring.feedforward, outer=outer))
    truths = exact_f(replace(model, readout=readout, wiring=wiring), sequences)
    with np.errstate(over="ignore", invalid="ignore"):  # a spread that may be 0 leaves nothing known
        found = bound(tables, tail, view(tables, split(tables, junta.cells(), positions)), signs).low
        held = trace(tail, outputs(tables, shown_by(tables, sequences))).output
    known = np.isfinite(held.rad)
    assert holds(held[known], truths[known])
    assert below(np.where(np.isnan(found), -np.inf, found), least_signed(truths, cells, signs))


def shown_by(tables, sequences):
    """Sequences as points, where every position has its own row."""
    return np.eye(tables.symbols, dtype=np.int64)[sequences]


ratios = st.floats(-1e3, 1e3).filter(lambda x: abs(x) > 1e-6)


@given(st.lists(ratios, min_size=4, max_size=4), st.floats(0.1, 10), st.floats(0, 1))
def test_quotients_and_sums_are_rounded_down(lows, least, wider):
    """A bound over a spread, at either end of its range, and a bound plus a constant: in fractions, never too high."""
    box = Box(np.zeros((1, 1)), np.zeros((1, 1)), np.array([least]), np.array([least + wider]))
    low = np.array([lows])
    ends = rational([box.least[0], box.most[0]])
    found = rational(_quotient_below(low, box)[0])
    assert (found[:, None] <= rational(lows)[:, None] / ends).all()
    nearest, farthest = (Fraction(float(end[0])) for end in _inverse_spread_ends(box))
    assert nearest <= 1 / ends[1] <= 1 / ends[0] <= farthest
    constant = Ball(np.array(lows[::-1]), np.full(4, wider))
    assert (rational(sum_below(low, constant)[0]) <= rational(lows) + rational(lows[::-1]) - Fraction(wider)).all()


@given(st.integers(0, 10**6), st.sampled_from([1e-5, 0.3]))
def test_a_spread_lies_in_its_range(seed, eps):
    """√(s/d + ε) of the exact ends s is between the least and the most spread."""
    lowest, highest = np.sort(np.random.default_rng(seed).exponential(size=(2, 7)), axis=0)
    rows = np.zeros((7, 5))
    box = _box_of_squares(Norm(np.ones(5), np.zeros(5), eps), rows, rows, lowest, highest)
    with precisely():
        spreads = [[(arb(s) / 5 + arb(eps)).sqrt() for s in ends.tolist()] for ends in (lowest, highest)]
    assert below(box.least, np.array(spreads[0]))
    assert below(-box.most, -np.array(spreads[1]))


@given(st.integers(0, 10**6), st.sampled_from([5e-324, 3e-323, 1e-310]), st.integers(-1074, -1000))
def test_a_spread_lies_in_its_range_where_squares_underflow(seed, eps, exponent):
    """The same for an ε and sums of squares at the end of the range, where a quotient is off by as much as ε."""
    draws = np.ldexp(np.random.default_rng(seed).exponential(size=(2, 7)), exponent)
    lowest, highest = np.sort(draws, axis=0)
    rows = np.zeros((7, 5))
    box = _box_of_squares(Norm(np.ones(5), np.zeros(5), eps), rows, rows, lowest, highest)
    with precisely():
        spreads = [[(arb(s) / 5 + arb(eps)).sqrt() for s in ends.tolist()] for ends in (lowest, highest)]
    assert below(box.least, np.array(spreads[0]))
    assert below(-box.most, -np.array(spreads[1]))


@pytest.mark.parametrize("seed", range(20))
def test_a_skipped_norm_takes_the_worse_end(seed):
    """Where the stream skips a norm that only the units see, its spread may be at either end of its range."""
    plan = Plan(seed=seed, tokens=5, heads=1, placement="pre", residual="each", norms=True)
    model = planted(plan, (), 0.0)
    sequences, _, cells, junta = answers(model, ())
    tables, truths = tables_of(model, ()), exact_f(model, sequences)
    for sign in (1.0, -1.0):
        low = bound(tables, tail_of(model), view(tables, split(tables, junta.cells(), ())), np.array([sign])).low
        assert below(low, least_signed(truths, cells, [sign]))


@settings(max_examples=FEW)
@given(plans, st.sampled_from([1.0, -1.0]))
def test_one_completion_is_bounded_tightly(plan, side):
    """Where nothing is free the bound is below f by at most 1e-6 of the largest f: no replacement costs anything."""
    plan = replace(plan, tokens=min(plan.tokens, 2))
    positions = tuple(range(plan.tokens))
    model = planted(plan, positions)
    sequences, f, cells, junta = answers(model, positions)
    tables, tail = tables_of(model, positions), tail_of(model)
    signs = side * np.where(junta.table, 1.0, -1.0)
    found, truths = (
        bound(tables, tail, view(tables, split(tables, junta.cells(), positions)), signs),
        exact_f(model, sequences),
    )
    lowest = least_signed(truths, cells, signs)
    assert below(found.low, lowest)
    # tangents are shortened by 2^−36, and the quadratic is exact where the spread is known to rounding
    assert below(-1e-6 * (1 + np.abs(f).max()), lifted(found.low) - lowest)


@given(st.integers(0, 10**6), st.floats(-3, 3), st.sampled_from([1e-5, 0.3]))
def test_a_spread_is_between_its_lines(seed, kappa, eps):
    """κ·spread ≥ ⟨coefficient, x⟩ + constant for every x in the box, with equality at the given rows for κ ≥ 0."""
    rng = np.random.default_rng(seed)
    d = 5
    low = rng.normal(size=(1, d))
    high = low + rng.exponential(size=(1, d)) * rng.choice([0.0, 1.0], size=(1, d))
    norm = Norm(np.ones(d), np.zeros(d), eps)

    def spread(x):
        return np.sqrt((x * x).sum(axis=-1) / d + eps)

    rows = rng.uniform(low, high)
    box = Box(low, high, np.zeros(1), np.ones(1))  # an exact κ takes nothing of them
    coefficient, constant = spread_below(norm, exact(np.array([kappa])), box, rows, spread(rows))
    inside = np.concatenate([rng.uniform(low, high, size=(20, d)), rows, low, high])
    with precisely():  # the least of what the two balls hold is what later bounds take
        lines = lifted(inside) @ lifted(coefficient.mid[0]) - lifted(np.abs(inside)) @ lifted(coefficient.rad[0])
        squares = (lifted(inside) * lifted(inside)).sum(axis=1) / d
        spreads = np.array([(square + arb(eps)).sqrt() for square in squares])
        assert all(lines + arb(float(constant.mid[0])) - arb(float(constant.rad[0])) <= arb(kappa) * spreads)
    if kappa >= 0:
        assert rows[0] @ coefficient.mid[0] + constant.mid[0] == pytest.approx(kappa * spread(rows)[0], abs=1e-8)
    if kappa < 0 and (low == high).all():
        assert float(lines[-1]) + constant.mid[0] == pytest.approx(kappa * spread(low)[0], abs=1e-8)
