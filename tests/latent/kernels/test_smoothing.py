"""Laws of kernel smoothing: an average of values, softmax attention as an instance, leaving one out."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.attention.normalisers import Softmax
from keyhole.errors import AssumptionError, ShapeError
from keyhole.latent.kernels.families import (
    Constant,
    Exponential,
    Gaussian,
    Kernel,
    Matern,
    linear_kernel,
    sphere_kernel,
)
from keyhole.latent.kernels.smoothing import smooth, smooth_left_out, smoothing_weights

KERNELS = [Gaussian(0.5), Exponential(0.7), Constant(), Matern(0.6, 2.5)]
each = pytest.mark.parametrize("kernel", KERNELS, ids=str)
rows = st.integers(1, 7)
unit = st.floats(-1, 1)


@st.composite
def contexts(draw, least=1):
    """Keys, values and queries that fit together."""
    tokens, queries = draw(st.integers(least, 7)), draw(rows)
    shapes = [(tokens, 2), (tokens, 3), (queries, 2)]
    return [draw(arrays(np.float64, shape, elements=unit)) for shape in shapes]


def on_circle(*degrees):
    """Points of the unit circle."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


@each
@given(context=contexts())
def test_the_smoother_is_the_ratio_of_sums(kernel, context):
    """Σ_t k(q, k_t) v_t / Σ_t k(q, k_t), added up one pair at a time."""
    keys, values, queries = context
    for query, answer in zip(queries, smooth(kernel, keys, values, queries), strict=True):
        masses = [kernel(query[None, :], key[None, :])[0, 0] for key in keys]
        expected = sum(mass * value for mass, value in zip(masses, values, strict=True)) / sum(masses)
        np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-13)  # exponents below 20 round by 4e-15


@given(contexts(), st.floats(0.05, 5))
def test_softmax_attention_is_kernel_smoothing(context, temperature):
    """Vᵀ softmax(Kq/γ) is the smoother with kernel exp(qᵀk/γ)."""
    keys, values, queries = context
    attention = Softmax(temperature)(queries @ keys.T) @ values
    smoothed = smooth(Exponential(temperature), keys, values, queries)
    np.testing.assert_allclose(smoothed, attention, rtol=0, atol=1e-13)  # logits below 40 round by 1e-14


@given(contexts(), st.floats(0.05, 5))
def test_on_the_sphere_attention_is_gaussian_smoothing(context, temperature):
    """For unit keys and queries, softmax attention at temperature γ is Nadaraya–Watson with h² = γ."""
    keys, values, queries = (
        on_circle(*(180 * context[0][:, 0])),
        context[1],
        on_circle(*(180 * context[2][:, 0])),
    )
    attention = Softmax(temperature)(queries @ keys.T) @ values
    for kernel in (Gaussian(temperature**0.5), sphere_kernel(temperature)):
        np.testing.assert_allclose(smooth(kernel, keys, values, queries), attention, rtol=0, atol=1e-12)


@each
@given(context=contexts(), block=st.integers(1, 8))
def test_blocks_do_not_matter(kernel, context, block):
    """Any number of queries at a time gives the same answers."""
    whole = smooth(kernel, *context)
    np.testing.assert_allclose(smooth(kernel, *context, block=block), whole, rtol=0, atol=1e-14)


@dataclass(frozen=True)
class Witness(Kernel):
    """A constant kernel that notes the shape of every matrix it is asked for."""

    seen: list = field(default_factory=list)
    positive = True

    def between(self, left, right):
        """Ones."""
        self.seen.append((len(left), len(right)))
        return np.ones(self.seen[-1])

    def diagonal(self, points):
        """Ones."""
        return np.ones(len(points))


def test_no_more_than_a_block_is_held():
    """Whatever the number of queries, no matrix has more rows than the block."""
    witness = Witness()
    smooth(witness, np.ones((6, 1)), np.ones((6, 1)), np.ones((10, 1)), block=4)
    assert [queries for queries, _ in witness.seen] == [4, 4, 2]


@each
@given(context=contexts(least=2))
def test_leaving_out_is_leaving_out(kernel, context):
    """The short form equals smoothing at each key with that token deleted from the context."""
    keys, values, _ = context
    expected = [
        smooth(kernel, np.delete(keys, t, axis=0), np.delete(values, t, axis=0), keys[t : t + 1])[0]
        for t in range(len(keys))
    ]
    np.testing.assert_allclose(smooth_left_out(kernel, keys, values), expected, rtol=0, atol=1e-13)


def test_leaving_out_survives_a_peaked_kernel():
    """Where a key has all the weight at itself to the last digit, its neighbours answer when it is out."""
    keys = np.array([[0.0], [1.0], [3.0]])
    answers = smooth_left_out(Gaussian(0.01), keys, np.array([[10.0], [20.0], [30.0]]))
    np.testing.assert_allclose(answers, [[20.0], [10.0], [20.0]], rtol=1e-15)


def test_far_queries_keep_their_weights():
    """A query so far that every kernel value underflows is still answered, by its nearest key."""
    weights = smoothing_weights(Gaussian(1.0), np.array([[0.0], [1.0]]), np.array([[100.0]]))
    assert weights[0, 1] == pytest.approx(1.0, rel=1e-15)


def test_kernels_of_either_sign_do_not_smooth():
    """A kernel that may be negative gives no weights."""
    with pytest.raises(AssumptionError, match="cannot weigh tokens"):
        smooth(linear_kernel(), np.ones((2, 1)), np.ones((2, 1)), np.ones((1, 1)))


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
    with pytest.raises(ShapeError, match=sentence):
        smooth(Gaussian(1.0), *(np.zeros(shape) for shape in shapes))


@pytest.mark.parametrize("which", [0, 1, 2])
def test_undefined_entries_are_refused(which):
    """NaN in keys, values or queries is named."""
    context = [np.ones((2, 1)) for _ in range(3)]
    context[which][0, 0] = np.nan
    with pytest.raises(ShapeError, match=f"{['keys', 'values', 'queries'][which]} holds NaN"):
        smooth(Gaussian(1.0), *context)


def test_nothing_is_left_of_one_token():
    """One token cannot be left out."""
    with pytest.raises(ShapeError, match="leaves nothing when it is left out"):
        smooth_left_out(Gaussian(1.0), np.ones((1, 1)), np.ones((1, 1)))


@pytest.mark.parametrize(("temperature", "answer"), [(0.5, 0.4569431), (1.0, 0.3374248), (0.1, 0.4999995)])
def test_vectors_on_the_circle(temperature, answer):
    """Keys at 0°, 90°, 180° with values 1, 0, −1, asked at 45°."""
    keys, values, query = on_circle(0, 90, 180), np.array([[1.0], [0.0], [-1.0]]), on_circle(45)
    assert smooth(sphere_kernel(temperature), keys, values, query)[0, 0] == pytest.approx(answer, abs=5e-8)
    if temperature == 0.5:
        weights = smoothing_weights(sphere_kernel(temperature), keys, query)[0]
        np.testing.assert_allclose(weights, [0.485648, 0.485648, 0.028705], rtol=0, atol=5e-7)
