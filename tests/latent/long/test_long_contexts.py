"""Laws of long contexts: the same answers as dense solutions, bounds that hold, nothing of T × T."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyhole.errors import AssumptionError, ShapeError
from keyhole.latent.kernels.conditional_mean import cme_attention, embed_mean
from keyhole.latent.kernels.families import (
    Constant,
    Exponential,
    Gaussian,
    Given,
    Matern,
    linear_kernel,
    sphere_kernel,
)
from keyhole.latent.kernels.smoothing import smooth
from keyhole.latent.long.cme import embed_long, kernel_product
from keyhole.latent.long.pivoted_cholesky import factor
from keyhole.latent.long.softmax import is_tame, softmax_long
from keyhole.latent.models.sphere import draw_sphere_function, uniform_on_sphere

KERNELS = [sphere_kernel(0.5), Gaussian(0.5), Matern(0.5, 0.5), linear_kernel(), Constant()]
each = pytest.mark.parametrize("kernel", KERNELS, ids=str)
small_keys = arrays(np.float64, (9, 2), elements=st.floats(-2, 2))


def sphere_context(tokens, seed=0, queries=50):
    """The setting of the theory: eight bumps, σ² = .09."""
    rng = np.random.default_rng(seed)
    function = draw_sphere_function(rng)
    keys = uniform_on_sphere(tokens, 3, rng)
    values = function(keys) + 0.3 * rng.normal(size=(tokens, 2))
    return keys, values, uniform_on_sphere(queries, 3, rng), function


@each
@given(keys=small_keys, rank=st.integers(1, 9))
def test_a_partial_factor_leaves_a_positive_rest(kernel, keys, rank):
    """𝔎 − FᵀF is positive semi-definite, its diagonal is `left`, and the rows read are exact."""
    found = factor(kernel, keys, rank=rank, trace=1e-300)
    rest = kernel(keys, keys) - found.rows.T @ found.rows
    scale = max(1.0, float(kernel.diagonal(keys).max()))
    assert np.linalg.eigvalsh(rest).min() >= -1e-12 * scale
    np.testing.assert_allclose(np.diag(rest), found.left, atol=1e-12 * scale)
    np.testing.assert_allclose(rest[found.pivots], 0, atol=1e-7 * scale)  # a pivot of 1e-15 divides rounding of 1e-16


@each
@given(keys=small_keys, rank=st.integers(1, 9), vector=arrays(np.float64, 9, elements=st.floats(-1, 1)))
def test_what_the_factor_misses_is_bounded(kernel, keys, rank, vector):
    """‖(𝔎 − FᵀF)x‖ ≤ √t Σ√d|x| ≤ t‖x‖."""
    found = factor(kernel, keys, rank=rank, trace=1e-300)
    missed = np.linalg.norm((kernel(keys, keys) - found.rows.T @ found.rows) @ vector)
    slack = 1e-12 * max(1.0, float(kernel.diagonal(keys).max()))
    assert missed <= found.missed(vector) + slack
    assert found.missed(vector) <= found.trace * np.linalg.norm(vector) + slack


def test_the_factors_bound_is_attained():
    """What is left has rank one and x is its eigenvector's signs: two equal keys more than the rank allows."""
    keys = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = factor(linear_kernel(), keys, rank=1, trace=1e-300)
    missed = np.linalg.norm((keys @ keys.T - found.rows.T @ found.rows) @ np.array([0.0, 1.0, 1.0]))
    assert found.missed(np.array([0.0, 1.0, 1.0])) == pytest.approx(missed, rel=1e-12)


@each
def test_long_and_dense_solutions_agree(kernel):
    """300 tokens: the factor where it suffices, conjugate gradients where not; the certified bound holds."""
    keys, values, queries, _ = sphere_context(300)
    found = embed_long(kernel, keys, values, ridge=0.09, tolerance=1e-9, rank=60, steps=200)
    dense = cme_attention(kernel, keys, values, queries, ridge=0.09)
    gap = np.abs(found.mean(queries) - dense).max(axis=1)
    assert np.all(gap <= found.bound(queries) + 1e-10)  # dense rounding: condition number 3e3 at most
    assert found.bound(queries).max() <= 1e-9 * 1.0001


def test_the_rough_kernel_needs_exact_products_and_the_smooth_one_none():
    """What certified the answer is told."""
    keys, values, _, _ = sphere_context(300)
    smooth_one = embed_long(sphere_kernel(0.5), keys, values, ridge=0.09)
    rough = embed_long(Matern(0.5, 0.5), keys, values, ridge=0.09, rank=60, steps=100)
    assert (smooth_one.certified_by, smooth_one.steps) == ("trace of the factor", 0)
    assert rough.certified_by == "exact residual"
    assert 1 < rough.steps < 100


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_too_few_steps_still_give_a_bound_that_holds(steps):
    """The bound is what was reached, not what was asked."""
    keys, values, queries, _ = sphere_context(300)
    kernel = Matern(0.5, 0.5)
    found = embed_long(kernel, keys, values, ridge=0.09, rank=20, steps=steps)
    gap = np.abs(found.mean(queries) - cme_attention(kernel, keys, values, queries, ridge=0.09)).max()
    assert 1e-7 < gap <= found.bound(queries).min()
    assert found.steps <= steps


def test_the_bound_on_answers_is_attained():
    """One key of kernel value λ, queried at itself: √𝔎(q, q)‖r‖/(2√λ) is the gap."""
    keys, ridge = np.array([[2.0]]), 4.0
    found = embed_long(linear_kernel(), keys, np.array([[3.0]]), ridge=ridge)
    off = 0.25  # coefficients moved by off leave the residual (𝔎 + λ) off
    moved = type(found)(linear_kernel(), keys, found.coefficients + off, ridge, 1, 0, 8 * off, "exact residual")
    gap = abs(moved.mean(keys) - found.mean(keys))[0, 0]
    assert moved.bound(keys)[0] == pytest.approx(gap, rel=1e-12)


@pytest.mark.slow
def test_dense_at_4096():
    """The setting of the theory: long and dense answers agree to 1e-6, and the bound is below it too."""
    keys, values, queries, _ = sphere_context(4096)
    found = embed_long(sphere_kernel(0.5), keys, values, ridge=0.09, tolerance=1e-6)
    dense = embed_mean(sphere_kernel(0.5), keys, values, ridge=0.09).mean(queries)
    assert np.abs(found.mean(queries) - dense).max() < 1e-6
    assert found.bound(queries).max() <= 1e-6


@pytest.mark.parametrize("ridge", [1e-9, 1e-6, 1e-4, 1e-2, 0.09])
@pytest.mark.parametrize(
    ("kernel", "rank", "steps"),
    [(sphere_kernel(0.5), 512, 0), (sphere_kernel(0.5), 512, 30), (Matern(0.5, 0.5), 60, 30)],
    ids=["factor", "refined", "rough"],
)
def test_what_is_certified_holds_in_wider_arithmetic(ridge, kernel, rank, steps):
    """However small the ridge, the residual in long doubles, kernel as computed, is at most the one certified.

    And the certificate is no empty word: it is within a factor of a thousand of the residual, or below 1e-7.
    """
    keys, values, _, _ = sphere_context(400)
    found = embed_long(kernel, keys, values, ridge=ridge, rank=rank, steps=steps)
    wide = kernel(keys, keys).astype(np.longdouble) + np.longdouble(ridge) * np.eye(400)
    left = values - wide @ found.coefficients.astype(np.longdouble)
    true = float(np.sqrt(np.square(left).sum(axis=0)).max())
    assert true <= found.residual <= max(1e3 * true, 1e-7)


@pytest.mark.parametrize("ridge", [1e-9, 0.09])
def test_the_factors_own_residual_is_measured(ridge):
    """‖V − (FᵀF + λI)c‖ by dense long doubles, with the coefficients of the solution and with zeros."""
    keys, values, _, _ = sphere_context(100)
    found = factor(sphere_kernel(0.5), keys, rank=60, trace=1e-300)
    rows = found.rows.astype(np.longdouble)
    for solved in (found.solve(ridge, values), 0 * values):
        left = values - rows.T @ (rows @ solved) - np.longdouble(ridge) * solved
        expected = np.sqrt(np.square(left).sum(axis=0)).astype(float)
        np.testing.assert_allclose(found.residual(ridge, solved, values), expected, rtol=1e-2)  # orders of summation


@pytest.mark.slow
def test_a_hundred_thousand_keys():
    """Without a square matrix: certified to 1e-6, less than 2 GB held, and the error against f near σ²Γ/T."""
    tracemalloc.start()
    keys, values, queries, function = sphere_context(100_000, queries=20)
    found = embed_long(sphere_kernel(0.5), keys, values, ridge=0.09, tolerance=1e-6)
    answers = found.mean(queries)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e9
    assert found.bound(queries).max() <= 1e-6
    assert np.square(answers - function(queries)).sum(axis=1).mean() < 4 * 2 * 0.09 * 60 / 100_000  # Γ(9e-7) < 60


@pytest.mark.parametrize("block", [1, 7, 1024])
def test_products_in_blocks_are_products(block):
    """Symmetric blocks read once and used twice."""
    keys, values, _, _ = sphere_context(50)
    expected = sphere_kernel(0.5)(keys, keys) @ values
    np.testing.assert_allclose(kernel_product(sphere_kernel(0.5), keys, values, block=block), expected, atol=1e-12)


@pytest.mark.parametrize("temperature", [3.0, 0.3, 1e-3], ids=["tame", "middling", "wild"])
@pytest.mark.parametrize("blocks", [(1, 1), (3, 7), (256, 1024)])
def test_blocked_softmax_is_softmax(temperature, blocks):
    """In double precision to rounding, whether or not scores must be shifted."""
    rng = np.random.default_rng(0)
    keys, values, queries = (rng.normal(size=(rows, 4)) for rows in (40, 40, 11))
    expected = smooth(Exponential(temperature), keys, values, queries)
    # a score of 10/γ is rounded at 2e-15/γ, which moves a weight by as much
    found = softmax_long(keys, values, queries, temperature=temperature, blocks=blocks)
    np.testing.assert_allclose(found, expected, atol=1e-13 + 2e-14 / temperature)


def test_the_range_decides_the_route():
    """Scores within e^±700 are tame in double precision, and no longer in single."""
    keys, queries = np.full((3, 1), 10.0), np.full((2, 1), 50.0)
    values = np.ones((3, 1))
    assert is_tame(keys, values, queries)
    assert not is_tame(keys, values, 2 * queries)
    assert not is_tame(keys, 1e100 * values, queries)
    assert not is_tame(*(array.astype(np.float32) for array in (keys, values, queries)))


@given(st.floats(1, 4000), st.integers(1, 50))
def test_no_answer_overflows(size, tokens):
    """However large the scores, answers stay among the values, in single precision too."""
    rng = np.random.default_rng(tokens)
    keys, queries = (size * rng.normal(size=(rows, 2)).astype(np.float32) for rows in (tokens, 3))
    values = rng.normal(size=(tokens, 2)).astype(np.float32)
    answers = softmax_long(keys, values, queries, temperature=1.0)
    assert answers.dtype == np.float32
    assert np.all(answers <= values.max(axis=0) + 1e-5)
    assert np.all(answers >= values.min(axis=0) - 1e-5)


@pytest.mark.parametrize(
    ("ask", "error", "sentence"),
    [
        (lambda k, v: embed_long(linear_kernel(), k, v, ridge=0.0), AssumptionError, "a ridge must be positive"),
        (lambda k, v: embed_long(linear_kernel(), k, v, ridge=1.0, tolerance=0.0), AssumptionError, "a tolerance must"),
        (lambda k, v: embed_long(linear_kernel(), k, v, ridge=1.0, rank=0), AssumptionError, "at least one row"),
        (lambda k, v: embed_long(linear_kernel(), k, v, ridge=1.0, steps=-1), AssumptionError, "not negative"),
        (lambda k, v: embed_long(linear_kernel(), np.nan * k, v, ridge=1.0), ShapeError, "NaN or infinity"),
        (lambda k, v: embed_long(linear_kernel(), k, v[:1], ridge=1.0), ShapeError, "one value per key"),
        (lambda k, v: softmax_long(k, v, k, temperature=-1.0), AssumptionError, "a temperature must be positive"),
        (lambda k, v: softmax_long(k, v, np.inf * k, temperature=1.0), ShapeError, "NaN or infinity"),
        (lambda k, v: softmax_long(k[:0], v[:0], k, temperature=1.0), ShapeError, "context is empty"),
        (
            lambda k, v: embed_long(Given(lambda a, b: -(a @ b.T)), k, v, ridge=1.0),
            AssumptionError,
            "never negative on its diagonal",
        ),
    ],
)
def test_refusals(ask, error, sentence):
    """One sentence each."""
    with pytest.raises(error, match=sentence):
        ask(np.array([[1.0], [2.0]]), np.array([[1.0], [0.0]]))


def test_equal_keys_are_no_obstacle_with_a_ridge():
    """A rank-one kernel matrix: the mean of the values, shrunk."""
    found = embed_long(Constant(), np.ones((5, 1)), np.arange(5.0)[:, None], ridge=1.0)
    np.testing.assert_allclose(found.mean(np.ones((1, 1))), [[10 / 6]], atol=1e-12)
