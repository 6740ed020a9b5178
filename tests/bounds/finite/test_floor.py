"""How few samples can ever name a sparse function, and what no attention layer can avoid."""

from math import comb, log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds.construction_norms import pair_construction
from keyhole.bounds.covers.heads import scalar_model_cover
from keyhole.bounds.finite.floor import information_floor, logit_range_floor
from keyhole.errors import AssumptionError

# T and the floor, of the theory's table
TABLE = [
    (10, 6.91),
    (30, 11.99),
    (100, 17.30),
    (300, 22.09),
    (1000, 27.31),
    (3000, 32.07),
    (10000, 37.28),
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


@pytest.mark.parametrize(("T", "floor"), TABLE)
def test_theory_table(T, floor):
    """The theory's table, to its last printed digit."""
    assert round(information_floor(T, 3), 2) == floor


@pytest.mark.parametrize("delta", [-0.1, 1.0, float("nan")])
def test_refuses_a_chance_outside_its_range(delta):
    """δ is a probability below one."""
    with pytest.raises(AssumptionError, match="0 ≤ δ < 1"):
        information_floor(10, 2, delta)


def test_refuses_more_positions_than_there_are():
    """A subset is no larger than its set."""
    with pytest.raises(AssumptionError, match="context of at least 5"):
        information_floor(4, 5)


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
    assert change <= 4 * radius * np.exp(spread) / T + 1e-12


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


@pytest.mark.parametrize(("s", "floor"), [(3, 5.545), (5, 22.181), (8, 177.446)])
def test_our_cover_of_all_tables_is_above_the_floor(s, floor):
    """All 2^(2^s) sign patterns occur on 2^s points, so C ≥ 2^s ln 2; our cover of every table is above."""
    assert round(2**s * log(2), 3) == floor
    assert scalar_model_cover(pair_construction("junta", 100, s), 2**s).capacity >= floor


def test_refuses_no_change():
    """A change of zero is no question."""
    with pytest.raises(AssumptionError, match="change must be above 0"):
        logit_range_floor(0.0, 10, 1.0, 1.0)
