"""Every exchangeable model: its posterior against a slow oracle, its sampler against its posterior, its refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.apps.ledger.latent.definetti import beliefs, expected_posterior, martingale_drift
from keyhole.apps.ledger.latent.representations import enumerate_sequences, joint_probabilities
from keyhole.errors import ArgumentError, AssumptionError, DataError
from keyhole.latent.models.conjugate import BetaBernoulli, GaussianLocation, Polya
from keyhole.latent.models.finite import FiniteModel, count_vectors, counts_of, entropies
from keyhole.latent.models.linear import LinearRegression
from keyhole.latent.models.mixture import GaussianMixture
from keyhole.latent.models.not_exchangeable import MarkovChain, Urn
from keyhole.latent.models.registry import find_model, model_names
from keyhole.latent.models.sphere import SphereFunction, SphereProcess, draw_sphere_function

THREE = FiniteModel(np.array([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]]), np.array([0.5, 0.5]))
LETTER_MODELS = [name for name in model_names() if hasattr(find_model(name), "letters")]
WITHOUT_KEYS = [name for name in model_names() if find_model(name).regression is None]
SAMPLERS = {name: find_model(name) for name in [*WITHOUT_KEYS, "gp"]} | {
    "markov": MarkovChain(),
    "urn": Urn(np.full(4, 4)),
}


@st.composite
def finite_models(draw):
    """Up to 4 latent values and 4 letters, some of them impossible under some latent."""
    letters, values = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    weights = draw(arrays(np.float64, (letters, values), elements=st.floats(0, 1)))
    weights[0] += 0.1  # a letter that is always possible, so that no column is empty
    prior = draw(arrays(np.float64, values, elements=st.floats(0.01, 1)))
    return FiniteModel(weights / weights.sum(axis=0), prior / prior.sum())


@given(finite_models(), st.integers(0, 6), st.integers(0, 2**32))
def test_bayes_rule_is_a_softmax(model, length, seed):
    """π_X is p_z Π_t A[x_t, z] normalised, and equals softmax(counts · log A + log p), to 1e-10."""
    tokens = model.sample(3, length, seed).tokens
    product = model.prior * model.emission[tokens].prod(axis=1)
    slow = product / product.sum(axis=1, keepdims=True)
    assert np.abs(model.posterior(tokens) - slow).max() <= 1e-10
    counts = counts_of(model)(tokens)
    logs = np.log(
        np.maximum(model.emission, 1e-300)
    )  # an impossible letter: e^{−690} is 0 beside any posterior ≥ 1e-4⁶
    scores = counts @ logs + np.log(model.prior)
    attention = np.exp(scores - scores.max(axis=1, keepdims=True))
    attention /= attention.sum(axis=1, keepdims=True)
    possible = product > 0
    assert np.abs(np.where(possible, attention - slow, 0)).max() <= 1e-10
    assert np.abs(model.posterior_mean(tokens) - slow @ model.emission.T).max() <= 1e-10


@given(finite_models(), st.integers(0, 6), st.integers(0, 2**32))
def test_finite_posteriors_are_martingales(model, length, seed):
    """The posterior expected after one more letter is the posterior, to 1e-10."""
    tokens = model.sample(4, length, seed).tokens
    assert martingale_drift(model, tokens) <= 1e-10


@pytest.mark.parametrize("name", LETTER_MODELS)
def test_every_letter_model_is_a_martingale(name):
    """Finite, Pólya and Beta–Bernoulli: the largest drift stays below 1e-12."""
    model = find_model(name)
    tokens = model.sample(50, 9, 3).tokens
    assert martingale_drift(model, tokens) <= 1e-12
    assert np.abs(expected_posterior(model, tokens) - beliefs(model.posterior(tokens[:, 1:]))).max() > 1e-3


@given(arrays(np.float64, (2, 5, 2), elements=st.floats(-5, 5)), st.floats(0.1, 5), st.floats(0.1, 5))
def test_gaussian_location_by_one_token_at_a_time(tokens, prior, noise):
    """The batch posterior is the one-token update repeated; the mean expected after a further token is the mean."""
    model = GaussianLocation(np.array([0.5, -1.0]), prior, noise)
    mean, variance = np.tile(model.prior_mean, (2, 1)), prior
    for t in range(5):
        gain = variance / (variance + noise)
        mean, variance = mean + gain * (tokens[:, t] - mean), variance * (1 - gain)
    posterior = model.posterior(tokens)
    assert np.abs(posterior.mean - mean).max() <= 1e-12
    assert posterior.variance == pytest.approx(variance, rel=1e-12)
    longer = np.concatenate([tokens, posterior.mean[:, None]], axis=1)  # the update is linear in it
    assert np.abs(model.posterior(longer).mean - mean).max() <= 1e-12


def test_vectors_of_the_theory():
    """Stored numbers of the theory: posteriors, predictives, variances."""
    assert THREE.posterior(np.array([[0, 0, 2]]))[0] == pytest.approx([0.714286, 0.285714], abs=1e-6)
    assert THREE.posterior_mean(np.array([[0, 0, 2]]))[0] == pytest.approx([0.414286, 0.3, 0.285714], abs=1e-6)
    assert THREE.posterior_mean(np.zeros((1, 0), dtype=int))[0] == pytest.approx([0.35, 0.3, 0.35], abs=1e-12)
    assert 7 * Polya(np.array([1.0, 2, 1])).posterior_mean(np.array([[0, 0, 1]]))[0] == pytest.approx([3, 3, 1])
    gaussian = GaussianLocation(np.zeros(1), 2.0, 0.5)
    for length, variance in [(10, 0.0487805), (100, 0.00498753), (1000, 0.000499875)]:
        assert gaussian.bayes_risk(length) == pytest.approx(variance, rel=1e-5)


def test_linear_regression_is_conditional_mean_attention():
    """The posterior over slopes and kernel ridge regression with λ = σ²/τ² agree in mean and variance."""
    from keyhole.latent.kernels.conditional_mean import embed_mean
    from keyhole.latent.kernels.families import linear_kernel

    model = LinearRegression(3, 2, prior_variance=0.7, noise_variance=0.4)
    drawn = model.draw_context(9, np.random.default_rng(0))
    inverse = np.linalg.inv(drawn.keys.T @ drawn.keys + model.ridge * np.eye(3))
    mean = drawn.queries @ inverse @ drawn.keys.T @ drawn.values
    variance = 0.4 + 0.4 * np.einsum("qd,de,qe->q", drawn.queries, inverse, drawn.queries)
    context = embed_mean(linear_kernel(), drawn.keys, drawn.values, ridge=model.ridge)
    assert np.abs(context.mean(drawn.queries) - mean).max() <= 1e-10
    assert np.abs(model.solve(drawn).mean - mean).max() <= 1e-10
    assert np.abs(context.variance(drawn.queries, noise=0.4) - variance).max() <= 1e-10


def test_process_is_the_gaussian_conditional():
    """The process's posterior is the textbook conditional of a joint Gaussian, mean and variance."""
    from keyhole.latent.kernels.conditional_mean import embed_mean

    model = SphereProcess(3, 1, temperature=0.7, prior_variance=1.3, noise_variance=0.2)
    tokens = model.sample(1, 6, 0).tokens
    keys, values = np.split(tokens[0], [model.key_width], axis=1)
    queries = np.array([[1.0, 0, 0], [0, 0.6, 0.8]])
    cross = 1.3 * np.exp((queries @ keys.T - 1) / 0.7)
    system = 1.3 * np.exp((keys @ keys.T - 1) / 0.7) + 0.2 * np.eye(6)
    context = embed_mean(model.kernel, keys, values, ridge=model.ridge)
    assert context.mean(queries) == pytest.approx(cross @ np.linalg.inv(system) @ values, abs=1e-10)
    variance = 1.3 + 0.2 - np.diag(cross @ np.linalg.inv(system) @ cross.T)
    assert context.variance(queries, noise=0.2) == pytest.approx(variance, abs=1e-10)


def test_bayes_risk_is_what_the_posterior_mean_loses():
    """Simulated squared error of the posterior mean: within 4 standard errors (1 in 16000) of the stated risk."""
    model, n = find_model("gaussian"), 2000
    drawn = model.sample(n, 6, 11)
    losses = ((model.posterior(drawn.tokens).mean - drawn.latents) ** 2).reshape(n, -1).sum(axis=1)
    assert abs(losses.mean() - model.bayes_risk(6)) <= 4 * losses.std(ddof=1) / np.sqrt(n)


def test_entropy_of_counts_and_of_sequences_agree():
    """H(z | X) over count vectors, and over all sequences."""
    sequences = enumerate_sequences(3, 5)
    joint = joint_probabilities(THREE, sequences)
    slow = float((joint.sum(axis=1) * entropies(THREE.posterior(sequences))).sum())
    assert THREE.bayes_risk(5) == pytest.approx(slow, rel=1e-12)


@given(st.integers(1, 4), st.integers(0, 6))
def test_count_vectors_are_all_there_are(letters, length):
    """Every way to divide T tokens, each once."""
    from math import comb

    found = np.concatenate(list(count_vectors(letters, length, block=7)))
    assert len(np.unique(found, axis=0)) == len(found) == comb(length + letters - 1, length)
    assert (found.sum(axis=1) == length).all()
    assert found.min() >= 0


@pytest.mark.parametrize("name", SAMPLERS)
def test_one_seed_one_sample(name):
    """The same seed gives the same tokens, another seed others; n and T are the first two axes."""
    sampler = SAMPLERS[name]
    first, again, other = (sampler.sample(5, 7, seed).tokens for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first.shape[:2] == (5, 7)


@pytest.mark.parametrize("name", WITHOUT_KEYS)
def test_models_ignore_the_order(name):
    """A posterior does not depend on the order of the tokens."""
    model = find_model(name)
    tokens = model.sample(3, 6, 4).tokens
    before, after = (parts_of(model.posterior(some)) for some in (tokens, tokens[:, ::-1]))
    for one, two in zip(before, after, strict=True):
        assert np.abs(one - two).max() <= 1e-9


def parts_of(answer):
    """An answer as arrays: itself, or the numbers of its law."""
    return [answer] if isinstance(answer, np.ndarray) else [np.asarray(part) for part in vars(answer).values()]


def test_markov_chain_moves_as_it_predicts():
    """Of 40000 transitions the share that stays is stay + (1 − stay)/V within 4 standard errors (1 in 16000)."""
    chain = MarkovChain(4, 0.3)
    tokens = chain.sample(4000, 11, 0).tokens
    stays = (tokens[:, 1:] == tokens[:, :-1]).mean()
    expected = 0.3 + 0.7 / 4
    assert abs(stays - expected) <= 4 * np.sqrt(expected * (1 - expected) / 40000)


def test_an_urn_runs_out():
    """All copies are drawn, each once; more cannot be asked."""
    urn = Urn(np.array([1, 2, 1]))
    tokens = urn.sample(6, 4, 0).tokens
    assert (np.sort(tokens, axis=1) == [0, 1, 1, 2]).all()
    with pytest.raises(AssumptionError, match="5 tokens cannot be drawn without replacement from an urn of 4"):
        urn.sample(1, 5, 0)


def test_a_function_on_the_sphere():
    """Values are the function plus noise of its variance, the function a sum of bumps."""
    function = draw_sphere_function(3)
    drawn = function.sample(2, 2000, 4)
    keys, values = drawn.tokens[:, :, :3], drawn.tokens[:, :, 3:]
    assert np.abs(np.linalg.norm(keys, axis=2) - 1).max() <= 1e-12
    assert drawn.latents[0] == pytest.approx(function(keys[0]), abs=1e-12)
    # 8000 squared normals: relative standard error √(2/8000) = 0.016, four of them 0.064 (1 in 16000)
    assert (values - drawn.latents).var() == pytest.approx(0.09, rel=0.064)
    lone = SphereFunction(np.array([[0.0, 0, 1]]), np.array([[2.0]]))
    assert lone(np.array([[0.0, 0, 1]])) == pytest.approx(2.0)


def test_a_token_far_from_every_cluster_of_a_latent_is_still_possible():
    """Logarithms of −800 and less are sums over the latent's own clusters, each by hand; none is lost to underflow."""
    pair = GaussianMixture(np.array([[-2.0], [2.0]]), np.eye(2), np.array([0.5, 0.5]), 0.01)
    constant = -np.log(2 * np.pi * 0.01) / 2
    found = pair.log_likelihood(np.array([[[-2.0], [2.1]]]))
    np.testing.assert_allclose(found, constant - np.array([[[0.0, 800.0], [840.5, 0.5]]]), rtol=1e-12)
    # 840.5 against 800.5: the second cluster, by e^40
    assert pair.posterior(np.array([[[-2.0], [2.1]]]))[0, 0] == pytest.approx(np.exp(-40), rel=1e-10)


def test_mixture_by_its_clusters():
    """With every sequence in one cluster, the posterior is that of the nearest centre by squared distance."""
    model = GaussianMixture(np.array([[0.0, 0.0], [1.0, 1.0]]), np.eye(2), np.array([0.3, 0.7]), 0.5)
    tokens = model.sample(5, 4, 0).tokens
    square = ((tokens[:, :, None] - model.centres) ** 2).sum(axis=(1, 3))
    weight = model.prior * np.exp(-square)  # 1/(2σ²) = 1
    assert model.posterior(tokens) == pytest.approx(weight / weight.sum(axis=1, keepdims=True))


REFUSALS = {
    "must sum to 1, but sums to 1.1": lambda: FiniteModel(THREE.emission, np.array([0.5, 0.6])),
    "column of A.* must sum to 1": lambda: FiniteModel(THREE.emission * 1.1, THREE.prior),
    "non-negative numbers, at least one; got nan": lambda: FiniteModel(THREE.emission, np.array([np.nan, 0.5])),
    "2 columns and p 1 entries": lambda: FiniteModel(THREE.emission, np.ones(1)),
    "an array of float64": lambda: THREE.posterior(np.array([[0.0]])),
    "The alphabet has 3 letters, 0 to 2; got letters from 0 to 3": lambda: THREE.posterior(np.array([[0, 3]])),
    "probability 0 under every latent": lambda: FiniteModel(np.array([[1.0], [0.0]]), np.ones(1)).posterior(
        np.array([[1]])
    ),
    "0 sequences of 3 tokens": lambda: THREE.sample(0, 3, 0),
    "of a colour must be": lambda: Polya(np.array([1.0, 0.0])),
    "at least two colours": lambda: Polya(np.ones(1)),
    "parameter of a Beta law": lambda: BetaBernoulli(1.0, -1.0),
    "noise variance .* got nan": lambda: GaussianLocation(np.zeros(1), 1.0, float("nan")),
    "The prior mean must hold": lambda: GaussianLocation(np.zeros(0)),
    r"shape \(n, T, 1\)": lambda: find_model("gaussian").posterior(np.zeros((1, 2, 3))),
    "Tokens hold NaN": lambda: find_model("gaussian").posterior(np.full((1, 2, 1), np.nan)),
    "need W of shape": lambda: GaussianMixture(np.zeros((2, 1)), np.ones((1, 1)), np.ones(1)),
    "The centres hold NaN": lambda: GaussianMixture(np.full((1, 1), np.nan), np.ones((1, 1)), np.ones(1)),
    "keys need at least 2": lambda: SphereProcess(1),
    "temperature must be": lambda: SphereProcess(temperature=0.0),
    "Draw a SphereFunction instead": lambda: SphereProcess().sample(1, 5000, 0),
    "a chance to stay from 0 to 1": lambda: MarkovChain(4, 1.5),
    "not nothing": lambda: Urn(np.array([0, 0])),
}


@pytest.mark.parametrize("sentence", REFUSALS)
def test_bad_input_gets_one_sentence(sentence):
    """Unnormalised laws, NaN, foreign letters and empty requests are refused in words."""
    with pytest.raises((AssumptionError, DataError), match=sentence):
        REFUSALS[sentence]()


def test_unknown_names():
    """A name that is not a model is refused with the names there are."""
    with pytest.raises(ArgumentError, match=r"'nothing'.* beta, finite"):
        find_model("nothing")
