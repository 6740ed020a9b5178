"""The tables are the model: both evaluations agree, in value and in gradient, in every library."""

import math
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.attention.evaluation import evaluate, evaluate_by_product, evaluate_by_softmax, is_safe
from keyhole.attention.forward_pass import forward
from keyhole.attention.layers import Affine, ReLU
from keyhole.attention.normalisers import Entmax15, Hardmax, Linear, Sigmoid, Sparsemax, Uniform
from keyhole.attention.positions import LearnedPositions
from keyhole.attention.tables import Tabulated, TabulatedHead, dense, tabulate, thinned
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring
from keyhole.errors import AssumptionError, ShapeError

from helpers.random_models import Plan, deeper, plans, random_model, random_sequences

AGREE = 1e-12  # the promise, relative for values above one; some hundred roundings of 1e-16 lie well below it
DOUBLE = partial(jax.enable_x64, True)  # noqa: FBT003  (jax's way)
NEEDS_TORCH = pytest.mark.extra("torch")
ROUTES = [evaluate, evaluate_by_product, evaluate_by_softmax]


@given(plans)
def test_tables_agree_with_the_forward_pass(plan):
    """evaluate(tabulate(model), b) = forward(model, b), by either route."""
    model, batch = random_model(plan), random_sequences(plan, 6)
    tabulated, expected = tabulate(model), forward(model, batch)
    for route in ROUTES:
        np.testing.assert_allclose(route(tabulated, batch), expected, rtol=AGREE, atol=AGREE)


@pytest.mark.long
@pytest.mark.slow
@settings(max_examples=8)  # jax compiles every operation for every shape, so few shapes
@given(plans, st.sampled_from([(1, 2, 1), (6, 2, 2), (6, 3, 1)]))
def test_tables_agree_with_the_forward_pass_in_jax(plan, shape):
    """The same in jax."""
    tokens, symbols, heads = shape
    plan = replace(plan, tokens=tokens, symbols=symbols, heads=heads)
    with DOUBLE():
        model = random_model(plan, jnp.asarray)
        batch = jnp.asarray(random_sequences(plan, 4))
        tabulated, expected = tabulate(model), forward(model, batch)
        assert expected.dtype == jnp.float64
        np.testing.assert_allclose(expected, forward(random_model(plan), np.asarray(batch)), rtol=AGREE, atol=AGREE)
        for route in ROUTES:
            np.testing.assert_allclose(route(tabulated, batch), expected, rtol=AGREE, atol=AGREE)


@NEEDS_TORCH
@settings(max_examples=30)
@given(plans)
def test_tables_agree_with_the_forward_pass_in_torch(plan):
    """The same in torch."""
    import torch

    model = random_model(plan, torch.asarray)
    batch = torch.asarray(random_sequences(plan, 4))
    tabulated, expected = tabulate(model), forward(model, batch)
    np.testing.assert_allclose(expected, forward(random_model(plan), batch.numpy()), rtol=AGREE, atol=AGREE)
    for route in ROUTES:
        np.testing.assert_allclose(route(tabulated, batch), expected, rtol=AGREE, atol=AGREE)


@given(plans)
def test_one_sequence_is_a_batch_of_one(plan):
    """A sequence has the same value alone and in company, and bits may be Booleans or small integers."""
    plan = replace(plan, symbols=2)
    tabulated, batch = tabulate(random_model(plan)), random_sequences(plan, 3)
    for route in ROUTES:
        together = route(tabulated, batch)
        alone = np.array([route(tabulated, sequence) for sequence in batch])
        np.testing.assert_allclose(together, alone, rtol=AGREE, atol=AGREE)
        for kind in (bool, np.uint8):
            np.testing.assert_array_equal(route(tabulated, batch.astype(kind)), together)


@pytest.mark.parametrize("normaliser", [Sparsemax(), Entmax15(), Hardmax(), Uniform(), Sigmoid(), Linear()])
def test_every_normaliser_has_tables(normaliser):
    """Tables serve heads that are no softmax too, also thinned; only the product is denied them."""
    plan = Plan(tokens=12)
    model = random_model(plan)
    block = model.blocks[0]
    heads = (*(replace(head, normaliser=normaliser) for head in block.heads[:1]), block.heads[1])
    model = replace(model, blocks=(replace(block, heads=heads),))
    tabulated, batch = tabulate(model), random_sequences(plan, 5)
    np.testing.assert_allclose(evaluate(tabulated, batch), forward(model, batch), rtol=AGREE, atol=AGREE)
    thin = mostly_alike(tabulated, 3)
    np.testing.assert_allclose(evaluate(thin, batch), evaluate(dense(thin), batch), rtol=AGREE, atol=AGREE)
    with pytest.raises(AssumptionError, match="only softmax factorises"):
        evaluate_by_product(tabulated, batch)


def test_any_head_has_tables():
    """A score and maps that are no matrices are tabulated all the same."""
    plan = Plan(tokens=4, norms=True, placement="pre")
    model = random_model(plan)

    def distance(tokens, queries):
        return -((queries[..., :, None, :] - tokens[..., None, :, :]) ** 2).sum(-1)

    head = Head(distance, np.tanh, activation=ReLU())
    wiring = Wiring(placement="pre", attention_norm=model.blocks[0].wiring.attention_norm)
    model = Model(model.embedding, (Block((head, head), wiring),), model.readout)
    batch = random_sequences(plan, 5)
    np.testing.assert_allclose(evaluate(tabulate(model), batch), forward(model, batch), rtol=AGREE, atol=AGREE)


def mostly_alike(tabulated, listed):
    """A table whose rows are all the last one, but for the first `listed` odd positions."""
    positions = tuple(range(1, 2 * listed, 2))
    heads = tuple(
        replace(head, scores=head.scores[: listed + 1], values=head.values[: listed + 1]) for head in tabulated.heads
    )
    return replace(tabulated, heads=heads, positions=positions)


@given(plans, st.integers(0, 3))
def test_thin_tables_are_the_dense_ones(plan, listed):
    """Rows that are alike may be kept once: stored, thinned and dense tables evaluate alike."""
    plan = replace(plan, tokens=11)
    thin = mostly_alike(tabulate(random_model(plan)), listed)
    batch = random_sequences(plan, 5)
    full = dense(thin)
    assert full.positions is None
    assert full.heads[0].scores.shape[0] == 11
    expected = evaluate_by_softmax(full, batch)
    again = thinned(full)
    assert len(again.heads[0].scores) == len(again.positions) + 1
    assert set(again.positions) <= set(thin.positions)  # a listed row that is the shared one by chance is dropped
    for table in (thin, again, full):
        for route in ROUTES:
            np.testing.assert_allclose(route(table, batch), expected, rtol=AGREE, atol=AGREE)


def test_tables_without_a_common_row_stay_as_they_are():
    """Nothing is saved where positions differ, and nothing is changed."""
    tabulated = tabulate(random_model(Plan(tokens=9)))
    assert thinned(tabulated) is tabulated


def test_a_long_batch_goes_in_blocks(monkeypatch):
    """The size of a block changes no value, with more blocks than one in every direction."""
    plan = Plan(tokens=40, symbols=3)
    tabulated, batch = tabulate(random_model(plan)), random_sequences(plan, 7)
    thin = mostly_alike(tabulated, 5)
    expected = [route(table, batch) for table in (tabulated, thin) for route in ROUTES]
    monkeypatch.setattr("keyhole.attention.evaluation.BLOCK", 100)
    blocked = [route(table, batch) for table in (tabulated, thin) for route in ROUTES]
    np.testing.assert_allclose(blocked, expected, rtol=AGREE, atol=AGREE)


def test_no_sequences_no_numbers():
    """An empty batch has an empty answer."""
    plan = Plan()
    for route in ROUTES:
        assert route(tabulate(random_model(plan)), random_sequences(plan, 0)).shape == (0,)


def rebuilt(model, parameters):
    """The model with some of its weights replaced: positions, a key, a value and the read-out."""
    positions, key, value, weight = parameters
    block = model.blocks[0]
    head = block.heads[0]
    head = replace(head, score=replace(head.score, key=key), value=Affine(value, head.value.bias))
    block = replace(block, heads=(head, *block.heads[1:]))
    embedding = replace(model.embedding, positions=LearnedPositions(positions))
    return Model(embedding, (block,), ReadOut(weight, model.readout.bias))


def parameters_of(model):
    """What `rebuilt` replaces."""
    head = model.blocks[0].heads[0]
    return [model.embedding.positions.table, head.score.key, head.value.weight, model.readout.weight]


def finite_differences(loss, parameters, directions, step=1e-5):
    """The slope of the loss along the directions, to O(step²) plus rounding 1e-16/step."""
    ahead = [p + step * q for p, q in zip(parameters, directions, strict=True)]
    behind = [p - step * q for p, q in zip(parameters, directions, strict=True)]
    return (loss(ahead) - loss(behind)) / (2 * step)


GRADIENT_PLANS = [
    Plan(seed=4, gelu=True, placement="pre"),
    Plan(seed=5, gelu=True, placement="post", projected=True),
    Plan(seed=6, gelu=True, norms=False, residual="none", symbols=3),
]
SMOOTH = 1e-7  # third derivatives of order ten, times 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("plan", GRADIENT_PLANS)
def test_gradients_in_jax_are_finite_differences(plan):
    """Jitted gradients of the general pass and of both tabulated routes, weighted in one loss."""
    with DOUBLE():
        model, batch = random_model(plan, jnp.asarray), jnp.asarray(random_sequences(plan, 4))
        rng = np.random.default_rng(8)

        @jax.jit
        @jax.value_and_grad
        def loss(parameters):
            moved = rebuilt(model, parameters)
            tables = tabulate(moved)
            values = [forward(moved, batch), evaluate_by_product(tables, batch), evaluate(tables, batch)]
            return sum(weight * jnp.sum(value**2) for weight, value in zip((1, 2, 3), values, strict=True))

        parameters = parameters_of(model)
        _, gradients = loss(parameters)
        directions = [rng.normal(size=p.shape) / math.sqrt(p.size) for p in parameters]
        slope = sum(float(jnp.sum(g * q)) for g, q in zip(gradients, directions, strict=True))
        expected = float(finite_differences(lambda moved: loss(moved)[0], parameters, directions))
        assert slope == pytest.approx(expected, rel=SMOOTH, abs=SMOOTH)


@NEEDS_TORCH
@pytest.mark.parametrize("plan", GRADIENT_PLANS)
@pytest.mark.parametrize("route", [*ROUTES, None])
def test_gradients_in_torch_are_finite_differences(plan, route):
    """The same in torch."""
    import torch

    model, batch = random_model(plan, torch.asarray), torch.asarray(random_sequences(plan, 4))
    rng = np.random.default_rng(8)

    def loss(parameters):
        moved = rebuilt(model, parameters)
        return ((forward(moved, batch) if route is None else route(tabulate(moved), batch)) ** 2).sum()

    parameters = [p.clone().requires_grad_(True) for p in parameters_of(model)]  # noqa: FBT003  (torch's name)
    loss(parameters).backward()
    directions = [torch.asarray(rng.normal(size=tuple(p.shape)) / math.sqrt(p.numel())) for p in parameters]
    slope = sum(float((p.grad * q).sum()) for p, q in zip(parameters, directions, strict=True))
    with torch.no_grad():
        expected = float(finite_differences(loss, parameters, directions))
    assert slope == pytest.approx(expected, rel=SMOOTH, abs=SMOOTH)


def test_depth_has_no_tables():
    """After one block tokens depend on each other."""
    with pytest.raises(AssumptionError, match="only one-block models have tables"):
        tabulate(random_model(deeper(Plan(), 2)))


def small_head(rows=3, **changes):
    """A head's tables, one of which may be wrong."""
    parts = {
        "scores": np.zeros((rows, 2)),
        "values": np.zeros((rows, 2, 1)),
        "cls_score": np.zeros(()),
        "cls_value": np.zeros(1),
    }
    return TabulatedHead(**(parts | changes))


def small_table(head, tokens=3, positions=None):
    """A model of one tabulated head."""
    return Tabulated(tokens, (head,), np.zeros(1), Wiring(), ReadOut(np.ones(1)), positions)


BAD = [
    (lambda: small_head(values=np.zeros((3, 3, 1))), "values has shape"),
    (lambda: small_head(scores=np.full((3, 2), np.nan)), "scores holds NaN"),
    (lambda: small_head(cls_score=np.zeros(1)), "cls_score has shape"),
    (lambda: small_table(small_head(0), tokens=0), "scores has shape"),
    (lambda: small_table(small_head(), tokens=0), "context of length 0 is empty"),
    (lambda: small_table(small_head(), tokens=4), "one per position"),
    (lambda: small_table(small_head(), tokens=9, positions=(1,)), "one for the rest"),
    (lambda: small_table(small_head(), tokens=9, positions=(4, 1)), "must increase"),
    (lambda: small_table(small_head(), tokens=9, positions=(4, 9)), "must increase"),
    (lambda: evaluate(small_table(small_head()), np.zeros((2, 4), dtype=int)), "sequences of shape"),
    (lambda: evaluate(small_table(small_head()), np.full(3, 2)), "symbols run from 0 to 1"),
]


@pytest.mark.parametrize(("ask", "words"), BAD, ids=[words for _, words in BAD])
def test_tables_that_do_not_fit_are_refused(ask, words):
    """Wrong shapes, NaN, empty contexts and unordered positions are refused in one sentence."""
    with pytest.raises(ShapeError, match=words):
        ask()


@pytest.mark.slow
def test_traced_tables_are_not_called_safe():
    """Under jit nothing is known of the scores."""
    head = TabulatedHead(jnp.zeros((3, 2)), jnp.zeros((3, 2, 1)), jnp.zeros(()), jnp.zeros(1))
    assert is_safe(small_table(head))
    seen = []

    @jax.jit
    def look(scores):
        seen.append(is_safe(small_table(replace(head, scores=scores))))
        return scores

    look(head.scores)
    assert seen == [False]
