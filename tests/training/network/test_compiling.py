"""Programs: what is computed in parts has the bits of the whole."""

import math
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from keyhole.errors import ArgumentError
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network import compiling, loop
from keyhole.training.network.attend import PADDING
from keyhole.training.network.loop import read_mass, read_probe, read_set, scores_of, weight_norm
from keyhole.training.network.network import answer, initial
from keyhole.training.network.step import (
    TrainingSet,
    draw_stretch,
    optimizer_of,
    padded_context,
    prepare_set,
    rates_of,
    run_stretch,
)
from keyhole.training.task import Examples, Observer, SparseTask

TINY = TransformerSettings(
    heads=2, width=8, hidden=8, batch=4, steps=4, every=2, dropout=0.1, final_norm=True, cls_position=True
)


def one_by_one(settings, symbols, context, key):
    """Starting weights, each array drawn by itself: what `initial` draws by groups."""
    d, hidden = settings.width, settings.hidden
    shapes = {"tokens": (symbols, d), "positions": (context, d), "cls": (d,), "cls_position": (d,)}
    shapes |= {"query": (d, d), "key": (d, d), "value": (d, d), "output": (d, d), "readout": (d,)}
    shapes |= {"inner": (d, hidden), "outer": (hidden, d)}
    drawn = {}
    for (name, shape), each in zip(shapes.items(), jax.random.split(key, len(shapes)), strict=True):
        embedded = name in ("tokens", "positions", "cls", "cls_position")
        scale = settings.embedding_scale if embedded else 1 / math.sqrt(shape[0])
        scale *= settings.score_scale if name in ("query", "key") else 1.0
        drawn[name] = scale * jax.random.normal(each, shape)
    return drawn


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_weights_drawn_by_groups_are_those_drawn_one_by_one(scale):
    """Every array of the start has the bits that it has when it is drawn by itself from its own key."""
    settings, key = replace(TINY, score_scale=scale), jax.random.key(3)
    ours = jax.jit(partial(initial, settings, 3, 37))(key)
    for name, array in jax.jit(partial(one_by_one, settings, 3, 37))(key).items():
        assert np.asarray(ours[name]).tobytes() == np.asarray(array).tobytes(), name


def test_the_norm_is_that_of_all_weights_as_one_vector():
    """By numpy, of the arrays side by side, in double precision."""
    rng = np.random.default_rng(5)
    weights = {"one": rng.normal(size=(30, 4)), "other": rng.normal(size=7), "number": rng.normal(size=())}
    whole = np.linalg.norm(np.concatenate([array.ravel() for array in weights.values()]))
    assert abs(weight_norm(weights) - whole) < 1e-13


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_moments_at_rest_are_those_of_the_optimizer(optimizer):
    """Nothing is remembered before the first step: the zeros that the optimizer itself makes, of the same types."""
    settings = replace(TINY, optimizer=optimizer)
    weights = {"one": jnp.ones((3, 2)), "other": jnp.ones(())}
    ours, theirs = loop.resting_moments(settings, weights), optimizer_of(settings).init(weights)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert (np.asarray(one) == np.asarray(other)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("context", "count", "blocks"), [(300, 70, 1), (4100, 300, 2), (4100, 256, 1), (520, 1450, 3)])
def test_answers_in_blocks_are_those_of_all_inputs_at_once(context, count, blocks, monkeypatch):
    """Inputs are answered in blocks of one shape; filling up the last changes no answer."""
    weights = initial(TINY, 2, context, jax.random.key(5))
    inputs = np.random.default_rng(0).integers(0, 2, (count, context), dtype=np.uint8)
    seen = []
    program = compiling.compiled(answer, TINY)
    monkeypatch.setattr(loop, "compiled", lambda *_: lambda p, x: seen.append(len(x)) or program(p, x))
    outputs, log_mass = loop.answers_of(TINY, weights, inputs)
    assert len(seen) == blocks
    assert len(set(seen)) == 1
    whole = jax.jit(partial(answer, TINY))(weights, jnp.asarray(inputs))
    # sums of `context` terms in single precision, added in another order
    assert np.abs(outputs - np.asarray(whole[0])).max() < context * 2**-23 * 10
    assert np.abs(log_mass - np.asarray(whole[1])).max() < context * 2**-23 * 10
    assert (outputs.shape, log_mass.shape) == ((count,), (count, TINY.heads))


def first_outputs(data, weights):
    """The network's numbers for the rows of a set that every reading looks at."""
    return loop.answers_of(TINY, weights, np.asarray(data.inputs)[: min(int(data.size), loop.FIRST)])[0]


@pytest.mark.slow
@pytest.mark.parametrize("context", [30, 150])
def test_a_reading_of_set_and_probe_at_once_is_that_of_each(context):
    """Set and probe are answered one below the other; each number read is the one from answers to it alone."""
    instance = SparseTask("and:2").instance(context, np.random.default_rng(0))
    examples = instance.training_set(70, np.random.default_rng(1))
    probe = Observer(instance).observe(90, np.random.default_rng(2))
    data = prepare_set(examples, whole=False, context=padded_context(TINY, context))
    weights = initial(TINY, 2, context, jax.random.key(5))
    state = loop.starting_state(TINY, weights, data.inputs.shape[1])
    row = loop.reader(TINY, data, probe, loop.arrays_of(weights))(state, jnp.zeros(2))
    outputs, log_mass = loop.answers_of(TINY, weights, probe.inputs)
    alone = read_probe(probe, outputs) | read_mass(scores_of(TINY, loop.arrays_of(weights)), probe, log_mass)
    alone |= read_set(examples.labels.astype(float), loop.answers_of(TINY, weights, examples.inputs)[0])
    assert {name: row[name] for name in alone} == pytest.approx(alone, rel=1e-5, abs=1e-6)
    assert 0 < alone["accuracy"] < 1


@pytest.mark.slow
def test_the_fit_to_a_set_counts_no_padding():
    """Loss and share of right answers of a padded training set are those of its own rows, by slow sums."""
    weights = initial(TINY, 2, 30, jax.random.key(5))
    examples = SparseTask("and:2").instance(30, np.random.default_rng(0)).training_set(70, np.random.default_rng(1))
    data = prepare_set(examples, whole=False)
    row = loop.fit_to_set(TINY, data, weights, first_outputs(data, weights))
    outputs = loop.answers_of(TINY, weights, examples.inputs)[0].astype(float)
    losses = [math.log1p(math.exp(-z if y else z)) for z, y in zip(outputs, examples.labels, strict=True)]
    assert abs(row["loss"] - sum(losses) / 70) < 1e-6
    assert row["train_accuracy"] == ((outputs > 0) == examples.labels).mean()


@pytest.mark.slow
def test_a_large_set_is_read_whole_only_where_its_first_rows_are_right(monkeypatch):
    """An error among the first rows settles that training goes on; else every row is read, and one behind counts."""
    monkeypatch.setattr(loop, "FIRST", 40)
    weights = initial(TINY, 2, 30, jax.random.key(5))
    inputs = np.random.default_rng(0).integers(0, 2, (70, 30), dtype=np.uint8)
    right = loop.answers_of(TINY, weights, inputs)[0] > 0

    def read(wrong):
        labels = right ^ (np.arange(70) == wrong)
        data = prepare_set(Examples(inputs, labels), whole=False)
        return loop.fit_to_set(TINY, data, weights, first_outputs(data, weights))

    assert read(39)["train_accuracy"] == 1 - 1 / 40
    assert read(40)["train_accuracy"] == 1 - 1 / 70
    assert read(-1)["train_accuracy"] == 1


def test_rows_are_padded_with_symbols_and_positions_with_none():
    """Spare rows are sequences like any other, so that each has mass; positions beyond the context hold padding."""
    examples = Examples(np.ones((70, 30), dtype=np.uint8), np.ones(70, dtype=bool))
    inputs = np.asarray(prepare_set(examples, whole=True, context=128).inputs)
    assert inputs.shape == (128, 128)
    assert (inputs[:70, :30] == 1).all()
    assert (inputs[70:, :30] == 0).all()
    assert (inputs[:, 30:] == PADDING).all()


def test_inputs_of_another_length_are_refused():
    """A network that is padded answers inputs of its own length only."""
    weights = initial(TINY, 2, 128, jax.random.key(5))
    arrays = {name: np.asarray(array) for name, array in weights.items()}
    answered = loop.predictor_of(TINY, 30, weights, arrays, 1.0)
    assert answered(np.zeros((3, 30), dtype=np.uint8)).shape == (3,)
    with pytest.raises(ArgumentError, match="Inputs of length 31 were given to a network of T = 30"):
        answered(np.zeros((3, 31), dtype=np.uint8))


@pytest.mark.slow
@pytest.mark.parametrize(("context", "changes"), [(800, {}), (40, {"batch": 0, "norm": "pre"})])
def test_weights_that_are_not_copied_change_no_bit(context, changes):
    """A stretch of steps copies less with the analysis of copies than without, and is the same to the bit."""
    settings, rng = replace(TransformerSettings(dropout=0.1, every=10), **changes), np.random.default_rng(0)
    data = prepare_set(SparseTask("and:3").instance(context, rng).training_set(100, rng), whole=not settings.batch)
    state = loop.starting_state(settings, initial(settings, 2, context, jax.random.key(0)), context)
    count = settings.batch or len(data.labels)
    draws = draw_stretch(TrainingSet.draw, settings, count, data.size, jax.random.key(1), state.step)
    analysis = "xla_cpu_copy_insertion_use_region_analysis"
    arguments = (data, rates_of(settings), state, draws)
    with_it, without = (
        jax.jit(partial(run_stretch, settings, context), compiler_options={**compiling.OPTIONS, **change})
        .lower(*arguments)
        .compile()
        for change in ({}, {analysis: False})
    )
    assert with_it.as_text().count(" copy(") < without.as_text().count(" copy(")
    for one, other in zip(*map(jax.tree.leaves, (with_it(*arguments), without(*arguments))), strict=True):
        np.testing.assert_array_equal(one, other)
