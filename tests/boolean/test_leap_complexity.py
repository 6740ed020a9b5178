"""Leap: the greedy rule against all orderings, and against the closure of its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean.families import conjunction, disjunction, majority, parity, random_junta
from keyhole.boolean.fourier import fourier_weight, leap, leap_of_sets
from keyhole.boolean.function import constant, from_levels, from_table

from helpers.oracles import character, leap_by_closure, leap_by_orderings, ones, support, table_from_number
from helpers.strategies import countings, functions


@given(st.sets(st.integers(1, 63), max_size=6))
def test_greedy_beats_every_ordering(masks):
    """The greedy order attains the minimum over all orderings; so does the closure, the second oracle."""
    expected = leap_by_orderings(masks)
    assert leap_of_sets(np.array(sorted(masks), dtype=np.uint32)) == expected
    assert leap_by_closure(frozenset(masks)) == expected


def test_small_functions_by_orderings():
    """Every function of at most three bits, over all orderings of its support."""
    for number, size in ((n, s) for s in range(4) for n in range(1 << (1 << s))):
        values = table_from_number(number, size)
        found = support(values)
        function = from_table(tuple(range(size)), np.array(values))
        assert leap(function) == leap_by_closure(found)
        if len(found) <= 4:
            assert leap(function) == leap_by_orderings(found)


@pytest.mark.slow
def test_four_bits_by_closure(four_bits, unchecked):
    """Functions of four bits."""
    del unchecked
    even = [sum((character(mask, b) == 1) << b for b in range(16)) for mask in range(16)]
    for number, function in four_bits.items():
        found = frozenset(m for m in range(1, 16) if 2 * ones(number & even[m]) != ones(number))
        assert leap(function) == leap_by_closure(found)


@given(functions(most=6))
def test_functions_by_closure(function):
    """Functions of every kind to six bits."""
    assert leap(function) == leap_by_closure(support(function.table.tolist()))


@given(st.integers(7, 11), st.integers(0, 2**32 - 1))
def test_random_tables_by_closure(size, seed):
    """Random tables to 11 bits, multiplied by a parity of some of them so that small sets are missing."""
    rng = np.random.default_rng(seed)
    inner = random_junta(tuple(range(3)), rng)
    function = (inner & parity(tuple(range(3, size)))) ^ parity(tuple(range(1, size)))
    matrix = np.array([[1]])
    for _ in range(function.sparsity):  # Hadamard's matrix, whose row S is χ_S
        matrix = np.kron(np.array([[1, 1], [1, -1]]), matrix)
    masks = np.flatnonzero(matrix @ function.table.astype(int))
    assert leap(function) == leap_by_closure(frozenset(int(mask) for mask in masks if mask))


@given(countings(least=1, most=7))
def test_counting_rules_by_closure(drawn):
    """The short cut for functions of a count: the least size with a coefficient."""
    function = from_levels(*drawn)
    assert leap(function) == leap_by_closure(support(function.table.tolist()))


@pytest.mark.parametrize("s", [25, 60])
def test_long_counting_rules(s):
    """The least k ≥ 1 with a weight, told apart from rounding by its size."""
    rng = np.random.default_rng(s)
    even = tuple(min(j, s - j) % 3 == 1 for j in range(s + 1))  # unchanged by exchanging 0 and 1: no odd degrees
    for levels in (even, tuple(bool(b) for b in rng.integers(0, 2, s + 1)), tuple(j % 4 < 2 for j in range(s + 1))):
        function = from_levels(tuple(range(s)), levels)
        assert leap(function) == next(k for k, w in enumerate(fourier_weight(function)) if k and w > 1e-20)
    assert leap(from_levels(tuple(range(s)), even)) == 2


VECTORS = [
    ([{1}, {1, 2}, {1, 2, 3}], 1),
    ([{1, 2, 3}], 3),
    ([{1}, {1, 2, 3}], 2),
    ([{1, 2}, {3, 4}], 2),
    ([], 0),
]


@pytest.mark.parametrize(("sets", "expected"), VECTORS)
def test_supports_of_the_theory(sets, expected):
    """Staircases and gaps."""
    masks = np.array([sum(1 << i for i in chosen) for chosen in sets], dtype=np.uint32)
    assert leap_of_sets(masks) == expected
    assert leap_of_sets(masks[::-1]) == expected


@pytest.mark.parametrize("s", [1, 2, 3, 8, 24, 1000])
def test_families(s):
    """A parity leaps over all its positions at once; conjunctions, disjunctions and majorities go one by one."""
    places = tuple(range(s))
    assert leap(parity(places)) == leap(~parity(places)) == s
    assert leap(conjunction(places)) == leap(disjunction(places)) == leap(majority(places)) == 1


def test_constants_do_not_leap():
    """A constant has nothing to find."""
    assert leap(constant(value=False)) == leap(constant(value=True)) == 0


def test_twenty_positions():
    """A staircase ends in a leap of 17: x0 & x1 & x2 alone, or with a parity of 17 more."""
    function = conjunction((0, 1, 2)) & parity(tuple(range(3, 20)))
    assert function.sparsity == 20
    assert leap(function) == 17
    assert leap(random_junta(tuple(range(20)), np.random.default_rng(3))) == 1
