"""The Fourier expansion against direct summation, its identities, and the closed forms of the field."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean import fourier
from keyhole.boolean.families import conjunction, majority, parity, random_junta
from keyhole.boolean.fourier import (
    binomial_law,
    degree,
    fourier_weight,
    integer_spectrum,
    sign_spectrum,
    spectrum,
)
from keyhole.boolean.function import constant, from_levels, from_table
from keyhole.errors import FormulaError

from helpers.oracles import (
    character,
    coefficient,
    counting_weights,
    ones,
    sign_coefficient,
    table_from_number,
    weights,
)
from helpers.strategies import countings, functions

UNIT = 2.0**-53


def small_tables():
    """Every table of at most three bits."""
    return [table_from_number(n, s) for s in range(4) for n in range(1 << (1 << s))]


def test_small_functions_by_definition():
    """f̂(S) = E[f χ_S] in exact fractions, the sign form, its weights and the degree: all functions of ≤ 3 bits."""
    for values in small_tables():
        function = from_table(tuple(range(len(values).bit_length() - 1)), np.array(values))
        table = function.table.tolist()
        exact = [coefficient(table, mask) for mask in range(len(table))]
        assert [Fraction(c) for c in spectrum(function)] == exact
        assert [Fraction(int(c), len(table)) for c in integer_spectrum(function)] == exact
        assert [Fraction(c) for c in sign_spectrum(function)] == [sign_coefficient(table, m) for m in range(len(table))]
        assert fourier_weight(function) == pytest.approx([float(w) for w in weights(table)], abs=16 * UNIT)
        assert degree(function) == max((ones(mask) for mask, c in enumerate(exact) if c), default=0)


@pytest.mark.slow
def test_four_bits_by_definition(four_bits, unchecked):
    """All coefficients and the degree, functions of four bits: true patterns with χ_S = 1 less those with −1."""
    del unchecked
    values = (np.arange(1 << 16)[:, None] >> np.arange(16)) & 1
    signs = np.array([[character(mask, b) for mask in range(16)] for b in range(16)])
    masks_of = {
        places: [sum(((m >> i) & 1) << place for i, place in enumerate(places)) for m in range(1 << len(places))]
        for size in range(5)
        for places in combinations(range(4), size)
    }
    spectra = (values @ signs).tolist()
    for number, function in four_bits.items():
        found = spectra[number]
        places = function.positions
        masks = masks_of[places]
        scaled = [int(c) << (4 - len(places)) for c in integer_spectrum(function)]
        assert scaled == [found[mask] for mask in masks]
        assert sum(found[mask] ** 2 for mask in masks) == 16 * ones(number)  # nothing outside the relevant bits
        assert degree(function) == max((ones(mask) for mask in masks if found[mask]), default=0)


@given(st.integers(5, 12), st.integers(0, 2**32 - 1), st.data())
def test_random_functions_by_definition(size, seed, data):
    """Coefficients of random tables to 12 bits, sets drawn at random, exactly; and Parseval in integers."""
    function = random_junta(tuple(range(size)), np.random.default_rng(seed))
    found = integer_spectrum(function)
    mask = data.draw(st.integers(0, (1 << size) - 1))
    assert Fraction(int(found[mask]), 1 << size) == coefficient(function.table.tolist(), mask)
    assert sum(int(c) ** 2 for c in found) == int(function.table.sum()) << size


@given(functions(most=8))
def test_parseval(function):
    """The weights of the sign form sum to 1, and E f² = Σ f̂(S)²."""
    assert fourier_weight(function).sum() == pytest.approx(1, abs=256 * UNIT)  # sums of ≤ 256 rounded squares
    assert (spectrum(function) ** 2).sum() == pytest.approx(function.table.mean(), abs=256 * UNIT)


@given(functions(most=5))
def test_inversion(function):
    """f(b) = Σ_S f̂(S) χ_S(b), exactly: the coefficients are multiples of 2^{−s}."""
    found = spectrum(function)
    for b, value in enumerate(function.table):
        assert sum(c * character(mask, b) for mask, c in enumerate(found)) == value


@given(countings(most=8))
def test_counting_weights_agree_with_the_table(drawn):
    """The short cut for functions of a count gives the weights that the table gives."""
    function = from_levels(*drawn)
    sizes = [ones(mask) for mask in range(1 << function.sparsity)]
    by_table = np.bincount(sizes, weights=sign_spectrum(function) ** 2)
    assert fourier_weight(function) == pytest.approx(by_table, abs=256 * UNIT)  # the table's: ≤ 256 rounded squares
    assert degree(function) == max((k for k, w in enumerate(by_table) if w), default=0)


@pytest.mark.parametrize("s", [9, 16])
def test_counting_weights_at_sixteen_bits(s):
    """The same for thresholds and drawn levels of up to 16 literals."""
    rng = np.random.default_rng(s)
    for levels in [tuple(j >= k for j in range(s + 1)) for k in (1, s // 2, s)] + [tuple(rng.random(s + 1) < 0.5)]:
        function = from_levels(tuple(range(s)), tuple(map(bool, levels)))
        by_table = np.bincount([ones(m) for m in range(1 << s)], weights=sign_spectrum(function) ** 2)
        assert fourier_weight(function) == pytest.approx(by_table, abs=2**s * UNIT)  # sums of ≤ 2^s rounded squares


@pytest.mark.parametrize("s", [1, 2, 7, 24, 25, 41, 60])
def test_counting_weights_in_exact_integers(s, monkeypatch):
    """To 60 literals the weights are exact fractions rounded once, and the degree follows their zeros.

    The recurrence that takes over for longer rules agrees, to s steps of a few roundings of unit vectors.
    """
    rng = np.random.default_rng(s)
    chosen = [tuple(2 * j > s for j in range(s + 1)), tuple(j == s for j in range(s + 1))]
    chosen += [tuple(bool(b) for b in rng.integers(0, 2, s + 1)), tuple(min(j, s - j) % 3 == 0 for j in range(s + 1))]
    for levels in chosen:
        function = from_levels(tuple(range(s)), levels)
        exact = counting_weights(levels)
        if function.sparsity:
            monkeypatch.setattr(fourier, "MAX_EXACT", s)
            assert fourier_weight(function).tolist() == [float(w) for w in exact]
            monkeypatch.setattr(fourier, "MAX_EXACT", s - 1)
            assert fourier_weight(function) == pytest.approx([float(w) for w in exact], abs=100 * UNIT * s)
        assert degree(function) == max((k for k, w in enumerate(exact) if w), default=0)
        assert sum(exact) == 1


@pytest.mark.parametrize("s", [3000, 3001])
def test_parseval_with_thousands_of_literals(s):
    """At s ≈ 3000, where the law of the count underflows, the weights still sum to 1; majority's are odd if s is."""
    rng = np.random.default_rng(s)
    for levels in (tuple(2 * j > s for j in range(s + 1)), tuple(bool(b) for b in rng.integers(0, 2, s + 1))):
        found = fourier_weight(from_levels(tuple(range(s)), levels))
        assert found.sum() == pytest.approx(1, abs=100 * UNIT * s)
    if s % 2:
        found = fourier_weight(majority(tuple(range(s))))
        # s P(a walk of s − 1 steps returns)²: the weight of the s single positions
        assert found[1] == pytest.approx(s * float(Fraction(comb(s - 1, s // 2), 2 ** (s - 1))) ** 2, rel=1e-12)
        assert np.abs(found[::2]).max() < 100 * UNIT * s


def test_conjunction_of_three():
    """AND_3 under uniform bits: f̂(S) = (−1)^|S|/8."""
    assert spectrum(conjunction((4, 5, 6))).tolist() == [(-1) ** ones(m) / 8 for m in range(8)]


@pytest.mark.parametrize("s", [1, 2, 5, 9])
def test_parities_have_one_coefficient(s):
    """The sign form of a parity is χ of all its positions."""
    assert sign_spectrum(parity(tuple(range(s)))).tolist() == [0.0] * ((1 << s) - 1) + [1.0]
    assert degree(parity(tuple(range(s)))) == s


MAJORITIES = {
    3: [0.5, -0.5],
    5: [0.375, -0.125, 0.375],
    7: [0.3125, -0.0625, 0.0625, -0.3125],
    9: [0.2734375, -0.0390625, 0.0234375, -0.0390625, 0.2734375],
}


@pytest.mark.parametrize("n", MAJORITIES)
def test_majority_coefficients(n):
    """Majority as ±1 (+1 when most bits are 0): the coefficient of a set depends on its size, and is 0 at even ones."""
    found = sign_spectrum(majority(tuple(range(n))))
    by_size = {1 + 2 * i: value for i, value in enumerate(MAJORITIES[n])}
    assert found.tolist() == [by_size.get(ones(mask), 0.0) for mask in range(1 << n)]
    for k in range(2, n, 2):
        assert abs(by_size[k - 1]) == pytest.approx((n - k) / (k - 1) * abs(by_size[k + 1]), rel=1e-15)
    assert fourier_weight(majority(tuple(range(n))))[1] == pytest.approx(n * by_size[1] ** 2, rel=1e-14)


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("trials", [0, 1, 2, 7, 40])
def test_binomial_law(trials, p):
    """C(n, j) p^j (1−p)^{n−j}."""
    expected = [comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in range(trials + 1)]
    assert binomial_law(trials, p) == pytest.approx(expected, rel=1e-13)  # ≤ 2 n roundings, all terms positive


def test_the_degree_of_a_constant():
    """A constant has degree 0 and its whole weight there."""
    for value in (False, True):
        assert degree(constant(value)) == 0
        assert fourier_weight(constant(value)).tolist() == [1.0]


def test_a_degree_below_the_sparsity():
    """The function of three bits that is 1 when they are not all equal has degree 2."""
    assert degree(from_levels((0, 1, 2), (False, True, True, False))) == 2


def test_twenty_positions():
    """The spectrum of a random function of 20 positions satisfies Parseval in exact integers."""
    function = random_junta(tuple(range(20)), np.random.default_rng(4))
    found = integer_spectrum(function).astype(object)
    assert (found**2).sum() == int(function.table.sum()) << 20


@pytest.mark.parametrize(
    ("ask", "error", "sentence"),
    [
        (lambda: spectrum(majority(tuple(range(25)))), FormulaError, "of 25 positions"),
    ],
)
def test_refusals(ask, error, sentence):
    """Too many coefficients."""
    with pytest.raises(error, match=sentence):
        ask()
