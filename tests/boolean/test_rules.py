"""Rules: a table of patterns and a count of literals say the same thing wherever both can."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given

from keyhole.boolean.function import MAX_TABLE, Levels, Table, halves, pattern_counts, tabulate
from keyhole.errors import FormulaError

from helpers.oracles import bit, ones
from helpers.strategies import countings


@given(countings())
def test_a_table_counts_its_true_literals(drawn):
    """Entry b of the table is the level of #{i : b_i ≠ negated_i}."""
    _, levels, negated = drawn
    values = tabulate(Levels(levels, negated))
    assert values.tolist() == [
        levels[sum(bit(b, i) != flip for i, flip in enumerate(negated))] for b in range(1 << len(negated))
    ]


@pytest.mark.parametrize("size", [0, 1, 5, 12])
def test_set_sizes(size):
    """Without negations the count of a pattern is its number of ones."""
    assert pattern_counts((False,) * size).tolist() == [ones(b) for b in range(1 << size)]


@pytest.mark.parametrize("index", [0, 1, 2])
def test_halves_are_cofactors(index):
    """The halves at i list the patterns with b_i = 0 and b_i = 1, in one order."""
    zero, one = halves(np.arange(8), index)
    assert sorted(zero.reshape(-1)) == [b for b in range(8) if not bit(b, index)]
    assert (zero.reshape(-1) + (1 << index)).tolist() == one.reshape(-1).tolist()


def test_constant_and_alternating():
    """A rule is constant when no step changes the value, alternating when each does; one level is both."""
    for levels in (levels for s in range(5) for levels in product((False, True), repeat=s + 1)):
        steps = [levels[j] != levels[j + 1] for j in range(len(levels) - 1)]
        rule = Levels(levels, (False,) * (len(levels) - 1))
        assert (rule.constant, rule.alternating) == (not any(steps), all(steps))


def test_tables_are_values():
    """Tables are equal and hash alike exactly when their entries are, and cannot be changed."""
    here, same, other = (Table(np.array([False, last])) for last in (True, True, False))
    assert here == same != other
    assert hash(here) == hash(same)
    assert here != [False, True]
    with pytest.raises(ValueError, match="read-only"):
        here.values[0] = True


def test_long_counts_have_no_table():
    """Beyond 24 positions a counting rule is not tabulated."""
    size = MAX_TABLE + 1
    with pytest.raises(FormulaError, match="table of 25 positions was needed, but a table holds at most 24"):
        tabulate(Levels((False,) * size + (True,), (False,) * size))
