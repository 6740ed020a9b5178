"""What no attention layer can avoid."""

from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean.function import from_table
from keyhole.bounds.construction_norms import pair_construction
from keyhole.bounds.covers.heads import scalar_model_cover
from keyhole.bounds.finite.necessity import junta_capacity_floor, logit_range_floor, token_influence
from keyhole.errors import AssumptionError


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.floats(0, 3))
def test_one_token_moves_no_more(seed, T, spread):
    """Replacing one token of T, logits in an interval of length ρ, moves the output by at most 4Ve^ρ/T."""
    rng = np.random.default_rng(seed)
    logits, values = rng.uniform(0, spread, T), rng.normal(size=(T, 2))
    other_logits, other_values = logits.copy(), values.copy()
    other_logits[0], other_values[0] = rng.uniform(0, spread), rng.normal(size=2)
    radius = max(np.linalg.norm(v, axis=1).max() for v in (values, other_values))

    def pooled(u, v):
        return np.exp(u) @ v / np.exp(u).sum()

    change = np.linalg.norm(pooled(logits, values) - pooled(other_logits, other_values))
    assert change <= token_influence(spread, float(radius), T) + 1e-12


def test_uniform_attention_comes_within_a_factor_of_two():
    """Opposite values at equal logits: 2V/T, half of the bound at ρ = 0."""
    T = 10
    values = np.ones((T, 1))
    other = values.copy()
    other[0] = -1
    assert np.abs(values.mean(0) - other.mean(0)).item() == pytest.approx(token_influence(0.0, 1.0, T) / 2)


@pytest.mark.parametrize(
    ("T", "floor", "reached"),
    [(100, 1.832581, 3.486355), (1000, 4.135167, 5.807141), (10_000, 6.437752, 8.111528)],
)
def test_vectors_of_the_logit_range(T, floor, reached):
    """The floor for a 3-AND with ‖w‖ = 6, V = 2/3, and the range β that the construction uses."""
    assert round(logit_range_floor(1.0, T, 6.0, 2 / 3), 6) == floor
    assert round(pair_construction("and", T, 3).blocks[0].heads[0].score.frobenius / 6**0.5, 6) == reached


def test_large_readouts_make_the_floor_void():
    """Uniform attention with ‖w‖ = T + 1 needs no logits: the floor is 0."""
    assert logit_range_floor(1.0, 9, 10.0, 2 / 3) == 0.0


@pytest.mark.parametrize("s", [1, 2, 3])
def test_capacity_of_all_tables(s):
    """The sign patterns of all functions of s bits, counted: below ε = 1 a cover has an element for each."""
    inputs = np.array(list(product((False, True), repeat=s)))
    tables = product((False, True), repeat=2**s)
    patterns = {tuple(from_table(tuple(range(s)), np.array(table))(inputs).tolist()) for table in tables}
    signs = np.where(np.array(list(patterns)), 1.0, -1.0)
    apart = np.abs(signs[:, None] - signs[None]).max(axis=2) + 9 * np.eye(len(signs))
    assert apart.min() == 2  # so no point is within ε < 1 of two of them
    assert junta_capacity_floor(s) == pytest.approx(log(len(patterns)))


@pytest.mark.parametrize(("s", "floor"), [(3, 5.545), (5, 22.181), (8, 177.446)])
def test_our_cover_of_all_tables_is_above_the_floor(s, floor):
    """The floor in three cases; the C of our cover for a class that holds every table is above it."""
    assert round(junta_capacity_floor(s), 3) == floor
    assert scalar_model_cover(pair_construction("junta", 100, s), 2**s).capacity >= floor


def test_refusals():
    """A change of zero, or no positions, is no question."""
    with pytest.raises(AssumptionError, match="change must be above 0"):
        logit_range_floor(0.0, 10, 1.0, 1.0)
    with pytest.raises(AssumptionError, match="context must be a whole number"):
        token_influence(1.0, 1.0, 0)
