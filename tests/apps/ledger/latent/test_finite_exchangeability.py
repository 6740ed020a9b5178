"""Finite exchangeability: exact distances below their bounds, and positions that no latent variable explains."""

from itertools import permutations, product
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.apps.ledger.latent.definetti import (
    finite_de_finetti_bound,
    largest_urn_distance,
    pair_eigenvalue,
    position_floor,
    urn_distance,
)


@pytest.mark.parametrize(("n", "ones", "k"), [(5, 2, 3), (6, 3, 4), (4, 1, 4), (6, 6, 2)])
def test_distance_of_sequences_by_enumeration(n, ones, k):
    """Half the ℓ1 distance of the two laws over all bit strings of length k, counted one by one."""
    urn = [1] * ones + [0] * (n - ones)
    without = dict.fromkeys(product((0, 1), repeat=k), 0.0)
    draws = list(permutations(range(n), k))
    for draw in draws:
        without[tuple(urn[i] for i in draw)] += 1 / len(draws)
    slow = sum(abs(p - prod(ones / n if bit else 1 - ones / n for bit in bits)) for bits, p in without.items()) / 2
    assert urn_distance(n, ones, k) == pytest.approx(slow, abs=1e-12)


@pytest.mark.slow
def test_large_urns_by_exact_fractions():
    """1200 of 3000: coefficients beyond every float; the distance from whole numbers, rounded once per term."""
    n, ones, k = 3000, 1000, 1200
    whole, law = comb(n, k), n**k
    slow = sum(
        abs(comb(ones, j) * comb(n - ones, k - j) / whole - comb(k, j) * ones**j * (n - ones) ** (k - j) / law)
        for j in range(k + 1)
    )
    # a term is e to a sum of three logarithms of at most 10³, each rounded at 1e-13
    assert urn_distance(n, ones, k) == pytest.approx(slow / 2, abs=1e-12)


@given(st.integers(1, 60), st.data())
def test_urns_stay_below_the_bound(n, data):
    """TV ≤ min(2k/n, k(k − 1)/(2n)) for every urn of two letters."""
    k = data.draw(st.integers(1, n))
    assert largest_urn_distance(n, k) <= finite_de_finetti_bound(n, k, letters=2) + 1e-12


@pytest.mark.parametrize(
    ("n", "k", "distance", "bound"),
    [(20, 5, 0.07450, 0.5), (100, 5, 0.01350, 0.1), (400, 5, 0.00332, 0.025), (400, 20, 0.01406, 0.1)],
)
def test_vectors_of_urns(n, k, distance, bound):
    """Stored numbers of the theory, to the digits given; 2k/n where it is the smaller form."""
    assert largest_urn_distance(n, k) == pytest.approx(distance, abs=5e-6)
    assert 2 * k / n == bound
    assert finite_de_finetti_bound(n, k, letters=2) == pytest.approx(min(bound, k * (k - 1) / (2 * n)))


def test_the_middle_urn():
    """n = 20, k = 5, M = 10: .0715944."""
    assert urn_distance(20, 10, 5) == pytest.approx(0.0715944, abs=5e-8)


@given(st.integers(2, 7), st.data())
def test_position_floor_is_attained(tokens, data):
    """Against uniform independent positions the distance of k distinct positions is 1 − (T)_k/T^k, counted out."""
    k = data.draw(st.integers(1, min(tokens, 4)))
    ordered = comb(tokens, k) * prod(range(1, k + 1))
    slow = sum(
        max(1 / ordered * (len(set(places)) == k) - tokens**-k, 0.0) for places in product(range(tokens), repeat=k)
    )
    assert position_floor(tokens, k) == pytest.approx(slow, abs=1e-12)


@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 2**32))
def test_no_independent_law_comes_nearer(tokens, k, seed):
    """For random mixtures of independent laws the distance is at least the floor, counted out."""
    k = min(k, tokens)
    rng = np.random.default_rng(seed)
    laws, weights = rng.dirichlet(np.ones(tokens), size=3), rng.dirichlet(np.ones(3))
    ordered = comb(tokens, k) * prod(range(1, k + 1))
    distance = 0.0
    for places in product(range(tokens), repeat=k):
        mixed = float(weights @ laws[:, list(places)].prod(axis=1))
        distance += max((len(set(places)) == k) / ordered - mixed, 0.0)
    assert distance >= position_floor(tokens, k) - 1e-12


@pytest.mark.parametrize(
    ("tokens", "k", "floor", "bound"),
    [
        (100, 10, 0.371843, 0.45),
        (128, 16, 0.623867, 0.9375),
        (512, 64, 0.983612, 1.0),
        (1000, 10, 0.044139, 0.045),
        (8, 8, 1 - 40320 / 8**8, 1.0),
    ],
)
def test_vectors_of_positions(tokens, k, floor, bound):
    """Stored numbers of the theory; the bound is cut at 1, where it says nothing (k(k−1)/(2T) is 3.94 at 512, 64)."""
    assert position_floor(tokens, k) == pytest.approx(floor, abs=5e-7)
    assert finite_de_finetti_bound(tokens, k) == bound


@pytest.mark.parametrize("tokens", [2, 3, 8, 20])
def test_pair_eigenvalue_of_the_matrix_itself(tokens):
    """Least eigenvalue of P(pos₁, pos₂) − 1/T², by linear algebra; at T = 8 it is −1/56."""
    pairs = (1 - np.eye(tokens)) / (tokens * (tokens - 1)) - 1 / tokens**2
    assert pair_eigenvalue(tokens) == pytest.approx(np.linalg.eigvalsh(pairs)[0], abs=1e-14)
    assert pair_eigenvalue(8) == pytest.approx(-1 / 56)


def test_distance_falls_like_one_over_n():
    """At fixed k the largest distance times n tends to a constant: 100 to 400 tokens change it by under 2 %."""
    scaled = [n * largest_urn_distance(n, 5) for n in (100, 200, 400)]
    assert max(scaled) / min(scaled) < 1.02


def test_tokens_of_different_laws_are_no_mixture_that_the_floor_speaks_of():
    """A sentence of two in random order is the even mixture of two fixed ones, independent tokens of two laws each."""
    orders = {(0, 1): 0.5, (1, 0): 0.5}
    mixture = {
        places: 0.5 * (places[0] == 0) * (places[1] == 1) + 0.5 * (places[0] == 1) * (places[1] == 0)
        for places in product(range(2), repeat=2)
    }
    assert sum(abs(mixture[places] - orders.get(places, 0.0)) for places in mixture) == 0
    assert position_floor(2, 2) == pytest.approx(0.5)
