"""Laws of attention as a linear smoother: outside oracles, the Bayesian's own mean and variance, exact errors."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.apps.ledger.latent.conditional_mean import expected_error
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.latent.inference.smoothers import (
    KERNELS,
    cme_weights,
    kernel_named,
    linear_weights,
    prior_at,
)
from keyhole.latent.kernels.conditional_mean import embed_mean
from keyhole.latent.kernels.families import Features, Gaussian, Given, Matern, linear_kernel, sphere_kernel
from keyhole.latent.kernels.smoothing import smoothing_weights
from keyhole.latent.models.sphere import SphereProcess, uniform_on_sphere

SOLVED = 1e-10  # kernels are at most 1 and ridges at least 0.05: condition numbers below 1e4, errors below 1e-11


def context(seed, tokens=40, queries=9, width=3):
    """Keys and queries on a sphere, values around a smooth function."""
    rng = np.random.default_rng(seed)
    keys, places = uniform_on_sphere(tokens, width, rng), uniform_on_sphere(queries, width, rng)
    return keys, np.sin(3 * keys[:, :2]) + 0.3 * rng.normal(size=(tokens, 2)), places


@pytest.mark.parametrize("ridge", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("kernel", [Gaussian(0.6), Matern(0.6, 1.5), sphere_kernel(0.4)], ids=str)
def test_conditional_mean_attention_is_scikit_learns_kernel_ridge(kernel, ridge):
    """Their alpha is the ridge."""
    from sklearn.kernel_ridge import KernelRidge

    keys, values, queries = context(0)
    theirs = KernelRidge(alpha=ridge, kernel="precomputed").fit(kernel(keys, keys), values)
    expected = theirs.predict(kernel(queries, keys))
    np.testing.assert_allclose(cme_weights(kernel, keys, queries, ridge=ridge) @ values, expected, atol=SOLVED)


@pytest.mark.parametrize(("noise", "prior"), [(0.09, 1.0), (0.5, 2.0)])
def test_mean_and_variance_are_scikit_learns_gaussian_process(noise, prior):
    """With kernel τ²·RBF and alpha = σ²; their variance is of f, ours of v at λ = σ²/τ², so it has σ² more."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    keys, values, queries = context(1)
    kernel = ConstantKernel(prior, "fixed") * RBF(0.7, "fixed")
    theirs = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(keys, values[:, 0])
    mean, deviation = theirs.predict(queries, return_std=True)
    ours = (cme_weights(Gaussian(0.7), keys, queries, ridge=noise / prior) @ values[:, :1])[:, 0]
    np.testing.assert_allclose(ours, mean, atol=SOLVED)
    variance = embed_mean(Gaussian(0.7), keys, values, ridge=noise / prior).variance(queries, noise=noise)
    np.testing.assert_allclose(variance - noise, deviation**2, atol=SOLVED)
    law = prior_at(Gaussian(0.7), keys, queries, noise=noise, prior=prior)
    np.testing.assert_allclose(law.spread, deviation**2, atol=SOLVED)


@pytest.mark.parametrize("bandwidth", [0.2, 0.7, 3.0])
def test_softmax_attention_is_statsmodels_local_constant_regression(bandwidth):
    """Nadaraya–Watson with the Gaussian kernel, whose bandwidth is theirs; on the sphere it is softmax, γ = h²."""
    keys, values, queries = context(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs to heed
        from statsmodels.nonparametric.kernel_regression import KernelReg

        theirs = KernelReg(values[:, 0], keys, var_type="ccc", reg_type="lc", bw=[bandwidth] * 3)
        expected = theirs.fit(queries)[0]
    for kernel in (Gaussian(bandwidth), sphere_kernel(bandwidth**2)):
        ours = (smoothing_weights(kernel, keys, queries) @ values)[:, 0]
        np.testing.assert_allclose(ours, expected, atol=1e-9)  # their densities are products of three, near 1e-7


@given(
    arrays(np.float64, (6, 2), elements=st.floats(-1, 1)),
    arrays(np.float64, (6, 2), elements=st.floats(-1, 1)),
    arrays(np.float64, (3, 2), elements=st.floats(-1, 1)),
    st.floats(0.1, 3),
    st.floats(0.3, 3),
)
def test_conditional_mean_attention_is_bayesian_model_averaging(keys, values, queries, prior, noise):
    """Mean and variance of v at q under the explicit posterior of z, to 1e-10."""

    def lifted(points):
        return np.concatenate([points, points**2, points[:, :1] * points[:, 1:], np.ones((len(points), 1))], axis=1)

    image, asked = lifted(keys), lifted(queries)
    covariance = np.linalg.inv(image.T @ image / noise + np.eye(6) / prior)
    mean = asked @ covariance @ image.T @ values / noise
    variance = noise + np.einsum("qd,de,qe->q", asked, covariance, asked)
    kernel = Features(lifted)
    np.testing.assert_allclose((cme_weights(kernel, keys, queries, ridge=noise / prior) @ values), mean, atol=SOLVED)
    law = prior_at(kernel, keys, queries, noise=noise, prior=prior)
    np.testing.assert_allclose(noise + law.spread, variance, atol=SOLVED)


def test_the_stored_circle():
    """Keys at 0°, 90°, 180°, values (1, 0, −1), q at 45°: conditional mean and softmax."""
    keys = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    values, query = np.array([[1.0], [0.0], [-1.0]]), np.array([[1.0, 1.0]]) / np.sqrt(2)
    found = [(cme_weights(sphere_kernel(0.5), keys, query, ridge=ridge) @ values)[0, 0] for ridge in (0.1, 1.0)]
    np.testing.assert_allclose(found, [0.4842130, 0.2643033], atol=6e-8)
    smoothed = [(smoothing_weights(sphere_kernel(gamma), keys, query) @ values)[0, 0] for gamma in (0.5, 1.0, 0.1)]
    np.testing.assert_allclose(smoothed, [0.4569431, 0.3374248, 0.4999995], atol=6e-8)


@pytest.mark.parametrize("ridge", [0.09, 20.0])
@pytest.mark.parametrize("kernel", [sphere_kernel(4.0), linear_kernel(), Matern(0.5, 0.5)], ids=str)
def test_features_and_dense_weights_agree(kernel, ridge):
    """Beyond the dense size the factor takes over where it is exact; the rough kernel stays dense."""
    keys, values, queries = context(3, tokens=700)
    weights = cme_weights(kernel, keys, queries, ridge=ridge)
    np.testing.assert_allclose(
        weights @ values, embed_mean(kernel, keys, values, ridge=ridge).mean(queries), atol=1e-9
    )  # at λ = 0.09: condition number 8e3 at most, and the factor misses 7e-12 of a matrix of norm 700


def test_linear_attention_is_one_gradient_step():
    """The answer of W = −∇(1/2T) Σ‖v − Wk‖² at W = 0, the gradient by finite differences."""
    keys, values, queries = context(4, tokens=7)

    def loss(flat):
        return np.square(values - keys @ flat.reshape(2, 3).T).sum() / (2 * 7)

    slope = [(loss(1e-6 * unit) - loss(-1e-6 * unit)) / 2e-6 for unit in np.eye(6)]
    expected = queries @ -np.reshape(slope, (2, 3)).T
    np.testing.assert_allclose(linear_weights(keys, queries) @ values, expected, atol=1e-8)


def test_expected_error_is_the_average_over_noise():
    """Simulated at fixed keys and f, within four standard errors."""
    rng = np.random.default_rng(5)
    keys, _, queries = context(5)
    at_keys, at_queries, noise = np.sin(3 * keys[:, :2]), np.sin(3 * queries[:, :2]), 0.2
    weights = smoothing_weights(sphere_kernel(0.3), keys, queries)
    law = expected_error(weights, at_keys, at_queries, noise=noise)
    values = at_keys + np.sqrt(noise) * rng.normal(size=(4000, *at_keys.shape))
    errors = np.square(weights @ values - at_queries).sum(axis=2).mean(axis=1)
    assert abs(errors.mean() - law) < 4 * errors.std() / np.sqrt(4000)
    assert errors.std() / np.sqrt(4000) < 0.02 * law  # so that the test could fail


def test_averaged_error_is_the_average_over_the_prior():
    """Simulated draws of the process at fixed keys: gap to the posterior mean and error to f, four standard errors."""
    rng = np.random.default_rng(6)
    keys, _, queries = context(6, tokens=20)
    kernel, noise, prior = sphere_kernel(0.5), 0.2, 1.5
    points = np.concatenate([keys, queries])
    root = np.linalg.cholesky(prior * kernel(points, points) + 1e-12 * np.eye(len(points)))
    function = root @ rng.normal(size=(len(points), 4000))
    values = function[:20] + np.sqrt(noise) * rng.normal(size=(20, 4000))
    weights = smoothing_weights(kernel, keys, queries)
    law = prior_at(kernel, keys, queries, noise=noise, prior=prior)
    posterior = embed_mean(kernel, keys, values, ridge=noise / prior).mean(queries)
    gap, spread = law.averaged(weights)
    for target, expected in ((posterior, gap), (function[20:], gap + spread)):
        errors = np.square(weights @ values - target).mean(axis=0)
        assert abs(errors.mean() - expected) < 4 * errors.std() / np.sqrt(4000)
        assert errors.std() / np.sqrt(4000) < 0.03 * expected
    assert law.averaged(law.best)[0] == 0


def test_the_process_model_speaks_of_the_same_law():
    """SphereProcess's posterior mean is the best smoother's answer."""
    model = SphereProcess(value_width=2)
    tokens = model.sample(1, 30, 0).tokens
    keys, values = np.split(tokens[0], [model.key_width], axis=1)
    queries = uniform_on_sphere(5, 3, np.random.default_rng(1))
    expected = embed_mean(model.kernel, keys, values, ridge=model.ridge).mean(queries)
    np.testing.assert_allclose(
        (cme_weights(model.kernel, keys, queries, ridge=model.ridge) @ values), expected, atol=SOLVED
    )


@pytest.mark.parametrize("name", KERNELS)
def test_named_kernels_are_kernels(name):
    """Symmetric, positive semi-definite to rounding, at three temperatures."""
    keys, _, _ = context(7)
    for gamma in (0.1, 1.0, 3.0):
        gram = kernel_named(name, gamma)(keys, keys)
        np.testing.assert_allclose(gram, gram.T, atol=1e-12)
        assert np.linalg.eigvalsh(gram).min() > -1e-10


@pytest.mark.parametrize("gamma", [0.1, 0.5, 3.0])
def test_one_temperature_is_one_squared_bandwidth(gamma):
    """On the sphere the exponential kernel at γ is the Gaussian one of h² = γ, and the Matérn one has that h."""
    keys, _, _ = context(9)
    expected = kernel_named("exponential", gamma)(keys, keys)
    np.testing.assert_allclose(kernel_named("gaussian", gamma)(keys, keys), expected, atol=1e-13)
    assert kernel_named("matern", gamma) == Matern(np.sqrt(gamma), 1.5)


def test_a_kernel_of_ones_own():
    """A function serves wherever a name does."""
    keys, values, queries = context(8)
    own = kernel_named(lambda left, right: np.exp(-np.abs(left[:, None] - right[None]).sum(axis=2)), 1.0)
    assert isinstance(own, Given)
    assert (cme_weights(own, keys, queries, ridge=0.1) @ values).shape == (9, 2)


@pytest.mark.parametrize(
    ("ask", "error", "sentence"),
    [
        (lambda: kernel_named("cosine", 1.0), ArgumentError, "'cosine' is not a kernel"),
        (lambda: kernel_named("gaussian", 0.0), AssumptionError, "bandwidth .* got 0.0"),
        (lambda: kernel_named("gaussian", -1.0), AssumptionError, "bandwidth .* got -1"),
        (
            lambda: cme_weights(linear_kernel(), np.ones((2, 2)), np.ones((1, 2)), ridge=0.0),
            AssumptionError,
            "a ridge must be",
        ),
        (
            lambda: prior_at(linear_kernel(), np.ones((2, 2)), np.ones((1, 2)), noise=0.0, prior=1.0),
            AssumptionError,
            "a noise variance",
        ),
    ],
)
def test_refusals(ask, error, sentence):
    """One sentence each."""
    with pytest.raises(error, match=sentence):
        ask()
