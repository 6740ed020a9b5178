"""Attention heads as covered classes."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds.construction_norms import hypothetical, matrix
from keyhole.bounds.covers.calculus import plain
from keyhole.bounds.covers.heads import (
    attention_cover,
    head_cover,
    heads_cover,
    readout_norm,
    scalar_model_cover,
    trained_rows_cover,
)
from keyhole.errors import AssumptionError
from keyhole.norm_profile import BlockNorms

from helpers.closed_forms import common_nats, head_capacity, scalar_capacity

seeds = st.integers(0, 2**32 - 1)
VECTOR = {"value21": 2.0, "value": 1.0, "score": 5.0}


def softmax(u):
    """The mixture proportional to exp(u)."""
    mass = np.exp(u - u.max())
    return mass / mass.sum()


def in_ball(rng, shape, radius):
    """Rows of norm at most the radius."""
    rows = rng.normal(size=shape)
    return radius * rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


@given(seeds, st.integers(2, 8), st.floats(0, 3), st.floats(0, 1))
def test_an_error_in_scores_and_values_arrives_as_the_theorem_says(seed, T, score_error, value_error):
    """‖σ(W_VᵀXᵀa) − σ(Ŵ_VᵀXᵀâ)‖ ≤ L(ε_V + c ‖W_V‖₂ B_X ε_S): the weights of the two terms of a head."""
    rng = np.random.default_rng(seed)
    X, u = in_ball(rng, (T, 3), 2.0), rng.normal(size=T) * 3
    W, change = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    moved = u + score_error * rng.choice([-1, 1], T)
    largest = np.linalg.norm(X @ change, axis=1).max()
    W_hat = W + change * value_error / max(largest, 1e-12)
    before, after = np.maximum(W.T @ X.T @ softmax(u), 0), np.maximum(W_hat.T @ X.T @ softmax(moved), 0)
    cover = attention_cover(
        plain(1, 1, 1, "scores"), plain(1, 1, 1, "values"), value_radius=float(np.linalg.norm(W, 2)) * 2.0
    )
    weight = {term.name: term.weight for term in cover.terms}
    allowed = weight["values"] * value_error + weight["scores"] * score_error
    assert np.linalg.norm(before - after) <= allowed + 1e-9  # rounding of a dozen products below 100


def test_opposite_values_attain_the_score_weight():
    """Equality to first order: two tokens with opposite values and a small change of scores."""
    change = 1e-4
    X = np.array([[1.0], [-1.0]])
    moved = abs((X.T @ (softmax(np.array([change, -change]) / 2) - softmax(np.array([-change, change]) / 2))).item())
    cover = attention_cover(plain(1, 1, 1, "scores"), plain(1, 1, 1, "values"), value_radius=1.0)
    assert moved == pytest.approx(cover.terms[1].weight * change, rel=1e-6)


def test_vectors_of_one_head():
    """Theorem H, both forms, with c_N = 1 and 2, to the last digit."""
    nats = common_nats(4, 1000, 100)
    assert round(nats, 6) == 13.592373
    assert round(head_capacity(**VECTOR) * nats, 6) == 1622.759343
    assert round(head_capacity(**VECTOR, constant=2.0) * nats, 6) == 3982.091635
    for constant, value in ((1.0, 1523.047564), (2.0, 3695.199338)):
        profile = hypothetical(tokens=100, **VECTOR, width=4, constant=constant)
        assert round(head_cover(profile.blocks[0].heads[0], profile, 1000).capacity, 6) == value


def test_vectors_of_the_scalar_model():
    """Theorem S with a common logarithm and 101 tokens, to the last digit; per-term logarithms cost less."""
    nats = common_nats(4, 1000, 101)
    for constant, value in ((1.0, 25450.988830), (2.0, 54626.906597)):
        closed = scalar_capacity(readout=3, **VECTOR, constant=constant) * nats
        assert round(closed, 6) == value
        profile = hypothetical(tokens=101, **VECTOR, width=4, readout=3.0, constant=constant)
        assert scalar_model_cover(profile, 1000).capacity <= closed


@given(st.floats(0.1, 5), st.floats(0.1, 5), st.floats(0.1, 5), st.integers(2, 10**8), st.integers(1, 1000))
def test_the_closed_forms_are_the_terms_with_one_logarithm(readout, value, score, tokens, samples):
    """Putting the common Λ in every term of the cover gives the closed form, for every T and m."""
    profile = hypothetical(tokens=tokens, value21=2 * value, value=value, score=score, width=4, readout=readout)
    cover = scalar_model_cover(profile, samples)
    nats = common_nats(4, samples, tokens)
    common = sum(((t.weight * t.scale) ** 2) ** (1 / 3) for t in cover.terms) ** 3
    closed = scalar_capacity(readout=readout, value21=2 * value, value=value, score=score)
    assert common == pytest.approx(closed)
    assert cover.capacity <= closed * nats * (1 + 1e-12)


@pytest.mark.parametrize("name", ["token_radius", "query_radius", "activation_lipschitz"])
def test_radii_and_lipschitz_constants_enter_as_the_closed_form_says(name):
    """B_X, B_Z and L_σ of a profile agree with the closed form's."""
    given_name = {"activation_lipschitz": "lipschitz"}.get(name, name)
    profile = replace(hypothetical(tokens=50, **VECTOR, width=4, readout=3.0), **{name: 2.0})
    common = sum(((t.weight * t.scale) ** 2) ** (1 / 3) for t in scalar_model_cover(profile, 10).terms) ** 3
    assert common == pytest.approx(scalar_capacity(readout=3, **VECTOR, **{given_name: 2.0}))


def test_half_the_token_diameter_replaces_the_radius():
    """With D_X known, c_N B_X becomes c_N D_X/2 in the weight of the scores, never more."""
    profile = hypothetical(tokens=50, **VECTOR, width=4)
    near = replace(profile, token_diameter=0.5)
    head = profile.blocks[0].heads[0]
    weight = {t.name: t.weight for t in head_cover(head, near, 10).terms}
    assert weight == {"values": 1.0, "scores": 0.25}
    trained = replace(near, embedding11=2.0)  # tables of Lemma C are further apart
    assert {t.name: t.weight for t in head_cover(head, trained, 10).terms} == {"values": 1.0, "scores": 1.0}
    far = replace(profile, token_diameter=9.0)
    assert head_cover(head, far, 10).capacity == head_cover(head, profile, 10).capacity


def test_a_fixed_query_replaces_the_score_matrix():
    """‖q‖ in the place of ‖M‖_F B_Z, where it is smaller."""
    profile = replace(hypothetical(tokens=50, **VECTOR, width=4), query_radius=2.0)
    head = profile.blocks[0].heads[0]
    fixed = replace(head, query=3.0)
    scales = [{t.name: t.scale for t in head_cover(h, profile, 10).terms}["scores"] for h in (head, fixed)]
    assert scales == [10.0, 3.0]


def test_heads_summed_and_side_by_side():
    """Theorem M: H³ and radius Σ‖W_V‖₂ for a sum, H² and √Σ‖W_V‖₂² side by side."""
    profile = hypothetical(tokens=50, **VECTOR, width=4)
    (head,) = profile.blocks[0].heads
    one = head_cover(head, profile, 10).capacity
    summed, radius = heads_cover(BlockNorms((head,) * 3), profile, 10)
    assert (summed.capacity, radius) == (pytest.approx(27 * one), pytest.approx(3.0))
    beside, radius = heads_cover(BlockNorms((head,) * 3, concatenated=True), profile, 10)
    assert (beside.capacity, radius) == (pytest.approx(9 * one), pytest.approx(sqrt(3)))


def test_trained_positions_add_their_term():
    """Corollary E: weight ‖v‖LS_V(1 + c B_X Q), scale √2B_P, log(2Td+1)."""
    profile = replace(
        hypothetical(tokens=51, value21=2.0, value=1.5, score=5.0, width=4, readout=3.0, dimension=16),
        positions11=7.0, activation_lipschitz=2.0, token_radius=3.0, query_radius=0.5,
    )  # fmt: skip
    (term,) = trained_rows_cover(profile).terms
    assert term.weight == pytest.approx(3 * 2 * 1.5 * (1 + 3 * 2.5))
    assert term.scale == pytest.approx(sqrt(2) * 7)
    assert term.nats == pytest.approx(log(2 * 50 * 16 + 1))
    assert scalar_model_cover(profile, 10).terms[-1][:5] == term[:5]


@given(seeds, st.floats(0, 0.2))
def test_moving_the_positions_moves_the_head_as_corollary_e_says(seed, size):
    """Tokens moved by ε move ⟨v, W_VᵀXᵀa⟩ by at most ‖v‖S_V(1 + B_X Q)ε."""
    rng = np.random.default_rng(seed)
    X, q = in_ball(rng, (6, 3), 1.0), rng.normal(size=3) * 2
    moved = X + in_ball(rng, (6, 3), size)
    moved /= np.maximum(1, np.linalg.norm(moved, axis=1, keepdims=True))  # projected on the same ball
    W, v = rng.normal(size=(3, 2)), rng.normal(size=2)
    change = abs(v @ W.T @ (X.T @ softmax(X @ q) - moved.T @ softmax(moved @ q)))
    allowed = np.linalg.norm(v) * np.linalg.norm(W, 2) * (1 + np.linalg.norm(q)) * size
    assert change <= allowed + 1e-9


def test_an_output_matrix_multiplies_the_readout():
    """‖v‖ ≤ ‖w‖‖W_C‖₂."""
    profile = hypothetical(tokens=50, **VECTOR, width=4, readout=3.0)
    output = matrix(4, 4, spectral=2.0, frobenius=3.0, columns21=4.0)
    assert readout_norm(replace(profile, blocks=(replace(profile.blocks[0], output=output),))) == 6.0


def test_refusals():
    """No normaliser constant, no head, more than one layer: a sentence each; without trained rows no price."""
    profile = hypothetical(tokens=50, **VECTOR, width=4)
    with pytest.raises(AssumptionError, match="hardmax has none"):
        scalar_model_cover(replace(profile, normaliser="hardmax", normaliser_constant=None), 10)
    with pytest.raises(AssumptionError, match="at least one head"):
        scalar_model_cover(replace(profile, blocks=(BlockNorms(()),)), 10)
    with pytest.raises(AssumptionError, match="one attention layer, and the profile has 2"):
        scalar_model_cover(replace(profile, blocks=profile.blocks * 2), 10)
    assert not trained_rows_cover(profile).terms
    with pytest.raises(AssumptionError, match="≥ 0 and finite; got nan"):
        scalar_model_cover(replace(profile, readout=float("nan")), 10)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"layernorm": "before"}, "of a LayerNorm"),
        ({"hidden": matrix(4, 4, spectral=1.0, frobenius=1.0, columns21=1.0)}, "do not speak of an MLP"),
        ({"residual": True}, "no residual"),
    ],
)
def test_layers_outside_the_class_are_refused(change, sentence):
    """A cover bound of a layer it was not proved for is refused, not computed."""
    profile = hypothetical(tokens=9, value21=2.0, value=1.0, score=5.0, width=4)
    block = replace(profile.blocks[0], **change)
    with pytest.raises(AssumptionError, match=sentence):
        scalar_model_cover(replace(profile, blocks=(block,)), 100)


def test_a_read_out_bias_is_refused():
    """A trained offset is one more parameter, which no term of the cover pays for."""
    profile = replace(hypothetical(tokens=9, value21=2.0, value=1.0, score=5.0, width=4), readout_bias=0.5)
    with pytest.raises(AssumptionError, match="do not speak of a bias at the read-out"):
        scalar_model_cover(profile, 100)
