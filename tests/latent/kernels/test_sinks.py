"""Laws of the sink: two Bayesian answers are exactly softmax attention with one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.errors import AssumptionError, ShapeError
from keyhole.latent.kernels.sinks import Sink, attend_with_sink, gaussian_sink, polya_sink, sink_weight

amounts = arrays(np.float64, 3, elements=st.floats(0.1, 10))
lengths = st.integers(0, 12)


@given(amounts, st.lists(st.integers(0, 2), max_size=12))
def test_a_polya_urn_is_attention_with_a_sink(contents, tokens):
    """The predictive law is (α_v + n_v)/(α₀ + T), drawn from an urn that each token returned to twofold."""
    urn = contents.copy()
    for token in tokens:
        urn[token] += 1
    values = np.eye(3)[tokens] if tokens else np.zeros((0, 3))
    answer = attend_with_sink(polya_sink(contents), np.zeros(len(tokens)), values)
    np.testing.assert_allclose(answer, urn / urn.sum(), rtol=0, atol=1e-14)


@given(lengths, st.floats(0.1, 5), st.floats(0.1, 5), st.floats(-3, 3), st.data())
def test_a_gaussian_location_is_attention_with_a_sink(length, prior, noise, centre, data):
    """Updating N(μ₀, τ²) one token at a time gives the same mean, and τ² × sink weight as variance."""
    tokens = data.draw(arrays(np.float64, (length, 1), elements=st.floats(-5, 5)))
    mean, variance = centre, prior
    for token in tokens[:, 0]:
        gain = variance / (variance + noise)
        mean, variance = mean + gain * (token - mean), variance * (1 - gain)
    sink = gaussian_sink(np.array([centre]), prior_variance=prior, noise_variance=noise)
    # Logits below 4 and a dozen updates of numbers below 5 round by 1e-14.
    assert attend_with_sink(sink, np.zeros(length), tokens)[0] == pytest.approx(mean, abs=1e-13)
    assert prior * sink_weight(sink, np.zeros(length)) == pytest.approx(variance, abs=1e-13)


@given(lengths, st.floats(-5, 5))
def test_the_sink_weight_tells_the_length(length, logit):
    """With logit θ and zero scores the weight is e^θ/(e^θ + T); at θ = 0 it is 1/(T + 1)."""
    weight = sink_weight(Sink(logit, np.zeros(1)), np.zeros(length))
    assert weight == pytest.approx(np.exp(logit) / (np.exp(logit) + length), rel=1e-13)


def test_sequences_of_a_batch_are_answered_apart():
    """A batch gives what its sequences give."""
    generator = np.random.default_rng(0)
    scores, values = generator.normal(size=(4, 3)), generator.normal(size=(4, 3, 2))
    sink = Sink(0.3, np.array([1.0, -1.0]))
    one_by_one = [attend_with_sink(sink, *pair) for pair in zip(scores, values, strict=True)]
    np.testing.assert_allclose(attend_with_sink(sink, scores, values), one_by_one, rtol=0, atol=1e-14)


def test_padding_can_be_masked():
    """A score of −∞ removes a token; the sink stays, so no sequence is empty."""
    sink, values = Sink(0.0, np.array([1.0])), np.array([[3.0], [9.0]])
    answer = attend_with_sink(sink, np.array([0.0, -np.inf]), values)
    assert answer[0] == pytest.approx(2.0, rel=1e-15)
    assert attend_with_sink(sink, np.full(2, -np.inf), values)[0] == 1.0


@pytest.mark.parametrize("shape", [(3,), (2, 2), (3, 1), (1, 3, 2)])
def test_values_that_do_not_fit_are_refused(shape):
    """Values need one row per score and the sink's width."""
    with pytest.raises(ShapeError, match=r"need values of shape \(3, 2\); got"):
        attend_with_sink(Sink(0.0, np.zeros(2)), np.zeros(3), np.zeros(shape))


def test_undefined_entries_are_refused():
    """NaN in scores or values, and a score of +∞, are named."""
    sink = Sink(0.0, np.zeros(1))
    with pytest.raises(ShapeError, match="values holds NaN"):
        attend_with_sink(sink, np.zeros(1), np.array([[np.nan]]))
    for entry in (np.nan, np.inf):
        with pytest.raises(ShapeError, match="scores holds NaN or infinity"):
            attend_with_sink(sink, np.array([entry]), np.zeros((1, 1)))


@pytest.mark.parametrize("contents", [[0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_urns_hold_something(contents):
    """Negative, undefined and empty urns are refused."""
    with pytest.raises(AssumptionError, match="an urn holds a non-negative finite amount of every colour"):
        polya_sink(np.array(contents))


@pytest.mark.parametrize("variance", [0.0, -1.0, np.nan])
def test_variances_are_positive(variance):
    """A variance of zero would put the sink at infinity."""
    with pytest.raises(AssumptionError, match="a prior variance must be positive"):
        gaussian_sink(np.zeros(1), prior_variance=variance, noise_variance=1.0)
    with pytest.raises(AssumptionError, match="a noise variance must be positive"):
        gaussian_sink(np.zeros(1), prior_variance=1.0, noise_variance=variance)


def test_vector_of_the_urn():
    """α = (1, 2, 1), tokens 0, 0, 1: (3, 3, 1)/7."""
    sink = polya_sink(np.array([1.0, 2.0, 1.0]))
    assert sink.logit == pytest.approx(1.386294, abs=5e-7)
    answer = attend_with_sink(sink, np.zeros(3), np.eye(3)[[0, 0, 1]])
    np.testing.assert_allclose(answer, np.array([3, 3, 1]) / 7, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("length", "variance"), [(3, 0.1538462), (10, 0.0487805), (100, 0.00498753), (1000, 0.000499875)]
)
def test_vectors_of_the_gaussian(length, variance):
    """τ² = 2, σ² = ½: posterior variances by length; for tokens 1, 2, 3 also mean and sink weight."""
    sink = gaussian_sink(np.zeros(1), prior_variance=2.0, noise_variance=0.5)
    assert 2 * sink_weight(sink, np.zeros(length)) == pytest.approx(variance, rel=1e-6)
    if length == 3:
        assert attend_with_sink(sink, np.zeros(3), np.array([[1.0], [2.0], [3.0]]))[0] == pytest.approx(
            1.8461538, abs=5e-8
        )
        assert sink_weight(sink, np.zeros(3)) == pytest.approx(0.0769231, abs=5e-8)
