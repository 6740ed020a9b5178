"""The residual block is the plan: the same function on every input, every direction written once and named."""

from dataclasses import replace

import numpy as np
import pytest

from keyhole.attention import (
    Affine,
    Block,
    FactoredScore,
    FeedForward,
    Head,
    Model,
    PairEmbedding,
    ReadOut,
    ReLU,
    Wiring,
)  # fmt: skip
from keyhole.attention.evaluation import evaluate
from keyhole.attention.forward_pass import attend, forward, transform
from keyhole.attention.tokens import embed_tokens
from keyhole.boolean.families import read_function
from keyhole.compiler.assembly import to_tabulated
from keyhole.compiler.constructions.additive import additive_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.distractors import Distractor, add_distractor
from keyhole.compiler.export.residual import to_residual, token_ids
from keyhole.errors import CompileError

from helpers.compiled_plans import CONTEXT, FORMULAS, all_inputs, all_plans, targets

EXACT = 1e-12  # errors proved are below 1e-12, and a pass adds some 10² roundings of size 1e-16 · ‖w‖₁


def residual_model(block):
    """The block as the library's own records of weights, for the one forward pass."""
    T = block.context
    symbols = block.embed[:-1].reshape(T, 2, -1) if block.paired else block.embed[None, :-1]
    heads = tuple(
        Head(FactoredScore(query, key), Affine(value))
        for query, key, value in zip(block.query, block.key, block.value, strict=True)
    )
    wiring = Wiring(
        join="concatenate",
        output=Affine(block.output.reshape(-1, len(block.directions))),
        feedforward=FeedForward(Affine(block.inner, block.inner_bias), ReLU(), Affine(block.outer)),
        residual="each",
    )
    table = symbols + block.position[:T, None]
    return Model(
        PairEmbedding(table, block.embed[-1] + block.position[T]), (Block(heads, wiring),), ReadOut(block.unembed[:, 0])
    )


def by_hand(block, bits):
    """The block on one input, a matrix at a time: embed, attend, add, feed forward, add, unembed."""
    x = block.embed[token_ids(block, bits[None])[0]] + block.position
    added = np.zeros_like(x)
    for query, key, value, output in zip(block.query, block.key, block.value, block.output, strict=True):
        scores = (x @ query) @ (x @ key).T / np.sqrt(query.shape[1])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        added += weights / weights.sum(axis=1, keepdims=True) @ (x @ value) @ output
    middle = x + added
    final = middle + np.maximum(middle @ block.inner + block.inner_bias, 0.0) @ block.outer
    return final @ block.unembed


@pytest.mark.parametrize("output", ["signs", "bits"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_exact_on_every_input(formula, output):
    """Each construction's block reads the function on all 2^T inputs, with and without distractors."""
    bits = all_inputs(CONTEXT)
    for plan in all_plans(formula, output=output):
        spare = next(t for t in range(CONTEXT) if t not in plan.function.positions)
        distracted = [] if plan.codes_seed is not None else [add_distractor(plan, Distractor((spare,), 0.2))]
        for built in (plan, *distracted):
            block = to_residual(built)
            assert np.abs(forward(residual_model(block), bits) - targets(built, bits)).max() < EXACT


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_general_pass_is_the_formula(formula):
    """The library's forward pass and the matrices by hand agree at [CLS]; every other query stays finite."""
    for plan in all_plans(formula):
        block = to_residual(plan)
        model = residual_model(block)
        for bits in all_inputs(CONTEXT)[::13]:
            slow = by_hand(block, bits)
            assert slow[-1, 0] == pytest.approx(forward(model, bits), abs=EXACT)
            assert np.isfinite(slow).all()


@pytest.mark.parametrize("formula", FORMULAS)
def test_parts_write_to_fresh_directions(formula):
    """Embedding, heads and feed-forward part write to disjoint directions, each of them named once."""
    for plan in all_plans(formula):
        block = to_residual(plan)
        written = [np.abs(block.embed).sum(axis=0) + np.abs(block.position).sum(axis=0)]
        written += [np.abs(output).sum(axis=0) for output in block.output]
        written.append(np.abs(block.outer).sum(axis=0))
        assert (np.sum([part > 0 for part in written], axis=0) == 1).all()
        assert len(set(block.directions)) == len(block.directions) == block.embed.shape[1]


def test_stream_holds_what_its_names_say():
    """At [CLS] the direction "attention on x3=1" holds the attention on position 3 where its bit is 1, and 0 else."""
    plan = pair_plans(read_function("x1 & ~x4"), CONTEXT, 0.25, "signs")[0]
    block = to_residual(plan)
    model = residual_model(block)
    bits = all_inputs(CONTEXT)
    rows = embed_tokens(model.embedding, bits)
    joined = tuple(attend(head, rows, rows) for head in model.blocks[0].heads)
    middle = replace(model.blocks[0].wiring, feedforward=None).finish(rows, joined)[:, -1]
    for place in (1, 4):
        for symbol in (0, 1):
            held = middle[:, block.directions.index(f"head 0: attention on x{place}={symbol}")]
            assert held == pytest.approx(np.where(bits[:, place] == symbol, (1 - 0.25) / 2, 0.0), abs=1e-14)
    final = transform(model.blocks, rows)[:, -1, block.directions.index("output")]
    assert final == pytest.approx(targets(plan, bits), abs=EXACT)


@pytest.mark.parametrize("formula", FORMULAS)
def test_values_are_the_theorems(formula):
    """For each head and token W_V W_O W_in is the plan's value: by position and symbol."""
    for plan in all_plans(formula):
        block = to_residual(plan)
        table = residual_model(block).embedding.table
        for h, head in enumerate(plan.heads):
            values = table @ (block.value[h] @ block.output[h] @ block.inner)
            stated = np.tile(head.rest_values, (plan.context, 1, 1))
            stated[list(plan.function.positions)] = head.values
            assert values == pytest.approx(stated, abs=1e-15)


def test_other_queries_attend_alike():
    """Any token but [CLS] spreads its attention evenly over all T + 1 tokens."""
    block = to_residual(additive_plan(read_function("x1 ^ x5"), CONTEXT, 0.5, "signs"))
    model = residual_model(block)
    rows = embed_tokens(model.embedding, all_inputs(CONTEXT)[37])
    head = model.blocks[0].heads[0]
    weights = head.normaliser(head.score(rows, rows))
    assert weights[:-1] == pytest.approx(np.full((CONTEXT, CONTEXT + 1), 1 / (CONTEXT + 1)), abs=1e-15)


def test_long_contexts_agree_with_the_tables():
    """At T = 120, on random inputs, the block and the tables read the same."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (4, 120))
    for plan in all_plans("x7 & ~x110 | x99", 120):
        read = forward(residual_model(to_residual(plan)), bits)
        assert read == pytest.approx(evaluate(to_tabulated(plan), bits), abs=EXACT)


@pytest.mark.slow
def test_refuses_what_does_not_fit_in_memory():
    """A million positions as dense matrices are refused, with the count."""
    plan = pair_plans(read_function("x1 & x5"), 10**6, 0.5, "signs")[0]
    with pytest.raises(CompileError, match=r"dense matrices hold .* Use a shorter context, or the tables"):
        to_residual(plan)


def test_refuses_values_the_embedding_cannot_tell_apart():
    """Token plus position cannot show values that differ by position."""
    plan = additive_plan(read_function("x1 ^ x5"), CONTEXT, 0.5, "signs")
    head = plan.heads[0]
    values = head.values.copy()
    values[0] += 1.0
    with pytest.raises(CompileError, match="depend on the position"):
        to_residual(replace(plan, heads=(replace(head, values=values),)))
