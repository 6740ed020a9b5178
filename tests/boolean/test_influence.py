"""Influences and sensitivity against flipping every bit, and the identities that tie them to the spectrum."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean import influence as code
from keyhole.boolean.families import conjunction, disjunction, majority, parity, random_junta
from keyhole.boolean.fourier import fourier_weight, sign_spectrum, spectrum
from keyhole.boolean.function import constant, from_levels, from_table
from keyhole.boolean.influence import count_law, influences, largest_sensitivity
from keyhole.errors import AssumptionError

from helpers.oracles import bit, influence, ones, pivotal, probability, sensitivity, table_from_number
from helpers.strategies import countings, functions

BIASES = [0.0, 0.1, 0.5, 0.7937005, 1.0]
SLACK = 1e-14  # ≤ 6 bits: 64 terms below 1 that are each rounded a dozen times, and sum to at most 1


def test_small_functions_by_definition():
    """Influences, both sensitivities and P(f = 1): all functions of ≤ 3 bits, at several biases."""
    for number, size in ((n, s) for s in range(4) for n in range(1 << (1 << s))):
        function = from_table(tuple(range(size)), np.array(table_from_number(number, size)))
        table, s = function.table.tolist(), function.sparsity
        assert [Fraction(x) for x in influences(function)] == [influence(table, i) for i in range(s)]
        assert largest_sensitivity(function) == max(sensitivity(table, b) for b in range(len(table)))
        assert influences(function).sum() == sum(sensitivity(table, b) for b in range(len(table))) / len(table)
        for p in (0.1, 0.75):
            assert influences(function, p) == pytest.approx([influence(table, i, p) for i in range(s)], abs=SLACK)
            assert code.probability(function, p) == pytest.approx(probability(table, p), abs=SLACK)


@pytest.mark.slow
def test_four_bits_by_flipping(four_bits, unchecked):
    """Every influence and the largest sensitivity of the functions of four bits."""
    del unchecked
    patterns = np.arange(16)
    values = (np.arange(1 << 16)[:, None] >> patterns) & 1
    flips = np.stack([values != values[:, patterns ^ (1 << i)] for i in range(4)], axis=1)
    expected, largest = (flips.sum(axis=2) / 16).tolist(), flips.sum(axis=1).max(axis=1).tolist()
    for number, function in four_bits.items():
        found = dict(zip(function.positions, influences(function).tolist(), strict=True))
        assert [found.get(i, 0.0) for i in range(4)] == expected[number]
        assert largest_sensitivity(function) == largest[number]


@given(st.integers(5, 12), st.integers(0, 2**32 - 1), st.data())
def test_random_functions_by_flipping(size, seed, data):
    """An influence and the largest sensitivity of random tables to 12 bits."""
    function = random_junta(tuple(range(size)), np.random.default_rng(seed))
    table, index = function.table.tolist(), data.draw(st.integers(0, size - 1))
    assert influences(function)[index] == sum(pivotal(table, index, b) for b in range(len(table))) / len(table)
    assert largest_sensitivity(function) == max(sensitivity(table, b) for b in range(len(table)))


@given(countings(most=6), st.sampled_from(BIASES))
def test_counting_rules_by_definition(drawn, p):
    """The short cut for functions of a count, negated literals included, at every bias."""
    function = from_levels(*drawn)
    table, s = function.table.tolist(), function.sparsity
    assert influences(function, p) == pytest.approx([influence(table, i, p) for i in range(s)], abs=SLACK)
    assert code.probability(function, p) == pytest.approx(probability(table, p), abs=SLACK)
    assert largest_sensitivity(function) == max(sensitivity(table, b) for b in range(len(table)))


@given(functions(most=6), st.sampled_from(BIASES))
def test_tables_by_definition(function, p):
    """Tables at every bias."""
    table = function.table.tolist()
    found = influences(function, p)
    assert found == pytest.approx([influence(table, i, p) for i in range(function.sparsity)], abs=SLACK)
    assert code.probability(function, p) == pytest.approx(probability(table, p), abs=SLACK)


@given(functions(most=8))
def test_influence_is_fourier_weight(function):
    """Inf_i = Σ_{S∋i} of the squared sign coefficients = 4 Σ_{S∋i} f̂(S)², and total influence = Σ_k k W_k."""
    masks = np.arange(1 << function.sparsity)
    for i, found in enumerate(influences(function)):
        inside = (masks >> i) & 1 == 1
        assert found == pytest.approx((sign_spectrum(function)[inside] ** 2).sum(), abs=SLACK)
        assert found == pytest.approx(4 * (spectrum(function)[inside] ** 2).sum(), abs=SLACK)
    weight = fourier_weight(function)
    assert influences(function).sum() == pytest.approx(np.arange(len(weight)) @ weight, abs=100 * SLACK)


def test_total_influence_of_thousands():
    """Total influence = Σ_k k W_k at s = 1001, by two routes that share no formula: flips, and the recurrence."""
    function = majority(tuple(range(1001)))
    assert influences(function).sum() == pytest.approx(np.arange(1002) @ fourier_weight(function), rel=1e-10)


def test_conjunction_of_three():
    """AND_3: Inf_i = 1/4, total 0.75; at its balanced bias Inf_i = p² = 0.6299605."""
    three = conjunction((0, 1, 2))
    assert influences(three).tolist() == [0.25] * 3
    assert influences(three).sum() == 0.75
    assert influences(three, 2 ** (-1 / 3)) == pytest.approx([0.6299605] * 3, abs=5e-8)


@pytest.mark.parametrize("s", [1, 2, 7, 50])
@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 1.0])
def test_parities_feel_every_flip(s, p):
    """Every bit of a parity has influence 1 under every law, and its sensitivity is s everywhere."""
    assert influences(parity(tuple(range(s))), p) == pytest.approx([1.0] * s, rel=1e-13)
    assert largest_sensitivity(parity(tuple(range(s)))) == s


@pytest.mark.parametrize("s", [3, 30, 3000])
def test_closed_forms(s):
    """AND, OR and majority: p^{s−1}, (1−p)^{s−1}, and the middle binomial."""
    places, p = tuple(range(s)), 0.999
    assert influences(conjunction(places), p)[-1] == pytest.approx(p ** (s - 1), rel=1e-11)
    assert influences(disjunction(places), 1 - p)[0] == pytest.approx(p ** (s - 1), rel=1e-11)
    assert code.probability(conjunction(places), p) == pytest.approx(p**s, rel=1e-11)
    assert code.probability(majority(places)) == pytest.approx(
        0.5 if s % 2 else 0.5 - count_law((False,) * s, 0.5)[s // 2] / 2
    )
    assert (largest_sensitivity(conjunction(places)), largest_sensitivity(majority(places))) == (s, s // 2 + 1)


def test_majority_of_three():
    """Majority_3: Inf_i = 1/2."""
    assert influences(majority((0, 1, 2))).tolist() == [0.5] * 3


def test_constants_feel_nothing():
    """A constant has no influences, no sensitivity, and probability 0 or 1."""
    for value in (False, True):
        assert influences(constant(value)).tolist() == []
        assert (influences(constant(value)).sum(), largest_sensitivity(constant(value))) == (0.0, 0)
        assert code.probability(constant(value), 0.3) == value


@given(st.lists(st.booleans(), max_size=7), st.sampled_from(BIASES))
def test_the_law_of_the_count(negated, p):
    """The number of true literals, by summing over all patterns."""
    size, expected = len(negated), [0.0] * (len(negated) + 1)
    for b in range(1 << size):
        true = sum(bit(b, i) != flip for i, flip in enumerate(negated))
        expected[true] += p ** ones(b) * (1 - p) ** (size - ones(b))
    assert count_law(tuple(negated), p) == pytest.approx(expected, abs=SLACK)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
@pytest.mark.parametrize("ask", [code.probability, influences])
def test_refusals(ask, p):
    """A bias outside [0, 1] is no probability."""
    with pytest.raises(AssumptionError, match=f"probability {p} were asked for; a probability lies in"):
        ask(parity((0, 1)), p)
