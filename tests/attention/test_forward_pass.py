"""The forward pass is the formula, row by row; order of tokens, batching and depth change nothing else."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.attention.forward_pass import attend, forward, transform
from keyhole.attention.layers import GELU, Affine, FeedForward, Identity, LayerNorm, ReLU, TanhGELU, project
from keyhole.attention.normalisers import Linear, Sparsemax
from keyhole.attention.score import DenseScore, FactoredScore
from keyhole.attention.tokens import PairEmbedding
from keyhole.attention.types import require_weights
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring
from keyhole.errors import AssumptionError, ShapeError

from helpers.paper_models import query_score, tf_block, tf_head, tf_layer, tf_scalar
from helpers.random_models import Plan, deeper, plans, random_model, random_sequences

ROUNDING = 1e-12  # some hundred operations on numbers of order one, each good to 1e-16


def slow_norm(norm, x):
    """LayerNorm of one vector, number by number."""
    mean = sum(x) / len(x)
    variance = sum((c - mean) ** 2 for c in x) / len(x)
    return np.array([(c - mean) / math.sqrt(variance + norm.eps) for c in x]) * norm.gain + norm.bias


def slow_block(block, rows):
    """One block by the formula, a query at a time, a token at a time."""
    wiring, out = block.wiring, []
    pre = wiring.placement == "pre"
    seen = [slow_norm(wiring.attention_norm, x) for x in rows] if pre and wiring.attention_norm else list(rows)
    for x, z in zip(rows, seen, strict=True):
        mixed = []
        for head in block.heads:
            score = head.score
            if isinstance(score, DenseScore):
                logits = [y @ score.matrix @ z for y in seen]
            else:
                query = score.query.T @ z + score.query_bias
                keys = [score.key.T @ y + score.key_bias for y in seen]
                logits = [key @ query / math.sqrt(len(query)) for key in keys]
            mass = [math.exp((u - max(logits)) / head.normaliser.temperature) for u in logits]
            values = [head.value.weight.T @ y + head.value.bias for y in seen]
            mixed.append(sum(m * v for m, v in zip(mass, values, strict=True)) / sum(mass))
        y = np.concatenate(mixed) if wiring.join == "concatenate" else sum(mixed)
        y = wiring.output.weight.T @ y + wiring.output.bias
        y = x + y if wiring.residual == "each" else y
        y = slow_norm(wiring.attention_norm, y) if wiring.attention_norm and not pre else y
        if wiring.feedforward:
            fed = wiring.feedforward
            u = slow_norm(wiring.feedforward_norm, y) if wiring.feedforward_norm and pre else y
            u = fed.inner.weight.T @ u + fed.inner.bias
            gelu = isinstance(fed.activation, GELU)
            u = np.array([c * (1 + math.erf(c / math.sqrt(2))) / 2 if gelu else max(c, 0.0) for c in u])
            u = fed.outer.weight.T @ u + fed.outer.bias
            y = y + u if wiring.residual == "each" else u
            y = slow_norm(wiring.feedforward_norm, y) if wiring.feedforward_norm and not pre else y
        y = x + y if wiring.residual == "block" else y
        out.append(y / max(1.0, math.sqrt(y @ y)) if wiring.projected else y)
    return np.array(out)


@given(plans, st.integers(1, 3))
def test_it_is_the_formula(plan, depth):
    """Forward = embed, then each block by its formula at every row, then ⟨w, x_CLS⟩ + b."""
    model = random_model(deeper(plan, depth))
    sequence = random_sequences(plan, 1)[0]
    table = model.embedding.rows(0, plan.tokens)
    rows = np.array([*(table[t, symbol] for t, symbol in enumerate(sequence)), model.embedding.cls])
    for block in model.blocks:
        rows = slow_block(block, rows)
    final = slow_norm(model.readout.norm, rows[-1]) if model.readout.norm else rows[-1]
    expected = final @ model.readout.weight + model.readout.bias
    # each further block multiplies the rounding of the one before by its own slope
    assert forward(model, sequence) == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING * 10**depth)


@given(plans, st.integers(1, 2))
def test_batch_and_single_agree(plan, depth):
    """A sequence has the same value alone and in company."""
    model, batch = random_model(deeper(plan, depth)), random_sequences(plan, 4)
    alone = np.array([forward(model, sequence) for sequence in batch])
    np.testing.assert_allclose(forward(model, batch), alone, rtol=ROUNDING, atol=ROUNDING * 10)


@given(plans, st.integers(1, 3), st.randoms(use_true_random=False))
def test_rows_permuted_in_come_out_permuted(plan, depth, random):
    """Attention has no order of its own: transform(PX) = P transform(X)."""
    model = random_model(deeper(plan, depth))
    rows = np.random.default_rng(plan.seed).normal(size=(2, 7, plan.width))
    order = random.sample(range(7), 7)
    there, back = transform(model.blocks, rows[:, order]), transform(model.blocks, rows)[:, order]
    np.testing.assert_allclose(there, back, rtol=ROUNDING, atol=ROUNDING * 10**depth)


@given(plans, st.randoms(use_true_random=False))
def test_positions_that_move_with_their_tokens_change_nothing(plan, random):
    """A model read at [CLS] sees a set of (position code, symbol) pairs."""
    model, batch = random_model(plan), random_sequences(plan, 3)
    order = random.sample(range(plan.tokens), plan.tokens)
    table = model.embedding.rows(0, plan.tokens)
    moved = Model(PairEmbedding(table[order], model.embedding.cls), model.blocks, model.readout)
    np.testing.assert_allclose(
        forward(moved, batch[:, order]), forward(model, batch), rtol=ROUNDING, atol=ROUNDING * 10
    )


RNG = np.random.default_rng(5)
X, Z, M, W_V, W_C = (RNG.normal(size=shape) for shape in [(6, 4), (4,), (4, 4), (4, 3), (3, 4)])


def softmax(u):
    """The textbook formula."""
    return np.exp(u) / np.exp(u).sum()


def relu(u):
    """The positive part."""
    return np.maximum(u, 0)


def test_tf_head():
    """h(X, z) = σ(W_Vᵀ Xᵀ softmax(X M z))."""
    expected = relu(W_V.T @ X.T @ softmax(X @ M @ Z))
    np.testing.assert_allclose(attend(tf_head(DenseScore(M), W_V), X, Z[None])[0], expected, rtol=ROUNDING)


@pytest.mark.parametrize("summed", ["before", "after"])
def test_tf_layer_and_tf_scalar(summed):
    """Several heads are summed before or after the activation; W_C and w follow."""
    pairs = [(M, W_V), (M.T, W_V[::-1]), (-M, W_V**2)]
    inside = [v.T @ X.T @ softmax(X @ m @ X[-1]) for m, v in pairs]
    hidden = relu(sum(inside)) if summed == "before" else sum(map(relu, inside))
    heads = [(DenseScore(m), v) for m, v in pairs]
    np.testing.assert_allclose(transform((tf_layer(heads, W_C, summed=summed),), X)[-1], W_C.T @ hidden, rtol=ROUNDING)
    embedding = PairEmbedding(np.stack([X[:-1], X[:-1] + 1], axis=1), X[-1])
    model = tf_scalar(embedding, heads, np.array([1.0, -2.0, 3.0]), summed=summed)
    assert forward(model, np.zeros(5, dtype=int)) == pytest.approx(hidden @ [1.0, -2.0, 3.0], rel=ROUNDING)


@pytest.mark.parametrize("residual", ["none", "block"])
def test_tf_block(residual):
    """X ← Π([X +] W_Cᵀ σ(W_Vᵀ Xᵀ softmax(X M x_τ))) for every row, twice; then w at [CLS]."""
    rows = X
    for _ in range(2):
        new = np.array([W_C.T @ relu(W_V.T @ rows.T @ softmax(rows @ M @ z)) for z in rows])
        new = rows + new if residual == "block" else new
        rows = new / np.maximum(1, np.linalg.norm(new, axis=1, keepdims=True))
    embedding = PairEmbedding(np.stack([X[:-1], X[:-1] + 1], axis=1), X[-1])
    layers = [(DenseScore(M), W_V, W_C)] * 2
    model = tf_block(embedding, layers, Z, residual=residual)
    assert forward(model, np.zeros(5, dtype=bool)) == pytest.approx(rows[-1] @ Z, rel=1e-11)


def test_a_rank_one_score_asks_for_one_vector():
    """M = q zᵀ scores x by ⟨q, x⟩ at the unit query z, and a dense M says the same."""
    unit = Z / np.linalg.norm(Z)
    thin = query_score(X[0], unit)
    np.testing.assert_allclose(thin(X, unit[None])[0], X @ X[0], rtol=ROUNDING)
    dense = DenseScore(np.outer(X[0], unit))
    np.testing.assert_allclose(thin(X, X), dense(X, X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("normaliser", [Sparsemax(), Linear()])
def test_any_normaliser_any_maps(normaliser):
    """φ_out(Σ_t Norm(Score)_t φ_in(x_t)) with maps that are no matrices."""
    head = Head(lambda x, z: -((z[:, None] - x[None]) ** 2).sum(-1), np.tanh, normaliser, np.exp)
    weights = normaliser(-((X[2] - X) ** 2).sum(1))
    np.testing.assert_allclose(attend(head, X, X[2:3])[0], np.exp(weights @ np.tanh(X)), rtol=ROUNDING)


@given(st.integers(0, 10**6), st.floats(0.0, 3.0))
def test_projection_is_nearest_and_shortens(seed, size):
    """Π keeps the ball, ends in it, and never moves two points apart."""
    one, two = size * np.random.default_rng(seed).normal(size=(2, 3))
    assert np.linalg.norm(project(one)) <= 1 + 1e-15
    if np.linalg.norm(one) <= 1:
        np.testing.assert_array_equal(project(one), one)
    # 1-Lipschitz, up to one rounding of either image
    assert np.linalg.norm(project(one) - project(two)) <= np.linalg.norm(one - two) + 1e-15


def test_activations_have_their_slope():
    """L_σ is attained up to its last digit, which is rounded up, by GELU at √2 and by ReLU; and σ(0) = 0."""
    x = np.linspace(-6, 6, 240_001)
    for activation in (ReLU(), GELU(), TanhGELU(), Identity()):
        steepest = np.abs(np.diff(activation(x)) / np.diff(x)).max()
        # a difference quotient over 5e-5 is a slope in between, and rounds by 1e-16·6/5e-5
        assert steepest <= activation.lipschitz + 1e-10
        assert activation.lipschitz - 1e-5 < steepest
        assert activation(np.zeros(1))[0] == 0


E = np.zeros((4, 2, 3))
BAD = [
    (lambda: Affine(np.ones((3, 2)), np.ones(3)), "bias has shape"),
    (lambda: Affine(np.ones(3)), "weight has shape"),
    (lambda: Affine(np.full((3, 2), np.nan)), "weight holds NaN"),
    (lambda: Affine(np.ones((3, 2)), np.array([1.0, np.inf])), "bias holds NaN or infinity"),
    (lambda: LayerNorm(np.ones(3), np.ones(2)), "bias has shape"),
    (lambda: DenseScore(np.ones((3, 2))), "score has shape"),
    (lambda: FactoredScore(np.ones((3, 2)), np.ones((3, 1))), "key has shape"),
    (lambda: FactoredScore(np.ones((3, 2)), np.full((3, 2), np.nan)), "key holds NaN"),
    (lambda: FeedForward(Affine(np.ones((3, 5))), ReLU(), Affine(np.ones((4, 3)))), "writes 5 units"),
    (lambda: Block(()), "without heads"),
    (lambda: Wiring(join="mean"), "choose one of sum, concatenate"),
    (lambda: PairEmbedding(np.zeros((0, 2, 3)), np.zeros(3)), "table has shape"),
    (lambda: PairEmbedding(np.zeros((4, 1, 3)), np.zeros(3)), "at least two symbols"),
    (lambda: PairEmbedding(E, np.zeros(2)), "cls has shape"),
    (lambda: Model(PairEmbedding(E, np.zeros(3)), (), ReadOut(np.ones(3))), "without blocks"),
    (lambda: scalar_of(DenseScore(np.eye(2)), np.ones((3, 2)), np.ones(2)), "score is for width 2"),
    (lambda: scalar_of(DenseScore(np.eye(3)), np.ones((2, 2)), np.ones(2)), "value map is for width 2"),
    (lambda: scalar_of(DenseScore(np.eye(3)), np.ones((3, 2)), np.ones(3)), "read-out is for width 3"),
    (lambda: attend(tf_head(DenseScore(np.eye(4)), W_V), X[:0], X), "empty context"),
    (lambda: forward(random_model(Plan()), np.zeros((2, 4), dtype=int)), "sequences of shape"),
    (lambda: forward(random_model(Plan()), np.full(5, 2)), "symbols run from 0 to 1"),
    (lambda: forward(random_model(Plan()), np.full(5, -1)), "hold -1"),
    (lambda: forward(random_model(Plan()), np.zeros(5)), "whole numbers"),
]


def scalar_of(score, value, readout):
    """A small model whose parts may not fit."""
    return tf_scalar(PairEmbedding(E, np.zeros(3)), [(score, value)], readout)


@pytest.mark.parametrize(("ask", "words"), BAD, ids=[words for _, words in BAD])
def test_what_does_not_fit_is_refused(ask, words):
    """Wrong shapes, NaN, empty contexts and foreign symbols are refused in one sentence."""
    with pytest.raises(ShapeError, match=words):
        ask()


WIRES = [
    (Wiring(output=Affine(np.ones((4, 3)))), "output map is for width 4"),
    (Wiring(residual="each"), "residual around attention"),
    (Wiring(residual="block"), "residual around the block"),
    (Wiring(attention_norm=LayerNorm(np.ones(3))), "norm at attention"),
    (Wiring(attention_norm=LayerNorm(np.ones(2)), placement="pre"), "norm at attention"),
    (Wiring(feedforward=FeedForward(Affine(np.ones((3, 2))))), "inner map reads 3"),
    (Wiring(feedforward=FeedForward(), feedforward_norm=LayerNorm(np.ones(3))), "norm at the feed-forward"),
]


@pytest.mark.parametrize(("wiring", "words"), WIRES, ids=[words for _, words in WIRES])
def test_wires_that_do_not_meet_are_refused(wiring, words):
    """Every join of a block is checked where the model is put together."""
    head = Head(DenseScore(np.eye(3)), Affine(np.ones((3, 2))))
    with pytest.raises(ShapeError, match=words):
        Model(PairEmbedding(E, np.zeros(3)), (Block((head,), wiring),), ReadOut(np.ones(2)))


def test_heads_of_two_widths_cannot_be_summed():
    """A sum needs one width; a concatenation does not."""
    heads = tuple(Head(DenseScore(np.eye(3)), Affine(np.ones((3, k)))) for k in (1, 2))
    with pytest.raises(ShapeError, match="cannot be summed"):
        Model(PairEmbedding(E, np.zeros(3)), (Block(heads),), ReadOut(np.ones(2)))
    joined = Block(heads, Wiring(join="concatenate"))
    assert forward(Model(PairEmbedding(E, np.zeros(3)), (joined,), ReadOut(np.ones(3))), np.zeros(4, int)) == 0


def test_an_eps_that_is_no_number_is_refused():
    """LayerNorm divides by √(variance + ε)."""
    with pytest.raises(AssumptionError, match="eps must be > 0"):
        LayerNorm(np.ones(3), eps=0.0)


def test_only_arrays_are_weights():
    """A list is refused, since it would fail later and elsewhere; a tree's placeholder is passed over."""
    with pytest.raises(ShapeError, match="weight is a list; make it an array"):
        require_weights(weight=([[1.0]], ("inputs", "outputs")))
    require_weights(weight=(object(), ("inputs", "outputs")), bias=None)
