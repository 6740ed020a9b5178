"""Printing: the formula of a function reads back as the same function."""

from itertools import cycle, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean.families import conjunction, disjunction, majority, parity, random_junta, threshold
from keyhole.boolean.formula import parse
from keyhole.boolean.function import from_levels, from_table, literal, split, table_bits, table_digits

from helpers.oracles import table_from_number, value_of_formula
from helpers.strategies import countings, formulas, functions, tables


@pytest.mark.parametrize("size", range(4))
def test_small_functions_read_back(size):
    """Every function of at most three bits, by our parser and by Python's."""
    places = (1, 4, 12)[:size]
    for number in range(1 << (1 << size)):
        values = table_from_number(number, size)
        text = str(from_table(places, np.array(values)))
        assert parse(text) == from_table(places, np.array(values)), text
        for pattern, value in enumerate(values):
            is_one = {place: (pattern >> i) & 1 for i, place in enumerate(places)}
            assert value_of_formula(text, is_one.__getitem__) == value, text


@pytest.mark.slow
def test_four_bits_read_back(four_bit_classes, unchecked):
    """Functions of four bits: one for each class under permutation of the bits, the positions in a new order each."""
    del unchecked
    orders = cycle(permutations((3, 0, 11, 2)))
    assert len(four_bit_classes) == 3984  # functions of four bits up to permutation
    for number, places in zip(four_bit_classes, orders, strict=False):
        function = from_table(places, np.array(table_from_number(number, 4)))
        assert parse(str(function)) == function


@given(functions(most=10))
def test_functions_read_back(function):
    """Functions of every kind, at positions up to 10⁹."""
    assert parse(str(function)) == function


@given(st.integers(5, 12), st.integers(0, 2**32 - 1))
def test_random_tables_read_back(size, seed):
    """Random tables to 12 bits, past the size that is taken apart and the size written in binary."""
    function = random_junta(tuple(range(size)), np.random.default_rng(seed))
    assert parse(str(function)) == function


@given(countings(least=1, most=12), st.integers(0, 200), st.data())
def test_counts_read_back(drawn, more, data):
    """Counting functions of up to 200 literals, many of them thresholds and their negations."""
    assert parse(str(from_levels(*drawn))) == from_levels(*drawn)
    places = tuple(range(more))
    signs = data.draw(st.lists(st.booleans(), min_size=more, max_size=more))
    levels = data.draw(st.lists(st.booleans(), min_size=more + 1, max_size=more + 1))
    turn, rising = data.draw(st.integers(0, more + 1)), data.draw(st.booleans())
    step = tuple((j >= turn) == rising for j in range(more + 1))
    for chosen in (tuple(levels), step):
        function = from_levels(places, chosen, tuple(signs))
        assert parse(str(function)) == function


@pytest.mark.parametrize("size", range(1, 9))
def test_all_thresholds_read_back(size, unchecked):
    """At least k and fewer than k of up to eight literals, none, some, most or all of them negated."""
    del unchecked
    for least, negatives, rising in product(range(size + 2), range(size + 1), (True, False)):
        levels = tuple((j >= least) == rising for j in range(size + 1))
        function = from_levels(tuple(range(size)), levels, tuple(i >= negatives for i in range(size)))
        assert parse(str(function)) == function


@given(formulas())
def test_formulas_settle(text):
    """Printing what was read, and reading that, changes nothing more."""
    once = str(parse(text))
    assert str(parse(once)) == once


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (literal(3), "x3"),
        (~literal(3), "~x3"),
        (literal(3) & ~literal(3), "0"),
        (literal(3) | ~literal(3), "1"),
        (conjunction((1, 2, 3)), "x1 & x2 & x3"),
        (~conjunction((1, 2)), "~x1 | ~x2"),
        (disjunction((1, 2, 3)), "x1 | x2 | x3"),
        (~disjunction((1, 2)), "~x1 & ~x2"),
        (parity((1, 2)), "x1 ^ x2"),
        (~parity((1, 2, 3)), "~x1 ^ x2 ^ x3"),
        (parity((1, 2, 3, 4)), "parity(x1, x2, x3, x4)"),
        (~parity((1, 2, 3, 4)), "parity(~x1, x2, x3, x4)"),
        (majority((1, 2, 5)), "maj(x1, x2, x5)"),
        (~majority((1, 2, 5)), "~maj(x1, x2, x5)"),
        (threshold(2, (1, 2, 3, 4)), "atleast(2; x1, x2, x3, x4)"),
        (from_levels((1, 2, 3), (False, True, True, False)), "symmetric(0110; x1, x2, x3)"),
        (literal(0) & parity((1, 2)), "x0 & (x1 ^ x2)"),
        (literal(0) & disjunction((1, 2)), "x0 & (x1 | x2)"),
        (literal(0) ^ conjunction((1, 2)), "x0 ^ x1 & x2"),
        (literal(0) ^ disjunction((1, 2)), "x0 ^ (x1 | x2)"),
        (literal(3) & ~literal(17) | majority((1, 2, 5)), "maj(x1, x2, x5) | x3 & ~x17"),
    ],
)
def test_texts(function, text):
    """What a person would write, without brackets that precedence makes idle."""
    assert str(function) == text


@given(tables(least=1, most=6))
def test_tables_in_digits(drawn):
    """Bits list the entries in order; the hexadecimal number has entry i as its digit of weight 2^i."""
    _, values = drawn
    assert [letter == "1" for letter in table_bits(values)] == values.tolist()
    long = np.concatenate([values] * (128 // len(values)))
    number = int(table_digits(long), 16)
    assert [bool((number >> i) & 1) for i in range(128)] == long.tolist()


@given(tables(least=1, most=3, last=5), tables(least=1, most=3, last=5), st.sampled_from("|^&"))
def test_split_parts_join_again(left, right, operator):
    """What is split on disjoint positions gives the whole back, and each position goes to one part."""
    f, g = from_table(*left), from_table(*right)
    g = from_table(tuple(place + 10 for place in right[0]), right[1])
    whole = {"|": f | g, "^": f ^ g, "&": f & g}[operator]
    parts = split(whole.table, whole.sparsity, operator)
    assert sorted(i for indices, _ in parts for i in indices) == list(range(whole.sparsity))
    if f.sparsity and g.sparsity:
        assert len(parts) >= 2
    rebuilt = [from_table(tuple(whole.positions[i] for i in indices), values) for indices, values in parts]
    joined = rebuilt[0]
    for part in rebuilt[1:]:
        joined = {"|": joined | part, "^": joined ^ part, "&": joined & part}[operator]
    assert joined == whole
