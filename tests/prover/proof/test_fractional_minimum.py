"""Lemma F: the least value of a functional of the heads over all completions, against enumeration."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given
from hypothesis import strategies as st

from keyhole.attention.tables import Tabulated, TabulatedHead
from keyhole.attention.weights import ReadOut, Wiring
from keyhole.prover.proof.fractional_minimum import view
from keyhole.prover.proof.tables import HeadTable, Parts, Tables, branched, outputs, split, tables_of
from keyhole.rigorous.enclosures import Ball, exact

from helpers.exact_models import rational
from helpers.planted_juntas import all_sequences


def random_tables(seed, tokens, symbols=2, heads=1, width=3, sharpness=2.0):
    """Tables with a row for every position."""
    rng = np.random.default_rng(seed)
    made = tuple(
        HeadTable(
            np.exp(sharpness * rng.normal(size=(tokens, symbols))),
            rng.normal(size=(tokens, symbols, width)),
            float(np.exp(rng.normal())),
            rng.normal(size=width),
        )
        for _ in range(heads)
    )
    return Tables(tokens, made, np.ones(tokens, dtype=np.int64), tuple((place,) for place in range(tokens)))


def shown_by(tables, sequences):
    """Sequences as points, where every position has its own row."""
    return np.eye(tables.symbols, dtype=np.int64)[sequences]


def enumerated(tables, positions, directions):
    """The least value of each functional in each cell, by going through all sequences."""
    sequences = all_sequences(tables.tokens, tables.symbols)
    values = outputs(tables, shown_by(tables, sequences)).mid @ directions.T
    cells = product(range(tables.symbols), repeat=len(positions))
    return np.array([values[(sequences[:, positions] == cell).all(axis=1)].min(axis=0) for cell in cells])


def parts_of(tables, positions):
    """One part for each assignment of symbols to the positions."""
    return split(tables, tuple(product(range(tables.symbols), repeat=len(positions))), tuple(positions))


cases = st.tuples(
    st.integers(0, 10**6), st.integers(1, 7), st.integers(2, 3), st.integers(0, 2), st.sampled_from([0.1, 2, 6])
)


@given(cases)
def test_one_head_is_exact(case):
    """One head's least value is the enumerated one to 1e-9, and never above it."""
    seed, tokens, symbols, fixed, sharpness = case
    tables = random_tables(seed, tokens, symbols, sharpness=sharpness)
    positions = list(range(min(fixed, tokens)))
    directions = np.random.default_rng(seed).normal(size=(4, 3))
    found = view(tables, parts_of(tables, positions)).least(exact(directions[None]))
    truth = enumerated(tables, positions, directions)
    assert np.abs(found - truth).max() <= 1e-9
    assert (found <= truth).all()  # the allowance exceeds what enumeration itself rounds


@given(cases, st.integers(2, 4))
def test_several_heads_are_bounded(case, heads):
    """The bound is below the enumerated minimum and no worse than the sum of the heads' own minima."""
    seed, tokens, symbols, fixed, sharpness = case
    tables = random_tables(seed, tokens, symbols, heads, sharpness=sharpness)
    positions = list(range(min(fixed, tokens)))
    directions = np.random.default_rng(seed).normal(size=(4, 3 * heads))
    parts = parts_of(tables, positions)
    found = view(tables, parts).least(exact(directions[None]))
    assert (found <= enumerated(tables, positions, directions)).all()
    alone = sum(
        enumerated(Tables(tokens, (head,), tables.counts, tables.places), positions, directions[:, 3 * h : 3 * h + 3])
        for h, head in enumerate(tables.heads)
    )
    assert (found >= alone - 1e-9).all()
    each = view(tables, parts).least(exact(np.broadcast_to(directions, (parts.count, *directions.shape))))
    assert np.allclose(each, found, rtol=0, atol=1e-9)  # directions of a part's own are the same functionals


def test_the_vector_of_the_theory():
    """Ratios 1/3, 4/3, −1/2, 1/4: the maximum is 4/3 at (0, 1) and the minimum −1/2 at (1, 0)."""
    head = HeadTable(np.array([[1.0, 2.0], [1.0, 1.0]]), np.array([[[1.0], [-1.0]], [[0.0], [3.0]]]), 1.0, np.zeros(1))
    tables = Tables(2, (head,), np.ones(2, dtype=np.int64), ((0,), (1,)))
    ratios = outputs(tables, shown_by(tables, all_sequences(2, 2))).mid[:, 0]
    assert ratios == pytest.approx([1 / 3, 4 / 3, -1 / 2, 1 / 4])
    seen = view(tables, parts_of(tables, []))
    lowest = seen.minimisers(exact(np.ones((1, 1, 1))))
    highest = seen.minimisers(exact(-np.ones((1, 1, 1))))
    assert (lowest.low[0], -highest.low[0]) == pytest.approx((-0.5, 4 / 3), abs=1e-13)
    assert (lowest.shown[0].argmax(axis=1).tolist(), highest.shown[0].argmax(axis=1).tolist()) == ([1, 0], [0, 1])


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_the_minimiser_attains_one_head(seed, symbols):
    """For one head the point returned has the least value, and the row that matters most is a free one."""
    tables = random_tables(seed, 5, symbols + 1)
    parts = parts_of(tables, [1, 3])
    direction = np.random.default_rng(seed).normal(size=(1, 1, 3))
    found = view(tables, parts).minimisers(exact(direction))
    values = outputs(tables, found.shown).mid @ direction[0, 0]
    assert np.allclose(values, found.low, rtol=0, atol=1e-9)
    assert (found.spread[:, [1, 3]] == 0).all()
    assert (found.spread >= 0).all()


@given(st.integers(0, 10**6))
def test_shared_rows_are_as_good_as_copies(seed):
    """One row for four positions gives the bounds of four equal rows."""
    few = random_tables(seed, 3, heads=2)
    rows = [0, 1, 2, 2, 2, 2]
    many = Tables(
        6,
        tuple(HeadTable(head.mass[rows], head.values[rows], head.cls_mass, head.cls_value) for head in few.heads),
        np.ones(6, dtype=np.int64),
        tuple((place,) for place in range(6)),
    )
    shared = Tables(6, few.heads, np.array([1, 1, 4]), ((0,), (1,), (2, 3, 4, 5)))
    directions = exact(np.random.default_rng(seed).normal(size=(1, 3, 6)))
    both = [view(tables, parts_of(tables, [0])).least(directions) for tables in (shared, many)]
    assert np.allclose(*both, rtol=0, atol=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(0, 2))
def test_cutting_a_part_keeps_its_range(seed, symbols, row):
    """Parts cut along a copy of a row make up the part: the least of their least values is its own, for one head."""
    few = random_tables(seed, 3, symbols)
    tables = Tables(5, few.heads, np.array([1, 1, 3]), ((0,), (1,), (2, 3, 4)))
    whole = parts_of(tables, [])
    cut = branched(whole, row)
    assert (cut.fixed.sum(axis=(1, 2)) + cut.free.sum() == 5).all()
    direction = exact(np.random.default_rng(seed).normal(size=(1, 4, 3)))
    lows = view(tables, cut).least(direction)
    assert np.allclose(lows.min(axis=0), view(tables, whole).least(direction)[0], rtol=0, atol=1e-9)


@given(st.integers(0, 10**6), st.floats(5, 25))
@example(405, 18.0)  # the heaviest token is at the minimum, and its own cost there is rounding
def test_sharp_heads_stay_exact(seed, sharpness):
    """Masses that differ by e^100 leave the range of one head exact to 1e-9: nothing cancels."""
    tables = random_tables(seed, 6, sharpness=sharpness)
    directions = np.random.default_rng(seed).normal(size=(3, 3))
    found = view(tables, parts_of(tables, [2])).least(exact(directions[None]))
    assert np.abs(found - enumerated(tables, [2], directions)).max() <= 1e-9


@given(st.integers(0, 10**6), st.floats(0, 0.1))
def test_a_direction_may_be_uncertain(seed, radius):
    """A direction known up to a radius is bounded for every direction inside."""
    tables = random_tables(seed, 4, heads=2)
    rng = np.random.default_rng(seed)
    middle = rng.normal(size=(2, 6))
    found = view(tables, parts_of(tables, [0])).least(Ball(middle[None], np.full((1, 2, 6), radius)))
    for _ in range(5):
        inside = middle + radius * rng.uniform(-1, 1, size=middle.shape)
        assert (found <= enumerated(tables, [0], inside) + 1e-12).all()  # the oracle's own rounding


@pytest.mark.parametrize("radius", [0.0, 0.25])
def test_a_directions_radius_costs_what_it_can(radius):
    """Where every value is 1 the least functional is the sum of the least entries, and that is the bound."""
    head = HeadTable(np.ones((2, 2)), np.ones((2, 2, 3)), 1.0, np.ones(3))
    tables = Tables(2, (head,), np.ones(2, dtype=np.int64), ((0,), (1,)))
    direction = Ball(np.array([[[1.0, -2.0, 0.5]]]), np.full((1, 1, 3), radius))
    assert view(tables, parts_of(tables, [])).least(direction)[0, 0] == pytest.approx(
        -0.5 - 3 * radius, abs=1e-8
    )  # radii are enlarged by 2^−30


@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.37]))
def test_rounding_is_on_the_safe_side(seed, temperature):
    """The bound is below, and the ball about each output holds, what 200 bits say of the tables as given."""
    rng = np.random.default_rng(seed)
    scores, values = 3 * rng.normal(size=(5, 2)), rng.normal(size=(5, 2, 1))
    cls_score, cls_value = rng.normal(), rng.normal(size=1)
    from keyhole.attention.normalisers import Softmax

    head = TabulatedHead(scores, values, np.array(cls_score), cls_value, Softmax(temperature))
    tables = tables_of(Tabulated(5, (head,), np.zeros(1), Wiring(), ReadOut(np.ones(1))), ())
    sequences = all_sequences(5, 2)
    before, ctx.prec = ctx.prec, 200
    try:
        mass = [[(arb(s) / arb(temperature)).exp() for s in row] for row in scores.tolist()]
        cls_mass = (arb(float(cls_score)) / arb(temperature)).exp()
        truths = []
        for sequence in sequences.tolist():
            chosen = [mass[t][a] for t, a in enumerate(sequence)]
            numerator = sum(
                (m * arb(values[t, a, 0]) for (t, a), m in zip(enumerate(sequence), chosen, strict=True)), arb(0)
            )
            truths.append((numerator + cls_mass * arb(float(cls_value[0]))) / (sum(chosen, arb(0)) + cls_mass))
        found = outputs(tables, shown_by(tables, sequences))
        for truth, mid, rad in zip(truths, found.mid[:, 0].tolist(), found.rad[:, 0].tolist(), strict=True):
            assert abs(truth - arb(mid)) < arb(rad)
        low = arb(float(view(tables, parts_of(tables, [])).least(exact(np.ones((1, 1, 1))))[0, 0]))
        assert all(low < truth for truth in truths)
        assert min(float((truth - low).upper()) for truth in truths) <= 1e-12
    finally:
        ctx.prec = before


@pytest.mark.parametrize("share", [1 / 3, 0.7, 0.9, 1.1])
@pytest.mark.parametrize("free", [False, True])
def test_long_sums_of_two_heads_round_downwards(share, free):
    """2000 equal rows of masses 1, which two heads see with opposite signs: the bound is below the exact minimum.

    The heads' own minima are far below it, so the bound is what the common rows give; equal terms added one by one
    round the same way again and again, by hundreds of units.
    """
    rows = 2000
    value = np.array([[1.0, 0.77], [-0.7, -0.539]]) * share
    heads = tuple(
        HeadTable(np.ones((rows, 2)), np.broadcast_to(seen, (rows, 2, 2)), 1.0, np.zeros(2))
        for seen in (value, -0.9 * value)
    )
    tables = Tables(rows, heads, np.ones(rows, dtype=np.int64), tuple((place,) for place in range(rows)))
    fixed = np.zeros((1, rows, 2), dtype=np.int64)
    fixed[0, :, 0] = not free
    seen = view(tables, Parts(np.full(rows, int(free)), fixed))
    for direction in (np.ones(4), -np.ones(4), np.array([0.3, 1.0, 0.31, 1.1])):
        terms = rational(np.concatenate([head.values[0] for head in heads], axis=1)) @ rational(direction)
        truth = rows * (min(terms) if free else terms[0]) / Fraction(rows + 1)
        assert Fraction(float(seen.least(exact(direction[None, None]))[0, 0])) <= truth
