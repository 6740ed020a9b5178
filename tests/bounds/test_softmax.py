"""How far a softmax moves when its scores move."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.bounds.softmax import smoothness, softmax_move
from keyhole.errors import AssumptionError

scores = arrays(np.float64, st.integers(2, 12), elements=st.floats(-30, 30))


def softmax(u):
    """The mixture proportional to exp(u)."""
    mass = np.exp(u - u.max())
    return mass / mass.sum()


@given(scores, st.floats(0, 40), st.data())
def test_no_perturbation_beats_the_bound(a, size, data):
    """‖softmax(a + δ) − softmax(a)‖₁ ≤ softmax_move(‖δ‖∞)."""
    delta = size * data.draw(arrays(np.float64, a.shape, elements=st.floats(-1, 1)))
    moved = np.abs(softmax(a + delta) - softmax(a)).sum()
    assert moved <= softmax_move(float(np.abs(delta).max())) + 1e-12  # a + δ ≤ 70 rounds by ~1e-14


@pytest.mark.parametrize("change", [1e-6, 0.1, 1.0, 5.0])
def test_two_scores_attain_it(change):
    """Equality at a = (ε/2, −ε/2), b = −a."""
    a = np.array([change, -change]) / 2
    assert np.abs(softmax(a) - softmax(-a)).sum() == pytest.approx(softmax_move(change), rel=1e-9)


@given(scores, st.floats(0, 5), st.data())
def test_pooled_tokens_move_by_half_the_drift_times_their_diameter(a, size, data):
    """‖Σ (p_t − p'_t) x_t‖ ≤ D tanh(Δ/2)."""
    delta = size * data.draw(arrays(np.float64, a.shape, elements=st.floats(-1, 1)))
    tokens = data.draw(arrays(np.float64, (len(a), 3), elements=st.floats(-1, 1)))
    diameter = max(np.linalg.norm(x - y) for x in tokens for y in tokens)
    moved = np.linalg.norm((softmax(a + delta) - softmax(a)) @ tokens)
    assert moved <= diameter / 2 * softmax_move(float(np.abs(delta).max())) + 1e-12


def test_two_tokens_attain_the_pooled_bound():
    """Equality for two tokens at distance D."""
    a, tokens = np.array([0.4, -0.4]), np.array([[0.0, 0.0], [3.0, 4.0]])
    moved = np.linalg.norm((softmax(a) - softmax(-a)) @ tokens)
    assert moved == pytest.approx(5.0 / 2 * softmax_move(0.8), rel=1e-12)


@pytest.mark.parametrize(("change", "value"), [(0.1, 0.0999167), (0.5, 0.4898373), (1.0, 0.9242343), (2.0, 1.5231883)])
def test_vectors(change, value):
    """The theory's numbers to their last digit."""
    assert round(softmax_move(change), 7) == value


@pytest.mark.parametrize("not_a_norm", [-1.0, float("nan")])
def test_refuses_what_is_not_a_norm(not_a_norm):
    """A negative or undefined change is no norm."""
    with pytest.raises(AssumptionError, match="must be ≥ 0"):
        softmax_move(not_a_norm)


def test_refuses_a_normaliser_without_a_constant():
    """Sparsemax has no constant free of T."""
    with pytest.raises(AssumptionError, match="sparsemax has none"):
        smoothness(None, "sparsemax")
