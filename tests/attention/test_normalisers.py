"""Laws of the normalisers: what weights are, how far scores can move them, and what is refused."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.attention.normalisers import (
    Entmax15,
    Hardmax,
    Linear,
    Sigmoid,
    Softmax,
    Sparsemax,
    Uniform,
    corner,
)
from keyhole.errors import AssumptionError, ShapeError

CONTINUOUS = [Softmax(), Softmax(temperature=0.3), Sparsemax(), Entmax15(), Uniform(), Sigmoid(), Linear()]
EVERY = [*CONTINUOUS, Hardmax()]
SIMPLEX = [normaliser for normaliser in EVERY if normaliser.simplex]
THRESHOLD = [Sparsemax(), Entmax15()]

scores = arrays(np.float64, st.integers(1, 12), elements=st.floats(-30, 30))
close_scores = arrays(np.float64, st.integers(1, 12), elements=st.floats(-1, 1))
each = pytest.mark.parametrize("normaliser", EVERY, ids=repr)
each_continuous = pytest.mark.parametrize("normaliser", CONTINUOUS, ids=repr)
each_threshold = pytest.mark.parametrize("normaliser", THRESHOLD, ids=repr)

# A weight is a short sum of scores below 60 in size, so it rounds by less than 12 × 60 × 2⁻⁵³ ≈ 1e-13.
ROUNDING = 1e-12


def threshold_oracle(values, power):
    """Weights (x − θ)₊^power of sum one, θ bisected until it stops moving."""
    low, high = max(values) - 1, max(values)
    for _ in range(200):
        middle = (low + high) / 2
        mass = sum(max(x - middle, 0) ** power for x in values)
        low, high = (middle, high) if mass > 1 else (low, middle)
    return [max(x - low, 0) ** power for x in values]


def steepest_scores(normaliser, tokens):
    """Scores at which the constant for this many tokens is approached, and the corner that does it."""
    few, many = tokens // 2, tokens - tokens // 2
    signs = np.array([1.0] * few + [-1.0] * many)
    if isinstance(normaliser, Sigmoid | Linear):
        return np.zeros(tokens), np.ones(tokens)
    if isinstance(normaliser, Softmax):  # one half of the weight on each side
        return normaliser.temperature * np.log([0.5 / few] * few + [0.5 / many] * many), signs
    if isinstance(normaliser, Entmax15):  # threshold 0, weights cos²φ/j and sin²φ/k, scores twice their roots
        angle = math.atan((few / many) ** (1 / 6))
        heights = [math.cos(angle) / math.sqrt(few)] * few + [math.sin(angle) / math.sqrt(many)] * many
        return 2 * np.array(heights), signs
    return np.zeros(tokens), signs


def stretch(normaliser, u, change):
    """‖N(u + δ) − N(u − δ)‖₁/‖2δ‖_∞ for one change δ or a batch, the change as the floats have it."""
    above, below = u + change, u - change
    return np.abs(normaliser(above) - normaliser(below)).sum(axis=-1) / np.abs(above - below).max(axis=-1)


@pytest.mark.parametrize("normaliser", SIMPLEX, ids=repr)
@given(scores)
def test_weights_are_a_probability_vector(normaliser, u):
    """Weights of a normaliser onto the simplex are non-negative and sum to one."""
    weights = normaliser(u)
    assert weights.shape == u.shape
    assert weights.dtype == u.dtype
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1, abs=ROUNDING)


@each
@given(scores, st.data())
def test_permutations_pass_through(normaliser, u, data):
    """N(Pu) = P N(u): no token is special."""
    order = data.draw(st.permutations(range(len(u))))
    np.testing.assert_allclose(normaliser(u[order]), normaliser(u)[order], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("normaliser", SIMPLEX, ids=repr)
@given(arrays(np.float64, 5, elements=st.integers(-9, 9).map(float)), st.integers(-1000, 1000).map(float))
def test_a_common_shift_changes_nothing(normaliser, u, shift):
    """N(u + c1) = N(u); whole numbers, so that the shift itself is exact."""
    np.testing.assert_array_equal(normaliser(u + shift), normaliser(u))


@each
def test_rows_of_a_batch_are_weighed_apart(normaliser):
    """A batch gives what its rows give."""
    batch = np.random.default_rng(0).normal(size=(2, 3, 5))
    rows = np.stack([[normaliser(row) for row in block] for block in batch])
    np.testing.assert_allclose(normaliser(batch), rows, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("normaliser", [Softmax(), Sparsemax(), Entmax15(), Hardmax(), Sigmoid()], ids=repr)
@given(close_scores)
def test_a_masked_score_has_no_weight(normaliser, u):
    """A score of −∞ gets weight 0 and leaves the others as they were."""
    weights = normaliser(np.append(u, -np.inf))
    assert weights[-1] == 0
    np.testing.assert_allclose(weights[:-1], normaliser(u), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("normaliser", [Softmax(), Sparsemax(), Entmax15(), Sigmoid(), Linear()], ids=repr)
def test_nan_is_not_hidden(normaliser):
    """An undefined score gives an undefined weight, never a plausible one."""
    with np.errstate(invalid="ignore"):  # numpy may say so as well
        assert np.isnan(normaliser(np.array([0.0, np.nan, 1.0]))).any()


@each_continuous
@given(st.one_of(scores, close_scores), st.floats(0, 40), st.data())
def test_no_perturbation_beats_the_constant(normaliser, u, size, data):
    """‖N(u + δ) − N(u)‖₁ ≤ c ‖δ‖_∞ with the constant for this T, and with the T-free one if any."""
    moved_scores = u + size * data.draw(arrays(np.float64, u.shape, elements=st.floats(-1, 1)))
    change = np.abs(moved_scores - u).max()
    moved = np.abs(normaliser(moved_scores) - normaliser(u)).sum()
    assert moved <= normaliser.constant_at(len(u)) * change + 1e-11  # at temperature 0.3, ROUNDING/0.3 twice
    if normaliser.constant is not None:
        assert moved <= normaliser.constant * change + 1e-11


@each_continuous
@pytest.mark.parametrize("tokens", range(1, 9))
def test_no_corner_beats_the_constant(normaliser, tokens):
    """Of all 2ᵀ sign vectors, at even, steep and random scores and at four step sizes, none exceeds it."""
    rng = np.random.default_rng(tokens)
    bases = [np.zeros(tokens), *(spread * rng.normal(size=tokens) for spread in (0.1, 0.5, 2.0))]
    if tokens > 1:
        bases.append(steepest_scores(normaliser, tokens)[0])
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=tokens)))
    for u, step in itertools.product(bases, [1e-3, 0.1, 1.0, 10.0]):
        largest = stretch(normaliser, u, step * corners).max()
        assert largest <= normaliser.constant_at(tokens) + ROUNDING / step


@pytest.mark.parametrize("normaliser", [n for n in CONTINUOUS if n != Uniform()], ids=repr)
@pytest.mark.parametrize("tokens", [2, 3, 4, 5, 8, 16, 33])
def test_the_constant_is_attained(normaliser, tokens):
    """At the scores of the equality line a small step stretches by the constant, so nothing less would do.

    A step h changes the ratio of a symmetric difference by O((h/τ)²) and rounding by 1e-15/h: 1e-7 in all.
    """
    u, signs = steepest_scores(normaliser, tokens)
    assert stretch(normaliser, u, 1e-5 * signs) == pytest.approx(normaliser.constant_at(tokens), rel=1e-7)


@pytest.mark.parametrize("tokens", [2, 4, 8])
def test_sparsemax_attains_its_constant_at_a_finite_step(tokens):
    """On an even support sparsemax is linear, so a step that keeps the support attains it exactly."""
    u, signs = steepest_scores(Sparsemax(), tokens)
    assert stretch(Sparsemax(), u, signs / (4 * tokens)) == pytest.approx(tokens, rel=1e-13)


@pytest.mark.parametrize(
    ("normaliser", "rate"), [(Sparsemax(), 2), (Entmax15(), 2**0.5), (Sigmoid(), 2), (Linear(), 2)]
)
def test_without_a_constant_free_of_the_length_the_stretch_grows(normaliser, rate):
    """Each doubling of T multiplies the measured stretch by 2, for entmax-1.5 by √2: none is free of T."""
    assert normaliser.constant is None
    stretches = []
    for tokens in [2, 4, 8, 16, 32, 64, 128]:
        u, signs = steepest_scores(normaliser, tokens)
        stretches.append(stretch(normaliser, u, 1e-5 * signs))
    np.testing.assert_allclose(np.divide(stretches[1:], stretches[:-1]), rate, rtol=1e-6)


@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-300])
def test_hardmax_has_no_constant(gap):
    """However close two scores are, parting them moves a weight of one."""
    moved = np.abs(Hardmax()(np.array([gap, 0.0])) - Hardmax()(np.zeros(2))).sum()
    assert moved == 1
    assert Hardmax().constant is None
    assert Hardmax().constant_at(2) == math.inf


@pytest.mark.parametrize("tokens", [1, 2, 100])
def test_uniform_weights_never_move(tokens):
    """Scores are not read, so the constant is 0 for every T."""
    np.testing.assert_array_equal(Uniform()(np.arange(float(tokens))), np.full(tokens, 1 / tokens))
    assert Uniform().constant == Uniform().constant_at(tokens) == 0


@pytest.mark.parametrize("tokens", [2, 3, 10, 100])
def test_softmax_keeps_one_constant_for_every_length(tokens):
    """The stretch of softmax at its steepest scores is 1/τ for every T."""
    u, signs = steepest_scores(Softmax(temperature=0.5), tokens)
    assert stretch(Softmax(temperature=0.5), u, 1e-5 * signs) == pytest.approx(2, rel=1e-7)
    assert Softmax(temperature=0.5).constant == Softmax(temperature=0.5).constant_at(tokens) == 2


@pytest.mark.parametrize("normaliser", [n for n in SIMPLEX if n.constant is not None or n in THRESHOLD], ids=repr)
def test_one_token_cannot_move(normaliser):
    """A single token has all the weight whatever its score."""
    assert normaliser.constant_at(1) == 0


@each_threshold
@given(st.one_of(scores, close_scores))
def test_the_sorted_threshold_is_the_bisected_one(normaliser, u):
    """Sparsemax is (u − θ)₊ and entmax-1.5 is (u/2 − θ)₊², with the θ that makes the sum one."""
    power, scale = (1, 1) if normaliser == Sparsemax() else (2, 2)
    oracle = threshold_oracle([float(x) / scale for x in u], power)
    # The sum of weights falls in θ with slope at least 1 at the root, so θ rounds no worse than the sum does.
    np.testing.assert_allclose(normaliser(u), oracle, rtol=0, atol=ROUNDING)


@given(scores, st.floats(0.1, 10))
def test_softmax_is_the_textbook_ratio(u, temperature):
    """softmax(u)_t = exp(u_t/τ)/Σ exp(u/τ), term by term; here without overflow up to exp(300)."""
    masses = [math.exp(float(x) / temperature) for x in u]
    expected = [mass / math.fsum(masses) for mass in masses]
    # An exponent of 600 rounds by 600 × 2⁻⁵³, which is the relative error of its exponential.
    np.testing.assert_allclose(Softmax(temperature)(u), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("value", [-745.0, -40.0, -1.0, 0.0, 1.0, 40.0, 1000.0])
def test_sigmoid_keeps_small_gates(value):
    """The gate of −40 is e⁻⁴⁰, not 0; no score overflows."""
    expected = 1 / (1 + math.exp(-value)) if value > -700 else math.exp(value)
    # The exponent rounds by |value| × 2⁻⁵³, and below 1e-308 numbers lose their digits altogether.
    assert Sigmoid()(np.array([value]))[0] == pytest.approx(expected, rel=1e-12, abs=1e-322)


@functools.cache
def traced_jacobian(normaliser):
    """Compiled once for each normaliser and length."""
    return jax.jit(jax.jacobian(normaliser))


def closed_jacobian(normaliser, p):
    """The Jacobian of the papers, from the weights alone."""
    if normaliser == Softmax():
        return np.diag(p) - np.outer(p, p)
    root = (p > 0).astype(float) if normaliser == Sparsemax() else np.sqrt(p)
    return np.diag(root) - np.outer(root, root) / root.sum()


@pytest.mark.slow
@pytest.mark.parametrize("normaliser", [Softmax(), Sparsemax(), Entmax15()], ids=repr)
@given(arrays(np.float64, st.integers(1, 6), elements=st.floats(-1, 1)))
def test_jax_differentiates_them(normaliser, u):
    """The traced Jacobian is diag(w) − wwᵀ/Σw for w = p, the support's indicator, √p; differences agree."""
    p = normaliser(u)
    power, scale = (2, 2) if normaliser == Entmax15() else (1, 1)
    threshold = np.max(u / scale) - np.max(p) ** (1 / power)
    assume(normaliser == Softmax() or (np.abs(u / scale - threshold) > 1e-3).all())  # the support stays
    with jax.enable_x64(new_val=True):
        traced = np.asarray(traced_jacobian(normaliser)(jnp.asarray(u)))
    np.testing.assert_allclose(traced, closed_jacobian(normaliser, p), rtol=0, atol=1e-11)
    step = 1e-5 * np.eye(len(u))
    differences = np.stack([(normaliser(u + h) - normaliser(u - h)) / 2e-5 for h in step], axis=-1)
    # Third derivatives are below T⁵ ≈ 1e4, so a central difference errs by 1e-10 × 1e4; rounding adds 1e-10.
    np.testing.assert_allclose(traced, differences, rtol=0, atol=1e-6)


@each
def test_jax_traces_them(normaliser):
    """Compiled and mapped over a batch, a normaliser gives what numpy gives."""
    batch = np.random.default_rng(1).normal(size=(4, 6))
    with jax.enable_x64(new_val=True):
        compiled = np.asarray(jax.jit(jax.vmap(normaliser))(jnp.asarray(batch)))
    np.testing.assert_allclose(compiled, normaliser(batch), rtol=0, atol=ROUNDING)


@pytest.mark.slow
def test_the_gate_has_its_slope_at_zero():
    """σ′(0) = 1/4, also when traced."""
    with jax.enable_x64(new_val=True):
        slope = jax.grad(lambda u: Sigmoid()(u)[0])(jnp.zeros(1))
    assert float(slope[0]) == pytest.approx(0.25, rel=1e-15)


@pytest.mark.extra("torch")
@each
def test_torch_agrees(normaliser):
    """On torch tensors the weights, and where there are any the gradients, are those of jax."""
    import torch

    batch = np.random.default_rng(2).normal(size=(4, 6))
    tensor = torch.tensor(batch, requires_grad=True)
    weights = normaliser(tensor)
    np.testing.assert_allclose(weights.detach().numpy(), normaliser(batch), rtol=0, atol=ROUNDING)
    if weights.requires_grad:
        (weights[:, 0] * weights[:, 1]).sum().backward()
        with jax.enable_x64(new_val=True):
            traced = jax.grad(lambda u: (normaliser(u)[:, 0] * normaliser(u)[:, 1]).sum())(jnp.asarray(batch))
        np.testing.assert_allclose(tensor.grad.numpy(), traced, rtol=0, atol=1e-11)


@each
@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_no_scores_are_refused(normaliser, shape):
    """There is nothing to weigh along an empty axis."""
    with pytest.raises(ShapeError, match="was asked to weigh no scores; give at least one"):
        normaliser(np.zeros(shape))


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_temperatures_are_positive(temperature):
    """Zero, negative and undefined temperatures are refused."""
    with pytest.raises(AssumptionError, match="temperature must be positive and finite"):
        Softmax(temperature)


def steepest_corner(weights):
    """The largest ‖Ju‖₁ over all sets, for J = diag(w) − wwᵀ/Σw."""
    sets = itertools.product([0, 1], repeat=len(weights))
    return max(corner(float(sum(weights)), float(np.dot(chosen, weights))) for chosen in sets)


@given(arrays(np.float64, st.integers(1, 7), elements=st.floats(0.01, 1)))
def test_the_corner_formula_is_the_operator_norm(weights):
    """The largest ‖Ju‖₁ over u ∈ {±1}ᵀ is the largest 4 A (W − A)/W."""
    jacobian = np.diag(weights) - np.outer(weights, weights) / weights.sum()
    corners = itertools.product([-1.0, 1.0], repeat=len(weights))
    direct = max(np.abs(jacobian @ np.array(signs)).sum() for signs in corners)
    assert steepest_corner(weights) == pytest.approx(direct, abs=ROUNDING)


@pytest.mark.parametrize(("p", "norm"), [((0.5, 0.3, 0.2), 1.0), ((0.6, 0.3, 0.1), 0.96)])
def test_vectors_of_the_softmax_norm(p, norm):
    """‖J‖_{∞→1} of softmax at stored weights."""
    assert steepest_corner(p) == pytest.approx(norm, rel=1e-14)


@pytest.mark.parametrize(("tokens", "constant"), [(2, 2), (3, 2.666667), (4, 4), (5, 4.8), (8, 8)])
def test_vectors_of_sparsemax(tokens, constant):
    """The constant of sparsemax for stored lengths."""
    assert Sparsemax().constant_at(tokens) == pytest.approx(constant, abs=5e-7)


@pytest.mark.parametrize(("support", "norm"), [(2, 1.414214), (3, 1.539601), (4, 2), (8, 2.828427), (16, 4)])
def test_vectors_of_entmax(support, norm):
    """Equal weights give √n on even supports, where they are steepest, and less than the constant on odd."""
    assert steepest_corner([support**-0.5] * support) == pytest.approx(norm, abs=5e-7)
    best = Entmax15().constant_at(support)
    assert best == pytest.approx(norm, abs=5e-7) if support % 2 == 0 else best > norm + 0.1
    assert best <= math.sqrt(support) + 1e-15 * support
