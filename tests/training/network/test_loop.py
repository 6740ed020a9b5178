"""Training: what a step is, what is traced, what stops it, and what is read."""

import math
from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from keyhole.attention import evaluate, tabulate
from keyhole.errors import ArgumentError
from keyhole.sweeps.runs.run import RunSpec, learn, run
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import TransformerLearner
from keyhole.training.network import loop, step
from keyhole.training.network.compiling import USUAL, compiled
from keyhole.training.network.dropping import draw_dropout
from keyhole.training.network.loop import predictor_of, shape_of, starting_parameters, train
from keyhole.training.network.network import apply, initial, model_of, path_norm
from keyhole.training.network.step import (
    State,
    advance,
    cross_entropy,
    optimizer_of,
    prepare_set,
    prepare_source,
    rates_of,
)
from keyhole.training.task import Observer, SampleSource, SparseTask

pytestmark = pytest.mark.slow

SMALL = TransformerSettings(heads=2, width=8, hidden=8, batch=16, steps=200, every=50, rate=1e-2)
LEARNER = TransformerLearner(SMALL)
LITERAL = SparseTask("x0")
CONTEXT = 8


def prepared(settings, *, seed=0, task=LITERAL, samples=40):
    """An instance and what training sees of it."""
    rng = np.random.default_rng(seed)
    instance = task.instance(CONTEXT, rng)
    return instance, prepare_set(instance.training_set(samples, rng), whole=not settings.batch)


def fresh(task, count, key):
    """An instance and fresh samples as the compiled loop draws them."""
    instance = task.instance(CONTEXT, np.random.default_rng(0))
    source = prepare_source(SampleSource(instance))
    inputs, labels, _ = source.batch(replace(SMALL, batch=count), CONTEXT, jax.random.key(key))
    return instance, np.asarray(inputs), np.asarray(labels) > 0


@cache
def start(hidden=SMALL.hidden, norm=SMALL.norm):
    """Weights before the first step, in single precision."""
    with jax.enable_x64(new_val=False):
        return jax.jit(partial(initial, replace(SMALL, hidden=hidden, norm=norm), 2, CONTEXT))(jax.random.key(0))


def start_of(settings):
    """Those of a network with these settings."""
    return start(settings.hidden, settings.norm)


@cache
def one_step(shape):
    """A compiled step: data, rates, a state and a key in, the next state and the loss out."""

    def move(data, rates, state, key):
        ahead, drop = jax.random.split(key)
        batch = data.batch(shape, CONTEXT, data.draw(shape, data.size, ahead))
        dropout = draw_dropout(shape, shape.batch or len(data.labels), drop)
        return advance(shape, optimizer_of(shape), rates, state, batch, dropout)

    return jax.jit(move)


def stepped(settings, data, step=0):
    """Parameters before and after one step, and its loss."""
    parameters = start_of(settings)
    state = State(parameters, loop.resting_moments(settings, parameters), jnp.int32(step))
    after, loss = one_step(shape_of(settings))(data, rates_of(settings), state, jax.random.key(1))
    return parameters, after.parameters, float(loss)


@jax.jit
def slope_of(parameters, inputs, labels):
    """The mean cross-entropy of the small network and its gradient, written plainly."""
    return jax.value_and_grad(lambda some: cross_entropy(apply(SMALL, some, inputs), labels).mean())(parameters)


@pytest.mark.parametrize("kind", ["decoupled", "coupled"])
def test_a_first_step_of_adam(kind):
    """After one step from rest Adam moves every weight by rate·g/(|g| + ε), with the decay where it belongs."""
    settings = replace(SMALL, batch=0, decay=0.3, decay_kind=kind, rate=0.01, warmup=4)
    _, data = prepared(settings)
    before, after, loss = stepped(settings, data, step=1)
    value, gradient = slope_of(before, data.inputs[:40], data.labels[:40])
    assert abs(loss - float(value)) < 1e-6
    rate = 0.01 * 2 / 4  # the second of four steps of warm-up
    for name, old in before.items():
        slope = np.asarray(gradient[name]) + (0.3 * np.asarray(old) if kind == "coupled" else 0)
        moved = slope / (np.abs(slope) + 1e-8) + (0 if kind == "coupled" else 0.3 * np.asarray(old))
        steep = np.abs(slope) > 1e-4  # elsewhere rounding decides the sign
        apart = np.asarray(after[name]) - (np.asarray(old) - rate * moved)
        assert np.abs(apart * steep).max() < 1e-5


def walked(settings, data, count):
    """The parameters before each of some steps and after the last, and the gradient before each, as doubles."""
    parameters, step = start_of(settings), one_step(shape_of(settings))
    state = State(parameters, loop.resting_moments(settings, parameters), jnp.int32(0))
    seen, gradients = [state.parameters], []
    for _ in range(count):
        gradients.append(slope_of(state.parameters, data.inputs[:40], data.labels[:40])[1])
        state, _ = step(data, rates_of(settings), state, jax.random.key(1))
        seen.append(state.parameters)

    def plain(some):
        return [{name: np.asarray(array, dtype=float) for name, array in one.items()} for one in some]

    return plain(seen), plain(gradients)


def directions(settings, slopes):
    """Where Adam or momentum goes after these slopes, as their papers write it."""
    a, b, first, second = settings.momentum, settings.second_moment, 0.0, 0.0
    for count, slope in enumerate(slopes, 1):
        if settings.optimizer == "sgd":
            first = a * first + slope
            yield first
        else:
            first, second = a * first + (1 - a) * slope, b * second + (1 - b) * slope**2
            yield first / (1 - a**count) / (np.sqrt(second / (1 - b**count)) + 1e-8)


@pytest.mark.parametrize("kind", ["decoupled", "coupled"])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_three_steps_remember_the_slopes_before(optimizer, kind):
    """Three steps in warm-up are those of Adam, and of momentum, written plainly, with the decay where it belongs.

    The slopes are taken where the trainer stood, so rounding does not add up: a slope above 1e-4 is off by 1e-7 at
    most, a direction of Adam by 1e-3 of itself, and a step by 1e-3 of the rate.
    """
    settings = replace(SMALL, batch=0, optimizer=optimizer, decay=0.3, decay_kind=kind, rate=0.01, warmup=4)
    settings = replace(settings, momentum=0.7, second_moment=0.8)
    _, data = prepared(settings)
    seen, gradients = walked(settings, data, 3)
    for name in seen[0]:
        decays = [0.3 * before[name] for before in seen[:-1]]
        slopes = [one[name] + (decay if kind == "coupled" else 0) for one, decay in zip(gradients, decays, strict=True)]
        steep = np.min(np.abs(slopes), axis=0) > 1e-4
        assert steep.any() or not np.any(slopes)
        for place, towards in enumerate(directions(settings, slopes)):
            moved = towards + (0 if kind == "coupled" else decays[place])
            apart = seen[place + 1][name] - (seen[place][name] - 0.01 * (place + 1) / 4 * moved)
            assert np.abs(apart * steep).max() < 1e-5


def test_adam_adds_its_epsilon_to_the_root():
    """From rest a slope of ε = 1e-8 moves half as far as a steep one: ε stands beside √v̂, not under the root."""
    direction, _ = (optimizer := optimizer_of(SMALL)).update(
        {"a": jnp.float32([1e-8, 1.0])}, optimizer.init({"a": jnp.zeros(2)})
    )
    assert np.abs(np.asarray(direction["a"]) - [0.5, 1.0]).max() < 1e-5


def test_a_step_of_gradient_descent_and_a_cosine():
    """Plain gradient descent subtracts rate·g; the cosine has fallen to one half in the middle."""
    settings = replace(SMALL, batch=0, optimizer="sgd", decay=0.0, rate=0.1, schedule="cosine", steps=100)
    _, data = prepared(settings)
    before, after, _ = stepped(settings, data, step=50)
    _, gradient = slope_of(before, data.inputs[:40], data.labels[:40])
    for name, old in before.items():
        assert np.abs(np.asarray(after[name] - (old - 0.05 * gradient[name]))).max() < 1e-6


STRETCHED = {
    "adam": {},
    "sgd, whole batches": {"optimizer": "sgd", "batch": 0},
    "fixed positions": {"positions": "fixed", "optimizer": "sgd", "decay_kind": "coupled", "hidden": 0},
    "path penalty": {"hidden": 0, "norm": "none", "residual": False, "path_penalty": 0.3},
    "pre-norm": {"norm": "pre", "attention_dropout": 0.2, "dropout": 0.1},
}


@pytest.mark.parametrize("changes", STRETCHED.values(), ids=STRETCHED)
def test_a_stretch_is_its_steps_one_by_one(changes):
    """In a stretch positions are held turned, which changes nothing: parameters, moments and losses are the same.

    The context is as long as the network is wide, so that positions which stayed turned would keep their shape.
    """
    settings = replace(SMALL, every=5, steps=5, **changes)
    with jax.enable_x64(new_val=True):
        _, data = prepared(settings)
        parameters = {name: jnp.asarray(np.asarray(a), dtype=jnp.float64) for name, a in start_of(settings).items()}
        state = State(parameters, optimizer_of(settings).init(parameters), jnp.int32(0))
        count, rates = settings.batch or len(data.labels), rates_of(settings)
        draws = step.draw_stretch(step.TrainingSet.draw, settings, count, data.size, jax.random.key(1), state.step)
        stretch = partial(step.run_stretch, settings, CONTEXT)
        together, losses = jax.jit(stretch)(data, rates, state, draws)

        @jax.jit
        def alone(state, draw):
            batch = data.batch(settings, CONTEXT, draw.batch)
            return advance(settings, optimizer_of(settings), rates, state, batch, draw.dropout)

        for number in range(settings.steps):
            state, loss = alone(state, jax.tree.map(lambda drawn, at=number: drawn[at], draws))
            assert abs(float(loss) - float(losses[number])) < 1e-12
        for ours, theirs in zip(jax.tree.leaves(together), jax.tree.leaves(state), strict=True):
            assert np.abs(np.asarray(ours) - np.asarray(theirs)).max() < 1e-12


def test_padding_is_never_seen():
    """What stands in the padding changes no step, of whole batches or of mini-batches."""
    for settings in (replace(SMALL, batch=0), SMALL):
        _, data = prepared(settings)
        spoilt = data._replace(inputs=data.inputs.at[40:].set(1), labels=data.labels.at[40:].set(1.0))
        assert data.inputs.shape[0] > 40
        clean, other = (stepped(settings, one)[1] for one in (data, spoilt))
        assert all(np.array_equal(array, other[name]) for name, array in clean.items())


def test_fixed_positions_stay():
    """Fixed position codes do not move; learned ones do."""
    for kind in ("fixed", "learned"):
        settings = replace(SMALL, positions=kind)
        _, data = prepared(settings)
        before, after, _ = stepped(settings, data)
        assert np.array_equal(before["positions"], after["positions"]) == (kind == "fixed")


def test_fresh_samples_follow_the_task():
    """Fresh samples have the task's law, its labels and its label noise."""
    task = SparseTask("and:2", "0.7", label_noise=0.25, symbols=4)
    instance, inputs, labels = fresh(task, 20_000, 3)
    assert abs(instance.letters[inputs].mean() - 0.7) < 5 * math.sqrt(0.21 / inputs.size)
    wrong = (instance.truth(inputs) != labels).mean()
    assert abs(wrong - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 20_000)
    fair, inputs, labels = fresh(LITERAL, 20_000, 4)
    assert abs(inputs.mean() - 0.5) < 5 * math.sqrt(0.25 / inputs.size)
    assert (fair.truth(inputs) == labels).all()


def test_one_compilation_serves_every_cell_of_a_shape():
    """Other samples, seeds, rates, decays, steps and tolerances make no new program; the same spec, the same bits."""
    first = run(RunSpec(LITERAL, LEARNER, CONTEXT, 40, 0))
    stretch = compiled(step.run_stretch, shape_of(SMALL), step.SHORT)
    draws = compiled(step.draw_stretch, step.TrainingSet.draw, shape_of(SMALL), SMALL.batch)
    programs = stretch._cache_size(), draws._cache_size()
    again = run(RunSpec(LITERAL, LEARNER, CONTEXT, 40, 0))
    assert first.record() | {"seconds": 0} == again.record() | {"seconds": 0}
    for name, array in first.weights.items():
        assert np.array_equal(array, again.weights[name])
    others = [replace(SMALL, rate=2e-2, steps=100), replace(SMALL, decay=0.0, tolerance=0.1, warmup=10)]
    for settings, samples in zip(others, (30, 900), strict=True):
        run(RunSpec(LITERAL, TransformerLearner(settings), CONTEXT, samples, 1))
    run(RunSpec(LITERAL, LEARNER, CONTEXT + 1, 40, 0))  # another short context is trained by the same program
    assert (stretch._cache_size(), draws._cache_size()) == programs
    run(RunSpec(LITERAL, LEARNER, step.SHORT + 1, 40, 0))
    assert draws._cache_size() == programs[1]  # any other draws by the same program


@pytest.mark.parametrize("context", [1, 1030])
def test_weights_at_the_start_do_not_feel_the_padding(context):
    """Starting weights, drawn for a padded context and cut, are those drawn for the context itself, to the bit."""
    drawn = jax.jit(partial(initial, SMALL, 2, context), compiler_options=USUAL)(jax.random.key(3))
    cut = starting_parameters(SMALL, 2, context, jax.random.key(3))
    assert drawn.keys() == cut.keys()
    for name, array in drawn.items():
        assert np.array_equal(array, cut[name])


def test_a_literal_is_learned_and_training_stops():
    """One bit of eight is learned from 300 samples, training stops when it is fitted, and the readings say so."""
    spec = RunSpec(LITERAL, LEARNER, CONTEXT, 300, 0)
    result = run(spec)
    assert result.success
    assert result.fitted
    last = result.readings[-1]
    assert last["train_accuracy"] == 1
    assert last["loss"] <= SMALL.tolerance
    assert result.steps == last["step"] == SMALL.every * len(result.readings)
    assert result.steps < SMALL.steps
    assert 0 < last["mass"] <= last["mass_best"] <= 1
    assert last["fourier"] > 0.9
    instance, _, fitted = learn(spec)
    inputs = instance.inputs(500, np.random.default_rng(5))
    numbers = evaluate(tabulate(model_of(SMALL, fitted.weights)), inputs)
    sure = np.abs(numbers) > 1e-3  # beyond single precision
    assert (fitted.predict(inputs) == (numbers > 0))[sure].all()


def test_online_training_learns_and_counts_its_steps():
    """From fresh samples training stops when the probe is answered without error; nothing is read of a training set."""
    result = run(RunSpec(LITERAL, LEARNER, CONTEXT, None, 0))
    assert result.success
    assert result.train_accuracy is None
    assert "train_accuracy" not in result.readings[-1]
    assert result.readings[-1]["accuracy"] == 1


def test_a_diverged_run_is_a_failure_and_not_a_crash():
    """A rate of 10²⁰ ends in numbers that are none: the run stops, answers 0 and says that it diverged."""
    result = run(RunSpec(LITERAL, TransformerLearner(replace(SMALL, rate=1e20)), CONTEXT, 40, 0))
    assert not result.success
    assert result.numbers["diverged"] == 1
    assert result.steps < SMALL.steps
    assert all(math.isfinite(value) for reading in result.readings for value in reading.values())


@pytest.mark.parametrize("dropped", [{"dropout": 0.5}, {"attention_dropout": 0.5}], ids=["added", "attention"])
def test_dropout_is_random_and_keeps_the_mean(dropped):
    """Dropout changes what a step sees, and its mean over many draws is the network without it."""
    settings = replace(SMALL, hidden=0, norm="none", **dropped)
    parameters = initial(settings, 2, CONTEXT, jax.random.key(0))
    inputs = jnp.asarray(np.random.default_rng(0).integers(0, 2, (3, CONTEXT)).astype(np.uint8))
    dropped = jax.jit(jax.vmap(lambda key: apply(settings, parameters, inputs, draw_dropout(settings, 3, key))))
    draws = dropped(jax.random.split(jax.random.key(1), 4000))
    plain = np.asarray(apply(settings, parameters, inputs))
    spread = np.asarray(draws.std(axis=0))
    assert (spread > 0).all()
    assert (np.abs(draws.mean(axis=0) - plain) < 5 * spread / math.sqrt(4000)).all()


def test_the_path_norm_is_penalised_with_its_weight():
    """The loss of a step is that without a penalty and the penalty times P_∞ at its start; the step goes down it."""
    plain = replace(SMALL, hidden=0, norm="none", decay=0.0, optimizer="sgd", momentum=0.0, rate=1e-3)
    penalised = replace(plain, path_penalty=0.3)
    _, data = prepared(plain)
    before, after, loss = stepped(penalised, data)
    _, without, fit = stepped(plain, data)
    start = float(path_norm(plain, before))
    assert abs(loss - fit - 0.3 * start) < 1e-5
    assert float(path_norm(plain, after)) < float(path_norm(plain, without))


def test_readings_need_an_observer_and_learning_does_not():
    """Without an observer the same network is trained, and what a probe would tell is left out of the readings."""
    instance = LITERAL.instance(CONTEXT, np.random.default_rng(0))
    examples, seed = instance.training_set(40, np.random.default_rng(0)), np.random.SeedSequence(0)
    seen = LEARNER.with_observer(Observer(instance)).fit(instance.size, examples, seed)
    blind = LEARNER.fit(instance.size, examples, seed)
    assert seen.readings[-1].keys() - blind.readings[-1].keys() == {"accuracy", "mass", "mass_best", "fourier"}
    assert blind.steps == seen.steps
    for name, array in seen.weights.items():
        np.testing.assert_allclose(blind.weights[name], array, rtol=1e-5, atol=1e-6)  # another program: rounding


def test_online_training_without_an_observer():
    """The probe that stops it is then drawn from the source of fresh samples."""
    instance = LITERAL.instance(CONTEXT, np.random.default_rng(0))
    fitted = LEARNER.fit_online(instance.size, SampleSource(instance), np.random.SeedSequence(0))
    assert fitted.readings[-1]["accuracy"] == 1
    assert "mass" not in fitted.readings[-1]
    inputs = instance.inputs(2000, np.random.default_rng(1))
    assert (fitted.predict(inputs) == instance.truth(inputs)).mean() > 0.99


def test_unsafe_scores_are_answered_by_softmax():
    """With scores further apart than the product can carry, answers are those of the general evaluation."""
    instance = LITERAL.instance(CONTEXT, np.random.default_rng(0))
    examples = instance.training_set(40, np.random.default_rng(0))
    fitted = train(SMALL, instance.size, examples, np.random.SeedSequence(0), Observer(instance))
    weights = {**fitted.weights, "positions": fitted.weights["positions"] * 1e4}
    parameters = {name: jnp.asarray(array) for name, array in weights.items()}
    predict = predictor_of(SMALL, CONTEXT, parameters, weights, fitted.readings[-1]["spread"] * 1e4)
    inputs = instance.inputs(200, np.random.default_rng(1))
    assert (predict(inputs) == (evaluate(tabulate(model_of(SMALL, weights)), inputs) > 0)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TransformerSettings(heads=3), "the heads divide the width"),
        (lambda: TransformerSettings(rate=0.0), "rate and norm_eps are above 0"),
        (lambda: TransformerSettings(batch=-1), "at least 0"),
        (lambda: TransformerSettings(attention_dropout=1.0), "dropout of 1.0 on attention"),
        (lambda: TransformerSettings(norm="none", path_penalty=-0.1), "penalty of -0.1 on the path norm"),
        (lambda: TransformerSettings(path_penalty=0.1), "norm behind attention"),
        (lambda: TransformerSettings(norm="none", final_norm=True, path_penalty=0.1), "norm behind attention"),
        (lambda: TransformerSettings(norm="batch"), "norm 'batch' is not known"),
        (lambda: run(RunSpec(SparseTask("x0", feature_noise=0.1), LEARNER, CONTEXT, None, 0)), "needs a training set"),
        (lambda: RunSpec(LITERAL, LEARNER, 0, 40, 0), "context of length 0"),
        (lambda: RunSpec(LITERAL, LEARNER, 8, 0, 0), "at least 1 sample"),
    ],
)
def test_bad_settings_are_refused(make, message):
    """What cannot be trained is refused in one sentence."""
    with pytest.raises(ArgumentError, match=message):
        make()


def test_fresh_samples_come_in_batches():
    """The whole of a training set that is not there is refused in a sentence, before anything is compiled."""
    whole = TransformerLearner(replace(SMALL, batch=0))
    with pytest.raises(ArgumentError, match="with a batch of 0"):
        run(RunSpec(LITERAL, whole, CONTEXT, None, 0))


@pytest.mark.parametrize(("steps", "every"), [(30, 50), (75, 50)])
def test_steps_are_whole_stretches_between_readings(steps, every):
    """Settings that would train past their last step, and past the end of their schedule, are refused."""
    with pytest.raises(ArgumentError, match=f"{steps} steps with a reading every {every}"):
        replace(SMALL, steps=steps, every=every)


def test_a_short_context_is_trained_as_it_is_without_padding(monkeypatch):
    """Padded to a context that short ones share, training takes the same steps to the same weights, to rounding."""
    settings = replace(SMALL, steps=2 * SMALL.every, tolerance=0.0)
    instance = SparseTask("and:2").instance(11, np.random.default_rng(2))
    examples = instance.training_set(50, np.random.default_rng(3))
    made = []
    for short in (step.SHORT, 0):
        monkeypatch.setattr(step, "SHORT", short)
        observer = Observer(instance, lambda _, weights: made.append(weights["positions"].shape))
        made.append(train(settings, instance.size, examples, np.random.SeedSequence(4), observer))
    padded, plain = (one for one in made if not isinstance(one, tuple))
    assert {shape for shape in made if isinstance(shape, tuple)} == {(11, settings.width)}
    assert padded.weights.keys() == plain.weights.keys()
    for name, array in plain.weights.items():
        assert padded.weights[name].shape == array.shape
        assert np.abs(padded.weights[name] - array).max() < 1e-3, name
    for one, other in zip(padded.readings, plain.readings, strict=True):
        assert all(abs(one[name] - other[name]) < 1e-3 for name in other)
    inputs = instance.inputs(700, np.random.default_rng(5))
    assert (padded.predict(inputs) == plain.predict(inputs)).mean() > 0.99


def test_which_contexts_are_padded():
    """Short ones, where padding changes nothing: not behind a norm, with dropped weights, or with a path norm."""
    assert step.padded_context(SMALL, 11) == step.padded_context(SMALL, 127) == 128
    assert [step.padded_context(SMALL, context) for context in (128, 129, 800)] == [128, 129, 800]
    others = ({"norm": "pre"}, {"attention_dropout": 0.1}, {"norm": "none", "path_penalty": 0.1})
    assert all(step.padded_context(replace(SMALL, **changes), 11) == 11 for changes in others)
