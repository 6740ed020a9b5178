"""How few samples can ever name a sparse function."""

from itertools import combinations
from math import comb, log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds.finite.floor import expected_rivals, first_moment_size, information_floor
from keyhole.errors import AssumptionError

# T, floor, first-moment size, of the theory's table
TABLE = [
    (10, 6.91, 17),
    (30, 11.99, 23),
    (100, 17.30, 28),
    (300, 22.09, 33),
    (1000, 27.31, 38),
    (3000, 32.07, 43),
    (10000, 37.28, 48),
]


@given(st.integers(1, 10), st.integers(1, 3), st.integers(0, 5))
def test_no_rule_names_more_sets_than_it_has_answers(T, s, m):
    """With m one-bit answers at most 2^m sets are named: the floor at that rate is at most m."""
    sets = comb(T, min(s, T))
    success = min(1.0, 2**m / sets)
    assert information_floor(T, min(s, T), 1 - success) <= m + 1e-9  # one rounding of 1 − (1 − success)


def test_one_of_two_positions_needs_one_sample():
    """Equality: one position of two takes exactly one bit."""
    assert information_floor(2, 1) == 1.0


@given(st.integers(3, 10**9))
def test_the_floor_grows_like_s_log_t(T):
    """log₂ C(T, 3) lies between 3 log₂(T/3) and 3 log₂ T: the slope is 3 / ln 2 per unit of ln T."""
    assert 3 * log2(T / 3) - 1e-9 <= information_floor(T, 3) <= 3 * log(T) / log(2)


@pytest.mark.parametrize(("T", "floor", "size"), TABLE)
def test_theory_table(T, floor, size):
    """The theory's table, to its last printed digit."""
    assert round(information_floor(T, 3), 2) == floor
    assert first_moment_size(T) == size


@pytest.mark.parametrize(("T", "size"), [(200, 31), (400, 34), (800, 37)])
def test_first_moment_between(T, size):
    """The three further sizes the theory prints."""
    assert first_moment_size(T) == size


@pytest.mark.parametrize("T", range(10, 60))
def test_the_first_moment_size_is_the_smallest(T):
    """At most half a rival is expected there, and more than half one sample earlier."""
    size = first_moment_size(T)
    assert expected_rivals(T, 3, size) <= 0.5 < expected_rivals(T, 3, size - 1)


@pytest.mark.parametrize(("T", "s"), [(5, 2), (6, 3)])
def test_expected_rivals_by_enumeration(T, s):
    """Every pair of ANDs, every input: the mean number of rivals that fit is the formula's."""
    p = 2 ** (-1 / s)
    inputs = (np.arange(2**T)[:, None] >> np.arange(T)) & 1
    mass = np.prod(np.where(inputs == 1, p, 1 - p), axis=1)
    target = inputs[:, :s].all(axis=1)
    agree = [mass @ (inputs[:, rival].all(axis=1) == target) for rival in combinations(range(T), s)]
    rivals = [share for share in agree if share < 1 - 1e-12]
    for m in (1, 4, 9):
        assert expected_rivals(T, s, m) == pytest.approx(sum(share**m for share in rivals), rel=1e-9)


@pytest.mark.parametrize("delta", [-0.1, 1.0, float("nan")])
def test_refuses_a_chance_outside_its_range(delta):
    """δ is a probability below one."""
    with pytest.raises(AssumptionError, match="0 ≤ δ < 1"):
        information_floor(10, 2, delta)


def test_refuses_more_positions_than_there_are():
    """A subset is no larger than its set."""
    with pytest.raises(AssumptionError, match="context of at least 5"):
        information_floor(4, 5)
