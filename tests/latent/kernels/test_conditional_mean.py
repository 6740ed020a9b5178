"""Laws of conditional-mean-embedding attention: the exact Bayesian answer of a linear-Gaussian model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.errors import AssumptionError, ShapeError
from keyhole.latent.kernels.conditional_mean import embed_mean
from keyhole.latent.kernels.families import (
    Exponential,
    Features,
    Gaussian,
    Matern,
    Polynomial,
    linear_kernel,
    sphere_kernel,
)

KERNELS = [
    Gaussian(0.5),
    Exponential(0.7),
    linear_kernel(),
    Polynomial(2, 1.0),
    Matern(0.6, 1.5),
]
each = pytest.mark.parametrize("kernel", KERNELS, ids=str)
ridges = st.floats(0.1, 10)

# Kernel values are below e^4 and ridges above 0.1, so condition numbers are below 1e4 and errors below 1e-11.
SOLVED = 1e-10


@st.composite
def contexts(draw, least=1):
    """Keys, values and queries that fit together."""
    tokens, queries = draw(st.integers(least, 6)), draw(st.integers(1, 5))
    shapes = [(tokens, 2), (tokens, 2), (queries, 2)]
    return [draw(arrays(np.float64, shape, elements=st.floats(-1, 1))) for shape in shapes]


def lifted(points):
    """Six features of a point of the plane, with any array."""
    x, y = points[:, :1], points[:, 1:]
    return np.concatenate([x, y, x * y, x**2, y**2, x**0], axis=-1)


def posterior(keys, values, query, prior, noise):
    """Mean and variance of a value at the query, for v = zφ(k) + ξ, one token after the other.

    Each row of z starts as N(0, prior · I); each value updates it as one scalar measurement does.
    """
    width = lifted(query).shape[1]
    means, covariance = np.zeros((values.shape[1], width)), prior * np.eye(width)
    for feature, value in zip(lifted(keys), values, strict=True):
        spread = covariance @ feature
        gain = spread / (feature @ spread + noise)
        means = means + np.outer(value - means @ feature, gain)
        covariance = covariance - np.outer(gain, spread)
    feature = lifted(query)[0]
    return means @ feature, feature @ covariance @ feature + noise


@given(contexts(), st.floats(0.1, 3), st.floats(0.3, 3))
def test_it_is_the_posterior_of_the_linear_gaussian_model(context, prior, noise):
    """With λ = σ²/τ² the mean is E[v | q, K, V] and the variance Var(v_j | q, K, V)."""
    keys, values, queries = context
    answered = embed_mean(Features(lifted), keys, values, ridge=noise / prior)
    means, variances = answered.mean(queries), answered.variance(queries, noise=noise)
    for query, mean, variance in zip(queries, means, variances, strict=True):
        expected_mean, expected_variance = posterior(keys, values, query[None, :], prior, noise)
        np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=SOLVED)
        assert variance == pytest.approx(expected_variance, abs=SOLVED)


@each
@given(context=contexts(), ridge=ridges)
def test_it_is_the_formula(kernel, context, ridge):
    """Vᵀ(𝔎(K, K) + λI)⁻¹𝔎(K, q), with the inverse written out."""
    keys, values, queries = context
    inverse = np.linalg.inv(kernel(keys, keys) + ridge * np.eye(len(keys)))
    expected = kernel(queries, keys) @ inverse @ values
    answers = embed_mean(kernel, keys, values, ridge=ridge).mean(queries)
    np.testing.assert_allclose(answers, expected, rtol=0, atol=SOLVED)


@given(contexts(), ridges)
def test_it_is_the_quotient_of_covariances(context, ridge):
    """Ĉ_VK(Ĉ_KK + (λ/T)I)⁻¹φ(q), without a square of tokens."""
    keys, values, queries = context
    image, tokens = lifted(keys), len(keys)
    cross, square = values.T @ image / tokens, image.T @ image / tokens
    covariances = cross @ np.linalg.inv(square + ridge / tokens * np.eye(image.shape[1])) @ lifted(queries).T
    answers = embed_mean(Features(lifted), keys, values, ridge=ridge).mean(queries)
    np.testing.assert_allclose(answers, covariances.T, rtol=0, atol=SOLVED)


@each
@given(context=contexts(), ridge=ridges)
def test_seeing_a_token_never_widens_the_answer(kernel, context, ridge):
    """The variance lies between the noise and the prior's, and one more token does not raise it."""
    keys, values, queries = context
    noise, prior = 0.5, 0.5 / ridge
    before = embed_mean(kernel, keys, values, ridge=ridge).variance(queries, noise=noise)
    more = np.concatenate([keys, queries[:1]]), np.concatenate([values, values[:1]])
    after = embed_mean(kernel, *more, ridge=ridge).variance(queries, noise=noise)
    tolerance = SOLVED * (1 + prior)
    assert (after <= before + tolerance).all()
    assert (after >= noise - tolerance).all()
    assert (before <= noise + prior * kernel.diagonal(queries) + tolerance).all()


@pytest.mark.parametrize("number", [0.0, -1.0, np.nan])
def test_ridge_and_noise_are_positive(number):
    """Without a ridge the system may have no solution."""
    keys = np.ones((2, 1))
    with pytest.raises(AssumptionError, match="a ridge must be positive"):
        embed_mean(linear_kernel(), keys, keys, ridge=number)
    with pytest.raises(AssumptionError, match="a noise variance must be positive"):
        embed_mean(linear_kernel(), keys, keys, ridge=1.0).variance(keys, noise=number)


@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        ([(3, 2), (4, 1), (1, 2)], "3 keys .* 4 values"),
        ([(3, 2), (3, 1), (1, 5)], "width 5 and .* 2"),
        ([(0, 2), (0, 1), (1, 2)], "the context is empty"),
    ],
)
def test_contexts_that_do_not_fit_are_refused(shapes, sentence):
    """Each mismatch has its sentence."""
    context = [np.zeros(shape) for shape in shapes]
    with pytest.raises(ShapeError, match=sentence):
        embed_mean(linear_kernel(), *context[:2], ridge=1.0).mean(context[2])


@pytest.mark.parametrize("which", [0, 1, 2])
def test_undefined_entries_are_refused(which):
    """NaN in keys, values or queries is named."""
    context = [np.ones((2, 1)) for _ in range(3)]
    context[which][0, 0] = np.nan
    with pytest.raises(ShapeError, match=f"{['keys', 'values', 'queries'][which]} holds NaN"):
        embed_mean(linear_kernel(), *context[:2], ridge=1.0).mean(context[2])


def test_vector_of_the_linear_kernel():
    """Keys 1, 2, 3, values 1, 2, 2, λ = ½, q = 2: mean 22/14.5, variance 0.6379310 at σ² = ½."""
    keys, values, query = (np.array(column)[:, None] for column in ([1.0, 2.0, 3.0], [1.0, 2.0, 2.0], [2.0]))
    answered = embed_mean(linear_kernel(), keys, values, ridge=0.5)
    assert answered.mean(query)[0, 0] == pytest.approx(22 / 14.5, rel=1e-13)
    assert answered.variance(query, noise=0.5)[0] == pytest.approx(0.6379310, abs=5e-8)


@pytest.mark.parametrize(("ridge", "answer"), [(0.1, 0.4842130), (1.0, 0.2643033)])
def test_vectors_on_the_circle(ridge, answer):
    """Keys at 0°, 90°, 180° with values 1, 0, −1, kernel exp((aᵀb − 1)/γ) at γ = ½, asked at 45°."""
    angles = np.radians([0, 90, 180, 45])
    points = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    values = np.array([[1.0], [0.0], [-1.0]])
    mean = embed_mean(sphere_kernel(0.5), points[:3], values, ridge=ridge).mean(points[3:])
    assert mean[0, 0] == pytest.approx(answer, abs=5e-8)
