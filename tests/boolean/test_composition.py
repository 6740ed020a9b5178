"""Composition: joining by operators, by counting and by looking up agrees with doing so value by value."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean.families import majority
from keyhole.boolean.formula import OPERATIONS, Functions, balanced, count, join, look_up
from keyhole.boolean.function import constant, literal
from keyhole.errors import FormulaError

from helpers.strategies import functions

INPUTS = np.array(list(product((False, True), repeat=5)))
near = functions(most=3, last=4)


@given(st.lists(near, min_size=1, max_size=4), st.data())
def test_counting_arguments(arguments, data):
    """The value is the level of the number of true arguments, on every input; arguments may overlap or be constant."""
    levels = data.draw(st.tuples(*[st.booleans()] * (len(arguments) + 1)))
    truth = np.array([argument(INPUTS) for argument in arguments])
    expected = [levels[int(column.sum())] for column in truth.T]
    assert count(arguments, levels)(INPUTS).tolist() == expected


@given(st.lists(near, min_size=1, max_size=4), st.data())
def test_looking_arguments_up(arguments, data):
    """The value is the table's entry at the arguments' values, the first as least significant bit."""
    values = data.draw(st.lists(st.booleans(), min_size=1 << len(arguments), max_size=1 << len(arguments)))
    truth = [argument(INPUTS) for argument in arguments]
    expected = [values[sum(int(row[b]) << i for i, row in enumerate(truth))] for b in range(len(INPUTS))]
    assert look_up(arguments, np.array(values))(INPUTS).tolist() == expected


@pytest.mark.parametrize("extra", [constant(value=False), constant(value=True)])
def test_a_constant_among_wider_arguments(extra):
    """As many positions as arguments does not make each argument a literal: two bits in one, none in the other."""
    pair = literal(1) ^ literal(2)
    assert count([pair, extra], (False, False, True)) == pair & extra
    assert look_up([extra, pair], np.array([False, False, False, True])) == pair & extra


@given(st.lists(near, min_size=1, max_size=7), st.data())
def test_precedence(operands, data):
    """& binds before ^ before |: the same as Python's own evaluation, operand by operand."""
    signs = data.draw(st.lists(st.sampled_from("&|^"), min_size=len(operands) - 1, max_size=len(operands) - 1))
    groups = [[[operands[0]]]]  # a disjunction of sums of conjunctions
    for sign, operand in zip(signs, operands[1:], strict=True):
        if sign == "|":
            groups.append([[operand]])
        elif sign == "^":
            groups[-1].append([operand])
        else:
            groups[-1][-1].append(operand)
    expected = np.zeros(len(INPUTS), dtype=bool)
    for sums in groups:
        total = np.zeros(len(INPUTS), dtype=bool)
        for product_of in sums:
            total ^= np.all([operand(INPUTS) for operand in product_of], axis=0)
        expected |= total
    assert join(Functions(), operands, signs)(INPUTS).tolist() == expected.tolist()


@given(st.lists(near, min_size=1, max_size=9), st.sampled_from("&|^"))
def test_a_balanced_tree_changes_nothing(operands, sign):
    """Joining in a tree equals joining from left to right."""
    expected = operands[0]
    for operand in operands[1:]:
        expected = OPERATIONS[sign](expected, operand)
    assert balanced(OPERATIONS[sign], list(operands)) == expected


def test_many_distinct_literals_need_no_table():
    """Counting 5,000 distinct literals is a counting rule; a negated one counts when its bit is 0."""
    terms = [literal(i) if i % 2 else ~literal(i) for i in range(5000)]
    function = count(terms, tuple(j > 2500 for j in range(5001)))
    inputs = np.array([[i % 2 == 1 for i in range(5000)], [i % 2 == 0 for i in range(5000)]])
    assert function(inputs).tolist() == [True, False]


def test_too_many_positions():
    """Arguments that are formulas need a table, of at most 24 positions."""
    pairs = [literal(2 * i) & literal(2 * i + 1) for i in range(13)]
    with pytest.raises(FormulaError, match=r"formulas on 26 positions was asked for; .* at most 24"):
        count(pairs, (False,) * 7 + (True,) * 7)
    with pytest.raises(FormulaError, match="at most 24"):
        look_up([majority(tuple(range(25)))], np.array([False, True]))
