"""Deep attention: recursion and terms."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds.construction_norms import matrix
from keyhole.bounds.covers.deep import block_cover, block_lipschitz, block_reach, deep_cover
from keyhole.errors import AssumptionError
from keyhole.norm_profile import BlockNorms, HeadNorms, NormProfile


def profile_of(layers, *, residual=False, constant=1.0, projected=True, tokens=17):
    """The theory's example: k = d = 8, unit spectral norms, ‖M‖_F = 2, (2,1) norms 3."""
    score = matrix(8, 8, spectral=1.0, frobenius=2.0, columns21=3.0)
    value = matrix(8, 8, spectral=1.0, frobenius=2.0, columns21=3.0)
    block = BlockNorms((HeadNorms(score, value),), output=value, residual=residual)
    return NormProfile(
        blocks=(block,) * layers, tokens=tokens, readout=1.0, token_radius=1.0, query_radius=1.0,
        normaliser_constant=constant, projected=projected,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "lipschitz", "capacity"),
    [
        (profile_of(1), 3, 5728.564756),
        (profile_of(2), 3, 132821.887554),
        (profile_of(2, constant=2.0), 5, 391017.336947),
        (profile_of(2, residual=True), 3, 195372.527814),
    ],
)
def test_vectors(profile, lipschitz, capacity):
    """The theory's numbers to their last digit, all T² pairs counted in the last layer too."""
    assert block_lipschitz(profile.blocks[0], profile, 1.0) == lipschitz
    assert round(deep_cover(profile, 1000, every_query=True).capacity, 6) == capacity
    assert deep_cover(profile, 1000).capacity < capacity


def test_terms_of_one_layer():
    """Weights, scales and logarithms of the three terms, radii other than one."""
    profile = replace(profile_of(1, projected=False), activation_lipschitz=2.0)
    scores, values, output = block_cover(profile.blocks[0], profile, 1000, 3.0, queries=17, label="layer 1").terms
    assert scores[2:5] == pytest.approx((2 * 3.0, 2 * 9.0, log(2 * 1000 * 17 * 17 + 1)))
    assert values[2:5] == pytest.approx((2.0, sqrt(2) * 3 * 3, log(8 * (2 * 17000 + 1) + 1)))
    assert output[2:5] == pytest.approx((1.0, sqrt(2) * 3 * 2 * 3, log(8 * (2 * 17000 + 1) + 1)))


def test_rows_grow_unless_projected():
    """B' = ‖W_C‖₂L‖W_V‖₂B, plus B with a residual connection; 1 after a projection."""
    plain, residual = profile_of(1, projected=False), profile_of(1, projected=False, residual=True)
    assert block_reach(plain.blocks[0], plain, 2.0) == 2.0
    assert block_reach(residual.blocks[0], residual, 2.0) == 4.0
    assert block_reach(profile_of(1).blocks[0], profile_of(1), 2.0) == 1.0


def softmax(u):
    """Rows proportional to exp."""
    mass = np.exp(u - u.max(axis=-1, keepdims=True))
    return mass / mass.sum(axis=-1, keepdims=True)


def layer(X, M, V, C, *, residual):
    """One block of Theorem D, every row a query."""
    out = np.maximum(softmax(X @ M.T @ X.T) @ X @ V, 0) @ C
    return out + X if residual else out


@given(st.integers(0, 2**32 - 1), st.booleans(), st.floats(0, 0.5))
def test_a_network_moves_no_more_than_the_recursion_says(seed, residual, size):
    """Perturbed weights and inputs, two layers: rows move by at most Lip·e (+ e) + own errors."""
    rng = np.random.default_rng(seed)
    T, d = 5, 3
    X = rng.normal(size=(T, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X_hat, e, radius = X, 0.0, 1.0
    for _ in range(2):
        M, V, C = (rng.normal(size=(d, d)) * 0.6 for _ in range(3))
        M_hat, V_hat, C_hat = (W + size * rng.normal(size=(d, d)) for W in (M, V, C))
        norms = [matrix(d, d, spectral=float(np.linalg.norm(W, 2)), frobenius=9.0, columns21=9.0) for W in (M, V, C)]
        block = BlockNorms((HeadNorms(norms[0], norms[1]),), output=norms[2], residual=residual)
        profile = NormProfile((block,), T, 1.0, radius, radius)
        scores = np.abs(X_hat @ (M_hat - M).T @ X_hat.T).max()
        mixed = softmax(X_hat @ M_hat.T @ X_hat.T) @ X_hat
        values = np.linalg.norm(mixed @ (V_hat - V), axis=1).max()
        outputs = np.linalg.norm(np.maximum(mixed @ V_hat, 0) @ (C_hat - C), axis=1).max()
        own = dict(zip(("scores", "values", "output"), (scores, values, outputs), strict=True))
        terms = block_cover(block, profile, 10, radius, queries=T, label="").terms
        e = (block_lipschitz(block, profile, radius) + residual) * e + sum(
            term.weight * own[term.name.split(",")[0]] for term in terms
        )
        X, X_hat = layer(X, M, V, C, residual=residual), layer(X_hat, M_hat, V_hat, C_hat, residual=residual)
        # cover outputs are projected on the ball that holds the true rows
        radius = block_reach(block, profile, radius)
        X_hat = X_hat * np.minimum(1, radius / np.maximum(np.linalg.norm(X_hat, axis=1, keepdims=True), 1e-12))
        assert np.linalg.norm(X, axis=1).max() <= radius + 1e-9
        assert np.linalg.norm(X - X_hat, axis=1).max() <= e * (1 + 1e-9) + 1e-9


def test_an_empty_layer_is_refused():
    """A layer needs a head."""
    with pytest.raises(AssumptionError, match="at least one head"):
        deep_cover(replace(profile_of(1), blocks=(BlockNorms(()),)), 10)
