"""Shape: symmetric, monotone and threshold functions, every verdict against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean import shape
from keyhole.boolean.families import majority, parity, random_junta
from keyhole.boolean.function import from_levels, from_table, literal
from keyhole.boolean.shape import MAX_THRESHOLD, threshold_certificate

from helpers.oracles import bit, is_monotone, is_symmetric, relevant, size_of, table_from_number, threshold_functions
from helpers.strategies import countings, functions, positions


def certified(function, certificate):
    """Whether the weights of a proved certificate give the function on every pattern."""
    weights, least = certificate.weights, certificate.threshold
    return [
        sum(w * bit(b, i) for i, w in enumerate(weights)) >= least for b in range(1 << len(weights))
    ] == function.table.tolist() and len(weights) == function.sparsity


def verdict_is_right(function, is_threshold):
    """Proved with weights that work, or refuted without any: never undecided, never the other."""
    certificate = threshold_certificate(function)
    if is_threshold:
        assert certificate.verdict == "proved", function
        assert certified(function, certificate), function
    else:
        assert certificate.verdict == "refuted", function
        assert certificate.weights is None


def test_the_oracle_knows_every_threshold_function():
    """There are 2, 4, 14, 104 and 1882 threshold functions of 0 to 4 bits (a known count)."""
    assert [len(threshold_functions(size)) for size in range(5)] == [2, 4, 14, 104, 1882]


def test_small_functions_by_definition():
    """All functions of ≤ 3 bits: monotone, symmetric in the bits that matter, threshold."""
    for number, size in ((n, s) for s in range(4) for n in range(1 << (1 << s))):
        values = table_from_number(number, size)
        function = from_table(tuple(range(size)), np.array(values))
        assert shape.is_monotone(function) == is_monotone(values)
        assert shape.is_symmetric(function) == is_symmetric(function.table.tolist())
        verdict_is_right(function, number in threshold_functions(size))


@pytest.mark.slow
def test_four_bits_by_definition(four_bits, unchecked):
    """Symmetric and monotone: functions of four bits."""
    del unchecked
    pairs = [(b, b | (1 << i)) for b in range(16) for i in range(4) if not bit(b, i)]
    by_count = [[b for b in range(16) if b.bit_count() == j] for j in range(5)]
    for number, function in four_bits.items():
        assert shape.is_monotone(function) == all(bit(number, low) <= bit(number, high) for low, high in pairs)
        if function.sparsity == 4:
            level = all(len({bit(number, b) for b in patterns}) == 1 for patterns in by_count)
            assert shape.is_symmetric(function) == level


@pytest.mark.long
def test_thresholds_of_four_bits(four_bit_classes, unchecked):
    """Every threshold function of four bits is proved; one of each class under permutation of the rest is refuted."""
    del unchecked
    known = threshold_functions(4)
    for number in {*known, *four_bit_classes}:
        function = from_table((0, 1, 2, 3), np.array([bool(bit(number, b)) for b in range(16)]))
        verdict_is_right(function, number in known)


@given(countings(most=8))
def test_counting_functions(drawn):
    """A function of a count of literals is a threshold function exactly when its levels rise or fall."""
    function = from_levels(*drawn)
    turns = sum(a != b for a, b in zip(function.rule.levels, function.rule.levels[1:], strict=False))
    verdict_is_right(function, turns <= 1)
    assert shape.counts_literals(function)
    assert shape.is_symmetric(function) == is_symmetric(function.table.tolist()[: 1 << min(function.sparsity, 6)]) or (
        function.sparsity > 6
    )
    assert shape.is_monotone(function) == is_monotone(function.table.tolist())


@given(positions(least=1, most=9), st.integers(0, 2**32 - 1), st.sampled_from([2, 10, 3000]))
def test_weighted_sums_are_proved(places, seed, largest):
    """A threshold of drawn integer weights, small and large, is always proved and its certificate checks."""
    rng, s = np.random.default_rng(seed), len(places)
    weights = rng.integers(-largest, largest + 1, s)
    sums = ((np.arange(1 << s)[:, None] >> np.arange(s)) & 1) @ weights
    function = from_table(places, sums >= rng.choice(sums))
    verdict_is_right(function, is_threshold=True)


@given(st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=2, max_size=4))
def test_monotone_functions_are_settled(terms):
    """Disjunctions of positive conjunctions: proved ones check, and refuted ones break a known law of thresholds.

    The law: a threshold function has no x, y true and u, v false with x + y = u + v, nor any longer such pair of lists;
    for lists of two it is necessary, and for at most eight bits it is also sufficient.
    """
    values = np.array([any(all(bit(b, i) for i in term) for term in terms) for b in range(256)])
    function = from_table(tuple(range(8)), values)
    certificate = threshold_certificate(function)
    table = function.table.tolist()
    true, false = ([b for b, value in enumerate(table) if value is wanted] for wanted in (True, False))

    def sums(patterns):
        return {tuple(bit(x, i) + bit(y, i) for i in range(size_of(table))) for x in patterns for y in patterns}

    if certificate.verdict == "proved":
        assert certified(function, certificate)
    else:
        assert certificate.verdict == "refuted"
        assert sums(true) & sums(false)


def test_functions_that_both_rise_and_fall_are_refuted():
    """The refusal names the position whose raising does both."""
    certificate = threshold_certificate(literal(4) & literal(7) | ~literal(4) & literal(9))
    assert certificate.verdict == threshold_certificate(parity((0, 1))).verdict == "refuted"
    assert "x4" in certificate.method


def test_beyond_the_limit_it_is_undecided():
    """A monotone table of more than 14 positions is not asked about, and the certificate says so."""
    size = MAX_THRESHOLD + 1
    function = majority(tuple(range(9))) & majority(tuple(range(9, size)))
    certificate = threshold_certificate(function)
    assert certificate.verdict == "undecided"
    assert certificate.weights is None


def test_long_counting_functions_are_settled():
    """Thousands of literals need no linear program."""
    places, signs = tuple(range(3000)), tuple(i % 2 == 1 for i in range(3000))
    for rising in (True, False):
        certificate = threshold_certificate(
            from_levels(places, tuple((j >= 1000) == rising for j in range(3001)), signs)
        )
        weights, least = np.array(certificate.weights), certificate.threshold
        for true in (0, 999, 1000, 3000):
            bits = (np.arange(3000) < true) ^ np.array(signs)
            assert (weights @ bits >= least) == ((true >= 1000) == rising)


@given(functions(most=5))
def test_a_function_and_its_negation(function):
    """A function is a threshold one exactly when ~f is, and symmetric exactly when ~f is."""
    assert threshold_certificate(function).verdict == threshold_certificate(~function).verdict
    assert shape.is_symmetric(function) == shape.is_symmetric(~function)


def test_random_tables_are_refuted():
    """Random tables of six bits both rise and fall."""
    function = random_junta(tuple(range(6)), np.random.default_rng(0))
    assert threshold_certificate(function).verdict == "refuted"
    assert len(relevant(function.table.tolist())) == 6


@pytest.mark.parametrize("rows", [[[1, 0], [0, 1]], [[1, 1], [1, -1]]])
def test_nothing_cancels_without_a_kernel(rows):
    """Independent rows have no vanishing combination; opposite rows have one; a difference is not a sum."""
    assert not shape._cancels(np.array(rows))
    assert shape._cancels(np.array([rows[0], [-x for x in rows[0]]]))
    assert not shape._cancels(np.array([rows[0], rows[0]]))
