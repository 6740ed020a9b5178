"""Sparse functions: evaluation, the algebra of & | ^ ~, restriction, moving, and what is refused."""

import tracemalloc
from functools import reduce
from itertools import product
from operator import and_, or_, xor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean.families import majority, parity
from keyhole.boolean.function import (
    check_context,
    conjunction_pattern,
    constant,
    decide,
    from_levels,
    from_table,
    literal,
    move,
    spread,
)
from keyhole.errors import FormulaError

from helpers.oracles import bit
from helpers.strategies import FAR, countings, functions, literals, tables

NEAR = 5  # functions of the positions 0..5 overlap often, and all 64 inputs can be tried
INPUTS = np.array(list(product((False, True), repeat=NEAR + 1)))
near = functions(most=4, last=NEAR)


@given(tables(most=5, last=20))
def test_a_table_is_looked_up(drawn):
    """f(b) is the entry Σ_i b_{place i} 2^i of the table it was made from, whatever the other bits are."""
    places, values = drawn
    inputs = np.random.default_rng(0).integers(0, 2, size=(50, 21))
    expected = [bool(values[sum(int(row[place]) << i for i, place in enumerate(places))]) for row in inputs]
    function = from_table(places, values)
    assert function(inputs).tolist() == expected
    assert function(inputs.astype(bool)).tolist() == expected


@given(countings(most=12, last=20))
def test_literals_are_counted(drawn):
    """f(b) is the level of the number of literals that are true."""
    places, levels, negated = drawn
    inputs = np.random.default_rng(1).integers(0, 2, size=(50, 21))
    expected = [levels[sum(row[i] != flip for i, flip in zip(places, negated, strict=True))] for row in inputs]
    function = from_levels(places, levels, negated)
    assert function(inputs).tolist() == expected


@given(functions(most=4, last=3))
def test_inputs_of_any_shape(function):
    """A batch of inputs gives a batch of values, one input gives one."""
    inputs = np.array(list(product((0, 1), repeat=4))).reshape(2, 8, 4)
    values = function(inputs)
    assert values.shape == (2, 8)
    assert all(bool(function(inputs[i, j])) == values[i, j] for i in range(2) for j in range(8))


@given(near, near)
def test_operators_act_on_values(f, g):
    """(f & g)(b) = f(b) and g(b), and so on for |, ^ and ~, on every input."""
    here, there = f(INPUTS), g(INPUTS)
    for joined, expected in ((f & g, here & there), (f | g, here | there), (f ^ g, here ^ there), (~f, ~here)):
        assert joined(INPUTS).tolist() == expected.tolist()


def test_operators_on_all_small_functions(unchecked):
    """The operators are right on all pairs of functions of two overlapping pairs of bits, with negations among them."""
    del unchecked
    rules = [[bool(bit(n, b)) for b in range(4)] for n in range(16)]
    first = [from_table((0, 1), np.array(values)) for values in rules]
    for places in ((0, 1), (1, 2), (3, 2)):
        for f, g in product(first, [from_table(places, np.array(values)) for values in rules]):
            here, there = f(INPUTS), g(INPUTS)
            assert np.array_equal((f & g)(INPUTS), here & there)
            assert np.array_equal((f | g)(INPUTS), here | there)
            assert np.array_equal((f ^ g)(INPUTS), here ^ there)


@given(near, near, near)
def test_boolean_algebra(f, g, h):
    """De Morgan, distributivity, absorption, associativity, complements: equal as values, not only as functions."""
    assert ~(f & g) == ~f | ~g
    assert ~(f | g) == ~f & ~g
    assert f & (g | h) == (f & g) | (f & h)
    assert f & (g ^ h) == (f & g) ^ (f & h)
    assert f | (f & g) == f
    assert (f ^ g) ^ h == f ^ (g ^ h)
    assert f ^ g == (f & ~g) | (~f & g)
    assert (~(~f), f & ~f, f | ~f, f ^ f) == (f, constant(value=False), constant(value=True), constant(value=False))
    assert hash(f & g) == hash(g & f)


@given(near, st.permutations(range(20, 30)))
def test_moving_renames_positions(f, order):
    """The moved function reads at the new place what the old one read at the old place; moving back restores it."""
    places = tuple(order[: f.sparsity])
    inputs = np.zeros((len(INPUTS), 30), dtype=bool)
    inputs[:, list(places)] = INPUTS[:, list(f.positions)]
    moved = move(f, places)
    assert moved(inputs).tolist() == f(INPUTS).tolist()
    back = dict(zip(places, f.positions, strict=True))
    assert move(moved, tuple(back[place] for place in moved.positions)) == f


@given(near)
def test_spreading_adds_idle_positions(f):
    """The table over all positions holds the value of every input."""
    assert spread(f, tuple(range(NEAR + 1))).tolist() == f(INPUTS[:, ::-1]).tolist()


@given(st.lists(literals(last=40), max_size=8))
def test_conjunction_patterns(terms):
    """A conjunction of literals is true on exactly the pattern its rule names; a contradiction names none."""
    function = reduce(and_, terms, constant(value=True))
    pattern = conjunction_pattern(function.rule)
    wanted = {term.positions[0]: term.rule.levels[-1] for term in terms}
    contradiction = any(~term in terms for term in terms)
    assert pattern == (None if contradiction else tuple(wanted[place] for place in sorted(wanted)))


def in_pairs(operator, terms):
    """The terms joined in a tree, so that the cost is that of reading them a few times."""
    while len(terms) > 1:
        terms = [reduce(operator, terms[i : i + 2]) for i in range(0, len(terms), 2)]
    return terms[0]


@pytest.mark.slow
def test_five_thousand_literals(unchecked):
    """Conjunctions, disjunctions and parities of 5,000 literals need no table."""
    del unchecked
    bits = [literal(3 * i) if i % 3 else ~literal(3 * i) for i in range(5000)]
    inputs = np.zeros((3, 15000), dtype=bool)
    inputs[0, ::3] = np.arange(5000) % 3 != 0  # every literal true
    inputs[1] = inputs[0]
    inputs[1, 3] = False  # one literal false
    inputs[2, ::3] = np.arange(5000) % 3 == 0  # none true
    assert in_pairs(and_, bits)(inputs).tolist() == [True, False, False]
    assert in_pairs(or_, bits)(inputs).tolist() == [True, True, False]
    assert in_pairs(xor, bits)(inputs).tolist() == [False, True, False]  # 5000, 4999 and 0 true literals
    assert in_pairs(xor, bits).sparsity == 5000


def test_counting_functions_join_without_a_table():
    """Functions of one count join level by level, with any number of positions; so does a parity of the same ones."""
    places = tuple(range(200))
    signs = tuple(place % 5 == 2 for place in places)
    low, high = (from_levels(places, tuple(j >= k for j in range(201)), signs) for k in (60, 90))
    assert low & ~high == from_levels(places, tuple(60 <= j < 90 for j in range(201)), signs)
    assert low | high == low
    odd = from_levels(places, tuple(j % 2 == 1 for j in range(201)), signs)
    assert odd == parity(places)  # 40 literals are negated, an even number
    for joined in (low ^ odd, odd ^ low):
        assert joined == from_levels(places, tuple((j >= 60) != (j % 2 == 1) for j in range(201)), signs)
    assert majority(places) & constant(value=True) == majority(places)


def test_an_odd_number_of_negations_flips_a_parity():
    """Joining a counting function of 25 positions with their parity, 3 literals negated."""
    places, signs = tuple(range(25)), tuple(place in (4, 7, 9) for place in range(25))
    f = from_levels(places, tuple(j >= 13 for j in range(26)), signs)
    inputs = np.random.default_rng(2).integers(0, 2, size=(200, 25)).astype(bool)
    assert ((f & parity(places))(inputs) == (f(inputs) & (inputs.sum(axis=1) % 2 == 1))).all()


def test_the_context_costs_nothing():
    """A function at positions near 10⁹ is made, joined, moved and evaluated in less memory than a million bits."""
    far = (1, FAR // 2, FAR - 1)
    context = np.broadcast_to(np.array([True]), (FAR,))  # a billion ones that share one byte
    tracemalloc.start()
    function = (majority(far) ^ literal(7)) & ~literal(FAR - 2)
    values = [bool(function(context)), bool(majority(far)(context))]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert values == [False, True]
    assert peak < 1_000_000
    assert function.rule == move(function, tuple(range(5))).rule
    assert decide(function.rule, np.array([True, False, False, False, True]))  # maj 1, x7 0, ~x 1


def test_short_name():
    """The representation shows the formula, cut at 200 characters."""
    assert repr(literal(3) & ~literal(5)) == "SparseFunction('x3 & ~x5')"
    assert len(repr(majority(tuple(range(500))))) < 230
    assert "...')" in repr(majority(tuple(range(500))))


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: from_table((1, 2), np.array([True] * 3)), "3 entries on 2"),
        (lambda: from_table(tuple(range(25)), np.array([True])), "1 entries on 25"),
        (lambda: from_table((1, 1), np.array([True] * 4)), r"\(1, 1\) repeat one"),
        (lambda: from_levels((-1,), (False, True)), r"hold a negative one"),
        (lambda: from_levels((1, 2), (False, True)), "they need 3 levels"),
        (lambda: from_levels((1,), (False, True), (True, False)), "2 signs .* for 1"),
        (lambda: from_levels(tuple(range(10001)), (False,) * 10002), "10001 positions"),
        (lambda: literal(64)(np.zeros(64, dtype=bool)), "ends at position 63"),
        (lambda: check_context(literal(0), 0), "context of length 0"),
        (lambda: check_context(constant(value=True), -1), "context of length -1"),
        (lambda: move(literal(3), (1, 2)), "2 new positions"),
        (lambda: majority(tuple(range(13))) & majority(tuple(range(12, 25))), "joins 25 positions .* at most 24"),
        (lambda: parity(tuple(range(25))) & literal(0), "neither a conj"),
        (lambda: majority(tuple(range(30))).table, "30 positions"),
    ],
)
def test_refusals(ask, sentence):
    """What cannot be held, or does not fit, is refused in a sentence."""
    with pytest.raises(FormulaError, match=sentence):
        ask()


def test_twenty_four_positions_are_held():
    """The longest table is allowed: 24 positions, none counted alike."""
    function = majority(tuple(range(13))) & ~majority(tuple(range(13, 24)))
    assert function.sparsity == 24
    inputs = np.random.default_rng(3).integers(0, 2, size=(200, 24))
    expected = (inputs[:, :13].sum(axis=1) >= 7) & (inputs[:, 13:].sum(axis=1) < 6)
    assert (function(inputs) == expected).all()
