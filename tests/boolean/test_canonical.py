"""Canonical form: functions are equal exactly when they agree on every input, however they were made."""

from functools import reduce
from itertools import permutations, product
from operator import and_, or_

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean.formula import parse
from keyhole.boolean.function import (
    Levels,
    SparseFunction,
    canonical_levels,
    canonical_table,
    constant,
    counting_rule,
    from_levels,
    from_table,
    literal,
)

from helpers.oracles import bit, relevant, table_from_number
from helpers.strategies import countings, tables

PLACES = (2, 5, 9)
DOMAIN = range(256)  # every function of the three bits at PLACES


def by_shuffled_table(number, order, spare):
    """The function from a table in another order of positions, with positions that do not matter among them."""
    places = (*(PLACES[i] for i in order), *spare)
    values = [
        bool(bit(number, sum(bit(pattern, j) << i for j, i in enumerate(order)))) for pattern in range(1 << len(places))
    ]
    return from_table(places, np.array(values))


def minterms(number):
    """The patterns of PLACES on which the function is true."""
    return [b for b in range(8) if bit(number, b)]


def by_formula(number):
    """The function as a disjunction of conjunctions, written out."""
    terms = (
        " & ".join(f"{'' if bit(b, i) else '~'}x{place}" for i, place in enumerate(PLACES)) for b in minterms(number)
    )
    return parse(" | ".join(terms) or "0")


def by_operators(number):
    """The function as a disjunction of conjunctions of literal functions."""
    bits = [literal(place) for place in PLACES]
    terms = (reduce(and_, (x if bit(b, i) else ~x for i, x in enumerate(bits))) for b in minterms(number))
    return reduce(or_, terms, constant(value=False))


@pytest.mark.slow
def test_all_routes_meet(unchecked):
    """Tables in every order with idle positions, formulas and operators give one value per function of three bits."""
    del unchecked
    seen = {}
    for number in DOMAIN:
        plain = from_table(PLACES, np.array(table_from_number(number, 3)))
        others = [by_shuffled_table(number, order, spare=(0, 7)) for order in permutations(range(3))]
        others += [by_formula(number), by_operators(number), ~(~plain)]
        assert all(other == plain and hash(other) == hash(plain) for other in others)
        seen[plain] = number
    assert len(seen) == len(DOMAIN)  # different functions are different values


@pytest.mark.parametrize("size", range(6))
def test_every_counting_rule_meets_its_table(size, unchecked):
    """Levels with any negations, positions in falling order, equal the function of their table."""
    del unchecked
    places = tuple(range(size, 0, -1))
    for levels in product((False, True), repeat=size + 1):
        for negated in product((False, True), repeat=size):
            values = [levels[sum(bit(b, i) != flip for i, flip in enumerate(negated))] for b in range(1 << size)]
            assert from_levels(places, levels, negated) == from_table(places, np.array(values))


@given(tables(most=5))
def test_only_relevant_positions_stay_sorted(drawn):
    """The positions are those whose flip changes the value somewhere, in increasing order."""
    places, values = drawn
    assert from_table(places, values).positions == tuple(sorted(places[i] for i in relevant(values.tolist())))


def counts(values, size):
    """Whether some negations make the table depend on a count alone: tried one by one."""
    for flips in range(1 << size):
        levels = {}
        if all(levels.setdefault((b ^ flips).bit_count(), value) == value for b, value in enumerate(values)):
            return True
    return False


@given(st.integers(0, 65535) | st.sampled_from([0x8000, 0x6996, 0xFEE8, 0xE880, 0x1668, 0x2BD4]))
def test_counting_functions_are_found(number):
    """The rule is `Levels` exactly when some choice of literals makes the function a function of their count.

    Either way it answers every input as the table did.
    """
    function = from_table((0, 1, 2, 3), np.array(table_from_number(number, 4)))
    smaller = function.table.tolist()
    assert isinstance(function.rule, Levels) == counts(smaller, function.sparsity)
    inputs = [tuple(bool(bit(pattern, place)) for place in range(4)) for pattern in range(16)]
    assert function(np.array(inputs)).tolist() == [bool(bit(number, pattern)) for pattern in range(16)]


@given(countings(least=1))
def test_the_first_literal_is_positive(drawn):
    """A canonical counting rule has its first literal positive, and a parity has all of them."""
    function = from_levels(*drawn)
    assert not any(function.rule.negated[:1])
    if function.rule.alternating:
        assert not any(function.rule.negated)


@given(countings(), tables(most=4))
def test_canonical_form_is_a_fixed_point(counting, table):
    """Putting a canonical form into canonical form changes nothing."""
    for function in (from_levels(*counting), from_table(*table)):
        if isinstance(function.rule, Levels):
            again = canonical_levels(function.positions, function.rule)
        else:
            again = canonical_table(function.positions, function.rule.values)
        assert SparseFunction(*again) == function


def test_a_table_that_counts_nothing():
    """x0 & (x1 ^ x2) is a function of no count of literals."""
    assert counting_rule(np.array(table_from_number(0b00101000, 3)), 3) is None


def test_a_table_is_copied():
    """Changing the array a function was made from does not change the function."""
    values = np.array(table_from_number(0b00101000, 3))
    function = from_table((0, 1, 2), values)
    before = function.table.tolist()
    values[:] = True
    assert function.table.tolist() == before
