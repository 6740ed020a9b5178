"""Laws of softmax as Bayes' rule for finite latents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.errors import AssumptionError, DataError
from keyhole.latent.inference.prototypes import likelihood_attention, prototype_attention
from keyhole.latent.models.mixture import GaussianMixture

EXACT = 1e-10


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 5), st.integers(0, 60))
def test_two_attentions_are_bayes_rule(seed, letters, latents, tokens):
    """π ∝ p Π_t A[x_t, ·], multiplied out token by token, to 1e-10; an empty sequence leaves the prior."""
    rng = np.random.default_rng(seed)
    emission = rng.dirichlet(np.ones(letters), size=latents).T + 1e-3
    emission = emission / emission.sum(axis=0)
    prior = rng.dirichlet(np.ones(latents)) + 1e-3
    sequence = rng.integers(0, letters, size=(2, tokens))
    expected = np.tile(prior / prior.sum(), (2, 1))
    for t in range(tokens):
        expected = expected * emission[sequence[:, t]]
        expected = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(prototype_attention(sequence, emission, prior / prior.sum()), expected, atol=EXACT)
    logs = np.log(emission)[sequence]
    np.testing.assert_allclose(likelihood_attention(logs, prior / prior.sum()), expected, atol=EXACT)


def test_the_stored_posterior():
    """X = (0, 0, 2): (.714286, .285714)."""
    emission = np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]])
    found = prototype_attention(np.array([[0, 0, 2]]), emission, np.array([0.5, 0.5]))
    np.testing.assert_allclose(found, [[5 / 7, 2 / 7]], atol=1e-14)


def test_the_sum_is_needed_and_not_the_mean():
    """Twice the same tokens sharpen the posterior: from 5/7 to 25/29."""
    emission = np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]])
    found = prototype_attention(np.array([[0, 0, 2, 0, 0, 2]]), emission, np.array([0.5, 0.5]))
    np.testing.assert_allclose(found, [[25 / 29, 4 / 29]], atol=1e-14)


def test_likelihoods_of_a_mixture():
    """Tokens that are no letters: the posterior of a Gaussian mixture."""
    model = GaussianMixture(np.array([[-2.0], [2.0]]), np.array([[0.7, 0.2], [0.3, 0.8]]), np.array([0.4, 0.6]))
    tokens = model.sample(3, 12, 0).tokens
    found = likelihood_attention(model.log_likelihood(tokens), model.prior)
    np.testing.assert_allclose(found, model.posterior(tokens), atol=EXACT)


@pytest.mark.parametrize(
    ("emission", "prior", "letters", "error", "sentence"),
    [
        ([[0.5, 0.5], [0.5, 0.5]], [1.0], [0], AssumptionError, "2 columns and p 1"),
        ([[1.0, 0.5], [0.0, 0.5]], [0.5, 0.5], [0], AssumptionError, "must be positive"),
        ([[0.5, 0.5], [0.5, 0.5]], [1.0, 0.0], [0], AssumptionError, "must be positive"),
        ([[0.5, 0.5], [0.5, 0.5]], [0.5, 0.5], [2], DataError, "2 letters, 0 to 1; got 2 to 2"),
    ],
)
def test_refusals(emission, prior, letters, error, sentence):
    """One sentence each."""
    with pytest.raises(error, match=sentence):
        prototype_attention(np.array([letters]), np.array(emission), np.array(prior))


def test_a_token_that_cannot_be_is_refused():
    """Its logarithm is no number that a head can pool."""
    with pytest.raises(AssumptionError, match="needs positive probability"):
        likelihood_attention(np.array([[[0.0, -np.inf]]]), np.array([0.5, 0.5]))
