"""Training as one compiled loop: a step takes (state) to (state), a reading is taken every few of them.

Rates, sample size, seed and stopping rule are traced: one compilation serves every run of one shape. The loop is
compiled in two forms, for a training set and for fresh samples; `Form` holds what differs between them.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from keyhole.lab.learners.base import Fitted, Reading
from keyhole.lab.learners.settings import TransformerSettings
from keyhole.lab.learners.training.network import (
    Parameters,
    apply,
    attention_mass,
    exponentials,
    initial,
    path_norm,
    tables,
)
from keyhole.lab.learners.training.predict import has_diverged, predictor_of, shape_of
from keyhole.lab.learners.training.prepare import (
    FreshSamples,
    Probe,
    TrainingSet,
    blind_probe,
    prepare_probe,
    prepare_set,
    prepare_source,
)
from keyhole.lab.observation import Observer, SampleSource
from keyhole.lab.task import Examples, ProblemSize

READINGS = (
    "step",
    "loss",
    "train_accuracy",
    "accuracy",
    "mass",
    "mass_best",
    "fourier",
    "spread",
    "norm",
    "movement",
)
OF_THE_SET = {"train_accuracy"}  # what is not read online
OF_THE_PROBE = {"accuracy", "mass", "mass_best", "fourier"}  # what is not read without an observer
Data = Any  # a TrainingSet or FreshSamples, as the form of the loop wants it


class Rates(NamedTuple):
    """The settings that are traced."""

    rate: Array
    decay: Array
    warmup: Array
    steps: Array
    tolerance: Array
    path_penalty: Array


class State(NamedTuple):
    """Where training stands."""

    parameters: Parameters
    moments: Any
    step: Int[Array, ""]


class Form(NamedTuple):
    """What a training set and fresh samples do differently."""

    draw_batch: Callable[[TransformerSettings, Data, int, Array], tuple[Array, Array, Array]]
    fit_so_far: Callable[[TransformerSettings, Data, Parameters, Array], tuple[Array, Array]]
    is_done: Callable[[Rates, Array], Array]


def train(
    settings: TransformerSettings,
    size: ProblemSize,
    examples: Examples,
    seed: np.random.SeedSequence,
    observer: Observer | None = None,
) -> Fitted:
    """Train one network on a training set."""
    words = seed.generate_state(4)
    rng = np.random.default_rng(words[0])
    data = prepare_set(examples, whole=not settings.batch)
    probe = blind_probe(size, rng) if observer is None else prepare_probe(observer, rng)
    left_out = OF_THE_PROBE if observer is None else set()
    return _trained(settings, size, ON_A_SET, data, probe, int(words[1]), left_out)


def train_online(
    settings: TransformerSettings,
    size: ProblemSize,
    source: SampleSource,
    seed: np.random.SeedSequence,
    observer: Observer | None = None,
) -> Fitted:
    """Train one network on fresh samples, drawn inside the loop.

    It stops when the probe is answered without error; without an observer the probe is drawn from the source.
    """
    words = seed.generate_state(4)
    rng = np.random.default_rng(words[0])
    data = prepare_source(source)
    probe = blind_probe(size, rng, source) if observer is None else prepare_probe(observer, rng)
    left_out = OF_THE_SET | (OF_THE_PROBE - {"accuracy"} if observer is None else set())
    return _trained(settings, size, ON_FRESH_SAMPLES, data, probe, int(words[1]), left_out)


def _trained(
    settings: TransformerSettings,
    size: ProblemSize,
    form: Form,
    data: Data,
    probe: Probe,
    key: int,
    left_out: set[str],
) -> Fitted:
    """What the compiled loop makes of the data."""
    loop = compiled_loop(form, shape_of(settings), size.context, size.symbols)
    state, readings, taken = loop(data, probe, rates_of(settings), jax.random.key(key))
    weights = {name: np.asarray(array) for name, array in state.parameters.items()}
    rows = tuple(_reading(row, left_out) for row in np.asarray(readings)[: int(taken)])
    return Fitted(
        predict=predictor_of(settings, size.context, state.parameters, weights),
        steps=int(state.step),
        numbers={**rows[-1], "diverged": float(has_diverged(weights))},
        readings=rows,
        weights=weights,
    )


def rates_of(settings: TransformerSettings) -> Rates:
    """The traced settings, as arrays."""
    return Rates(**{name: jnp.float32(getattr(settings, name)) for name in Rates._fields})


@cache
def compiled_loop(form: Form, settings: TransformerSettings, context: int, symbols: int) -> Callable[..., Any]:
    """The program for one form of the loop and one shape of settings and problem."""
    return jax.jit(partial(_loop, form, settings, context, symbols))


def _loop(
    form: Form,
    settings: TransformerSettings,
    context: int,
    symbols: int,
    data: Data,
    probe: Probe,
    rates: Rates,
    key: Array,
) -> tuple[State, Float[Array, "readings columns"], Int[Array, ""]]:
    """Steps in stretches of `every`, a reading after each, until the steps are used up or the stopping rule says so."""
    start, walk = jax.random.split(key)
    parameters = initial(settings, symbols, context, start)
    optimizer = optimizer_of(settings)
    state = State(parameters, optimizer.init(parameters), jnp.int32(0))
    most = settings.steps // settings.every
    readings = jnp.zeros((most, len(READINGS)))
    read = partial(_read, form, settings, data, probe, tables(settings, parameters)[0])
    draw_batch = partial(form.draw_batch, settings, data, context)

    def step(state: State, _: None) -> tuple[State, Array]:
        return advance(settings, optimizer, draw_batch, rates, state, jax.random.fold_in(walk, state.step))

    def more(carry: tuple[State, Array, Array, Array]) -> Array:
        state, _, _, done = carry
        return (state.step < rates.steps) & ~done

    def stretch(carry: tuple[State, Array, Array, Array]) -> tuple[State, Array, Array, Array]:
        state, readings, taken, _ = carry
        state, losses = jax.lax.scan(step, state, None, length=settings.every)
        reading = read(state, losses)
        done = form.is_done(rates, reading)
        return state, readings.at[taken].set(reading), taken + 1, done

    state, readings, taken, _ = jax.lax.while_loop(more, stretch, (state, readings, jnp.int32(0), jnp.bool_(False)))  # noqa: FBT003
    return state, readings, taken


def advance(
    settings: TransformerSettings,
    optimizer: optax.GradientTransformation,
    draw_batch: Callable[[Array], tuple[Array, Array, Array]],
    rates: Rates,
    state: State,
    key: Array,
) -> tuple[State, Float[Array, ""]]:
    """One step of gradient descent on a batch: inputs, labels and their weights; its loss is the reading."""
    draw, drop = jax.random.split(key)
    inputs, labels, weights = draw_batch(draw)
    dropping = settings.dropout > 0 or settings.attention_dropout > 0

    def loss(parameters: Parameters) -> Array:
        outputs = apply(settings, parameters, inputs, drop if dropping else None)
        fit = (weights * cross_entropy(outputs, labels)).sum()
        return fit + rates.path_penalty * path_norm(settings, parameters) if settings.path_penalty else fit

    value, gradient = jax.value_and_grad(loss)(state.parameters)
    if settings.positions == "fixed":
        gradient = {**gradient, "positions": jnp.zeros_like(gradient["positions"])}
    coupled = settings.decay_kind == "coupled"
    if coupled:
        gradient = {name: g + rates.decay * state.parameters[name] for name, g in gradient.items()}
    updates, moments = optimizer.update(gradient, state.moments, state.parameters)
    rate = rates.rate * _schedule(settings, rates, state.step)
    frozen = {"positions"} if settings.positions == "fixed" else set()
    parameters = {
        name: old if name in frozen else old - rate * (updates[name] + (0.0 if coupled else rates.decay * old))
        for name, old in state.parameters.items()
    }
    return State(parameters, moments, state.step + 1), value


def cross_entropy(outputs: Float[Array, "n"], labels: Float[Array, "n"]) -> Float[Array, "n"]:
    """−log P(label) when P(1) = sigmoid(output)."""
    return jax.nn.softplus(outputs) - labels * outputs


def optimizer_of(settings: TransformerSettings) -> optax.GradientTransformation:
    """The direction of a step, before rate and decay."""
    if settings.optimizer == "adam":
        return optax.scale_by_adam(b1=settings.momentum, b2=settings.second_moment)
    return optax.trace(decay=settings.momentum)


def _schedule(settings: TransformerSettings, rates: Rates, step: Array) -> Array:
    """The rate's factor: a linear rise over the warm-up, then constant or a cosine down to 0 at the last step."""
    rise = jnp.minimum(1.0, (step + 1) / jnp.maximum(rates.warmup, 1.0))
    if settings.schedule == "constant":
        return rise
    return rise * (1 + jnp.cos(jnp.pi * jnp.minimum(1.0, step / rates.steps))) / 2


def draw_from_set(
    settings: TransformerSettings, data: TrainingSet, _context: int, key: Array
) -> tuple[Array, Array, Array]:
    """Inputs, labels and weights of one step: some rows of the training set, or all of it."""
    if not settings.batch:
        return data.inputs, data.labels, _present(data) / data.size
    rows = jax.random.randint(key, (settings.batch,), 0, data.size)
    return data.inputs[rows], data.labels[rows], jnp.full(settings.batch, 1 / settings.batch)


def draw_fresh(
    settings: TransformerSettings, data: FreshSamples, context: int, key: Array
) -> tuple[Array, Array, Array]:
    """Inputs, labels and weights of one step: fresh inputs, their labels with noise."""
    symbols, noise = jax.random.split(key)
    count = settings.batch
    if len(data.ends) == 2:  # sixteen random bits decide a bit; its probability is within 2⁻¹⁷ of the one asked for
        drawn = jax.random.bits(symbols, (count, context), jnp.uint16).astype(jnp.float32)
        inputs = (drawn >= jnp.round(data.ends[0] * 2**16)).astype(jnp.uint8)
    else:
        drawn = jax.random.uniform(symbols, (count, context))
        inputs = (drawn[:, :, None] >= data.ends[:-1]).sum(-1).astype(jnp.uint8)
    bits = data.letters[inputs[:, data.positions]]
    labels = data.table[data.offset + bits @ data.weights]
    flipped = jax.random.bernoulli(noise, data.noise, (count,))
    return inputs, jnp.where(flipped, 1 - labels, labels), jnp.full(count, 1 / count)


def _present(data: TrainingSet) -> Float[Array, "M"]:
    return (jnp.arange(data.inputs.shape[0]) < data.size).astype(jnp.float32)


def _read(
    form: Form,
    settings: TransformerSettings,
    data: Data,
    probe: Probe,
    first_scores: Array,
    state: State,
    losses: Array,
) -> Float[Array, "columns"]:
    """One reading: the network on its training set and on the probe, its attention, its norms."""
    parameters = state.parameters
    outputs = apply(settings, parameters, probe.inputs)
    accuracy = _share((outputs > 0) == (probe.labels > 0))
    loss, train_accuracy = form.fit_so_far(settings, data, parameters, losses)
    mass = attention_mass(settings, parameters, probe.inputs, probe.positions).mean(axis=0)
    scores = tables(settings, parameters)[0]
    _, spread = exponentials(scores)
    centred = outputs - outputs.mean()
    weight = ((centred @ probe.characters) ** 2).sum()
    norm = jnp.sqrt(sum((array**2).sum() for array in parameters.values()))
    columns = {
        "step": state.step.astype(jnp.float32),
        "loss": loss,
        "train_accuracy": train_accuracy,
        "accuracy": accuracy,
        "mass": mass.mean(),
        "mass_best": mass.max(),
        "fourier": weight / jnp.maximum((centred**2).sum(), 1e-30),
        "spread": spread,
        "norm": norm,
        "movement": jnp.abs(scores - first_scores).max(),
    }
    return jnp.stack([columns[name] for name in READINGS])


def _fit_to_set(
    settings: TransformerSettings, data: TrainingSet, parameters: Parameters, _losses: Array
) -> tuple[Array, Array]:
    """The loss and the share of right answers on the training set."""
    present = _present(data) / data.size
    seen = apply(settings, parameters, data.inputs)
    loss = (present * cross_entropy(seen, data.labels)).sum()
    # a sum of 1/m over m rows need not be 1 in floating point; the number of rows wrong is exact
    wrong = (((seen > 0) != (data.labels > 0)) * _present(data)).sum()
    return loss, 1 - wrong / data.size


def _fit_to_batches(
    _settings: TransformerSettings, _data: FreshSamples, _parameters: Parameters, losses: Array
) -> tuple[Array, Array]:
    """The mean loss of the last batches; there is no training set to be right on."""
    return losses.mean(), jnp.float32(jnp.nan)


def _share(right: Array) -> Array:
    return right.astype(jnp.float32).mean()


def _is_fitted(rates: Rates, reading: Array) -> Array:
    """No training error and the loss at or below the tolerance; or a norm that is no longer a number."""
    fitted = reading[READINGS.index("train_accuracy")] == 1
    return _has_no_norm(reading) | fitted & (reading[READINGS.index("loss")] <= rates.tolerance)


def _answers_probe(rates: Rates, reading: Array) -> Array:
    """The probe answered without error, where the tolerance asks for a stop; or a norm that is no longer a number."""
    return _has_no_norm(reading) | (rates.tolerance > 0) & (reading[READINGS.index("accuracy")] == 1)


def _has_no_norm(reading: Array) -> Array:
    return ~jnp.isfinite(reading[READINGS.index("norm")])


ON_A_SET = Form(draw_from_set, _fit_to_set, _is_fitted)
ON_FRESH_SAMPLES = Form(draw_fresh, _fit_to_batches, _answers_probe)


def _reading(row: np.ndarray, left_out: set[str]) -> Reading:
    """One reading as plain numbers; what was not read, or is no number, is left out."""
    named = dict(zip(READINGS, (float(value) for value in row), strict=True))
    return {name: value for name, value in named.items() if math.isfinite(value) and name not in left_out}
