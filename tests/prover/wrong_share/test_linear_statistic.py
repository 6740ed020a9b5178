"""The law of a sum of whole numbers over independent tokens, and draws given that it is small."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from keyhole.boolean import SymbolLaw, biased_bits, uniform_law
from keyhole.prover.wrong_share.linear_statistic import LinearStatistic

LAWS = [uniform_law(2), biased_bits(0.3), SymbolLaw((0.5, 0.3, 0.2))]


def exact_chances(statistic):
    """P(L = value) in rational numbers, by going through all inputs."""
    chances = [Fraction(chance) for chance in statistic.law.chances]
    total = sum(chances)
    found = {}
    for symbols in product(range(len(chances)), repeat=len(statistic.weights)):
        value = sum(int(row[symbol]) for row, symbol in zip(statistic.weights, symbols, strict=True))
        found[value] = found.get(value, Fraction(0)) + prod(chances[symbol] / total for symbol in symbols)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_ends_hold_the_exact_probability_and_are_close(law):
    """P(L < c) and P(L ≥ c) lie between their ends, which differ by 1e-9 of themselves at most."""
    rng = np.random.default_rng(law.symbols)
    for _ in range(5):
        statistic = LinearStatistic(rng.integers(0, 9, (7, law.symbols)), law)
        exact = exact_chances(statistic)
        for limit in range(-1, statistic.most + 3):
            below = sum((chance for value, chance in exact.items() if value < limit), Fraction(0))
            for (low, high), truth in ((statistic.below(limit), below), (statistic.from_on(limit), 1 - below)):
                assert Fraction(low) <= truth <= Fraction(high)
                assert high - low <= 1e-9 * max(high, 1e-100)


def test_what_underflows_is_not_forgotten():
    """2^−2000 is no double; the upper end of such a probability is above 0 and the lower end is 0."""
    statistic = LinearStatistic(np.tile([0, 1], (2000, 1)), uniform_law(2))
    low, high = statistic.below(1)
    assert low == 0.0
    assert 0 < high < 1e-300


def test_draws_follow_the_law_given_a_small_sum():
    """Every input with L < c is drawn as often as its conditional probability says, and no other one."""
    law = biased_bits(0.3)
    statistic = LinearStatistic(np.array([[0, 3], [2, 0], [1, 4], [0, 1], [5, 0]]), law)
    limit, count = 7, 40_000
    drawn = statistic.draw_below(limit, count, np.random.default_rng(0))
    sums = statistic.weights[np.arange(5), drawn].sum(axis=1)
    assert sums.max() < limit
    inputs = np.array(list(product(range(2), repeat=5)))
    chances = np.prod(np.where(inputs == 1, 0.3, 0.7), axis=1)
    kept = statistic.weights[np.arange(5), inputs].sum(axis=1) < limit
    expected = np.where(kept, chances, 0.0) / chances[kept].sum()
    seen = np.bincount(drawn @ 2 ** np.arange(4, -1, -1), minlength=32)
    spread = np.sqrt(np.maximum(expected * (1 - expected) * count, 1e-9))
    assert (np.abs(seen - count * expected) <= 5 * spread).all()
