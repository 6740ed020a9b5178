"""The path norm: a bound for any number of heads and units."""

from dataclasses import replace
from math import ceil, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds.construction_norms import pair_construction
from keyhole.bounds.theorems.path import path_complexity, trained_rows, unit_heads
from keyhole.errors import AssumptionError


@pytest.mark.parametrize(
    ("Q", "m", "value", "base", "depth"),
    [(5, 1e6, 0.312404, 4, 2), (5, 1e4, 1, 1, 0), (8.5397913, 1e8, 0.0860997, 4, 3)],
)
def test_vectors(Q, m, value, base, depth):
    """The theory's numbers to their last digit, at B_X = 1, D_X = √2, T = 100."""
    found = unit_heads(Q, 1, sqrt(2), 101, m)
    assert float(f"{found.value:.6g}") == value
    assert (found.base, found.depth) == (base, depth)


def test_path_norms_of_the_constructions():
    """A conjunction of three has P = 7.745967, a parity of three 87.651323."""
    assert round(pair_construction("and", 100, 3).path, 6) == 7.745967
    assert round(pair_construction("parity", 100, 3).path, 6) == 87.651323


@pytest.mark.slow
def test_many_units_stay_below_the_bound():
    """Monte Carlo: the best of many random units (v, q) has a correlation with signs below R_m(G)."""
    rng = np.random.default_rng(1)
    T, m, Q, d = 6, 4000, 0.2, 4
    X = rng.normal(size=(m, T, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    best = []
    for _ in range(12):
        signs = rng.choice([-1.0, 1.0], size=m)
        found = 0.0
        for _ in range(40):
            q = rng.normal(size=d)
            q *= Q / np.linalg.norm(q)
            mass = np.exp(X @ q)
            pooled = np.einsum("mt,mtd->md", mass / mass.sum(1, keepdims=True), X)
            found = max(found, np.linalg.norm(signs @ pooled) / m)  # the best v for this q
        best.append(found)
    assert np.mean(best) <= unit_heads(Q, 1.0, 2.0, T, m).value < 1


@given(st.floats(0.1, 10), st.floats(0.1, 3), st.integers(1, 10**8))
def test_the_complexity_is_twice_path_times_lipschitz(path, lipschitz, m):
    """R_m(F) = 2 P L R_m(G), never above what |f| allows twice over."""
    profile = replace(pair_construction("and", 100, 3), path=path, activation_lipschitz=lipschitz)
    inner = unit_heads(profile.blocks[0].heads[0].query, 1, sqrt(2), 101, m).value
    assert path_complexity(profile, m).value == pytest.approx(2 * path * lipschitz * inner)
    assert inner <= 1


def test_no_query_leaves_one_fixed_average():
    """At Q = 0 there is nothing to chain: B_X/√m."""
    assert unit_heads(0.0, 2.0, 1.0, 10, 100).value == pytest.approx(0.2)


def test_refuses_a_profile_without_a_path_norm():
    """The path norm must be given."""
    with pytest.raises(AssumptionError, match="give path"):
        path_complexity(replace(pair_construction("and", 100, 3), path=None), 100)


def test_temperature_scales_the_query_and_other_normalisers_are_refused():
    """Softmax at temperature ½ with ‖q‖ is softmax with 2‖q‖; another normaliser has no such theorem."""
    profile = pair_construction("and", 100, 3)
    hot = replace(profile, normaliser_constant=2.0)
    head = profile.blocks[0].heads[0]
    assert path_complexity(hot, 1e9).value == pytest.approx(
        2 * profile.path * unit_heads(2 * head.query, 1, sqrt(2), 101, 1e9).value
    )
    with pytest.raises(AssumptionError, match="this profile has sparsemax"):
        path_complexity(replace(profile, normaliser="sparsemax", normaliser_constant=None), 100)


def trained(tables, diameter, query, m):
    """The theory's price by hand: rows of n tables of (1,1) norm B, each within ε, at the best ε of the same grid."""
    best = inf
    for step in range(200):
        accuracy = 2.0 ** (-step / 4)
        nats = sum(ceil((B / accuracy) ** 2) * log(2 * entries + 1) for B, entries in tables if accuracy < B)
        wide = min(2.0, diameter + 2 * len(tables) * accuracy)
        price = len(tables) * accuracy * (1 + query * min(1.0, diameter / 2)) + sqrt(2 * nats / m)
        best = min(best, unit_heads(query, 1.0, wide, 101, m).value + price)
    return best


@pytest.mark.parametrize(("diameter", "value"), [(0.001, 0.742), (0.1, 0.826)])
def test_trained_rows_are_chained_at_the_diameter_of_their_cover(diameter, value):
    """Rows of Lemma C's tables are within D + 2nε of each other: at D = .001 and .1 that costs .12 and .11 more."""
    profile = replace(pair_construction("and", 100, 3), token_diameter=diameter, embedding11=20.0)
    assert round(sum_of(trained_rows(profile, 5.0, 1e6)), 3) == value
    entries = profile.blocks[0].heads[0].value.rows * (2 * 100 + 1)
    assert sum_of(trained_rows(profile, 5.0, 1e6)) == pytest.approx(trained([(20.0, entries)], diameter, 5.0, 1e6))


@given(st.floats(0.01, 2), st.floats(0.1, 5), st.floats(0.1, 5), st.floats(0, 5))
def test_two_trained_tables_move_a_row_twice(diameter, positions, tokens, query):
    """Position codes and token vectors, both trained: a row moves by 2ε, and the diameter by 4ε."""
    profile = replace(
        pair_construction("and", 100, 3), token_diameter=diameter, embedding11=tokens, positions11=positions
    )
    rows = profile.blocks[0].heads[0].value.rows
    tables = [(positions, 100 * rows), (tokens, 3 * rows)]
    by_hand = trained(tables, diameter, query, 1e9)
    assert min(1.0, sum_of(trained_rows(profile, query, 1e9))) == pytest.approx(min(1.0, by_hand))


def sum_of(found):
    """The chain and the price together."""
    return found[0].value + found[1]
