"""Training as one compiled loop: a step takes (state) to (state), a reading is taken every few of them.

Rates, sample size, seed and stopping rule are traced: one compilation serves every cell of one shape. The training
set is padded to a few standard sizes for the same reason.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, UInt8

from keyhole.attention import evaluate, tabulate
from keyhole.attention.evaluation import safe_width
from keyhole.boolean.distribution import UNIFORM
from keyhole.boolean.fourier import sign_spectrum
from keyhole.lab.learners.base import Fitted, Predictor, Reading
from keyhole.lab.learners.network import Parameters, apply, attention_mass, exponentials, initial, model_of, tables
from keyhole.lab.learners.transformer import Transformer
from keyhole.lab.task import Examples, Instance

PROBE = 1024  # fresh inputs on which readings are taken
SMALLEST = 64  # a training set is padded to 64, 128, 256, … (whole batches) or 1024, 8192, … (mini-batches)
CHARACTERS = 6  # the Fourier weight looks at all sets of at most this many relevant positions
PREDICTED = 1024  # inputs predicted in one call
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


class Rates(NamedTuple):
    """The settings that are traced."""

    rate: Array
    decay: Array
    warmup: Array
    steps: Array
    tolerance: Array


class Data(NamedTuple):
    """What training sees (a padded set, or what is needed to draw fresh samples) and what readings look at."""

    inputs: UInt8[Array, "M T"]
    labels: Float[Array, "M"]
    size: Int[Array, ""]  # of the training set without its padding
    ends: Float[Array, "A"]  # cumulative probabilities of the symbols: fresh samples are drawn with them
    letters: Int[Array, "A"]
    positions: Int[Array, "s"]
    weights: Int[Array, "s"]
    offset: Int[Array, ""]
    table: Float[Array, "entries"]
    noise: Float[Array, ""]
    probe: UInt8[Array, "P T"]
    probe_labels: Float[Array, "P"]
    characters: Float[Array, "P C"]


class State(NamedTuple):
    """Where training stands."""

    parameters: Parameters
    moments: Any
    step: Int[Array, ""]


def train(settings: Transformer, instance: Instance, examples: Examples | None, seed: np.random.SeedSequence) -> Fitted:
    """Train one network. Fresh samples are drawn inside the loop when there are no examples."""
    settings.refuse(instance, online=examples is None)
    words = seed.generate_state(4)
    data = prepare(settings, instance, examples, np.random.default_rng(words[0]))
    rates = Rates(**{name: jnp.float32(getattr(settings, name)) for name in Rates._fields})
    key = jax.random.key(int(words[1]))
    loop = _compiled(_shape_of(settings), instance.context, instance.symbols, examples is None)
    state, readings, taken = loop(data, rates, key)
    read = np.asarray(readings)[: int(taken)]
    weights = {name: np.asarray(array) for name, array in state.parameters.items()}
    rows = tuple(_reading(row, online=examples is None) for row in read)
    return Fitted(
        predict=_predictor(settings, instance.context, state.parameters, weights),
        steps=int(state.step),
        numbers={**rows[-1], "diverged": float(_diverged(weights))},
        readings=rows,
        weights=weights,
    )


def _shape_of(settings: Transformer) -> Transformer:
    """The settings with everything that is traced blotted out: what decides the compiled program."""
    most = -(-settings.steps // settings.every)
    return replace(settings, rate=1.0, decay=0.0, warmup=0, steps=most * settings.every, tolerance=0.0)


@cache
def _compiled(settings: Transformer, context: int, symbols: int, online: bool) -> Callable[..., Any]:  # noqa: FBT001
    return jax.jit(partial(_loop, settings, context, symbols, online))


def _loop(
    settings: Transformer,
    context: int,
    symbols: int,
    online: bool,  # noqa: FBT001  (part of the program's shape)
    data: Data,
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
    read = partial(_read, settings, online, data, tables(settings, parameters)[0])

    def step(state: State, _: None) -> tuple[State, Array]:
        return advance(settings, optimizer, online, data, rates, state, jax.random.fold_in(walk, state.step))

    def more(carry: tuple[State, Array, Array, Array]) -> Array:
        state, _, _, done = carry
        return (state.step < rates.steps) & ~done

    def stretch(carry: tuple[State, Array, Array, Array]) -> tuple[State, Array, Array, Array]:
        state, readings, taken, _ = carry
        state, losses = jax.lax.scan(step, state, None, length=settings.every)
        reading = read(state, losses)
        done = _done(online, rates, reading)
        return state, readings.at[taken].set(reading), taken + 1, done

    state, readings, taken, _ = jax.lax.while_loop(more, stretch, (state, readings, jnp.int32(0), jnp.bool_(False)))  # noqa: FBT003
    return state, readings, taken


def advance(
    settings: Transformer,
    optimizer: optax.GradientTransformation,
    online: bool,  # noqa: FBT001
    data: Data,
    rates: Rates,
    state: State,
    key: Array,
) -> tuple[State, Float[Array, ""]]:
    """One step of gradient descent; its loss is the reading."""
    draw, drop = jax.random.split(key)
    inputs, labels, weights = _batch(settings, online, data, draw)

    def loss(parameters: Parameters) -> Array:
        outputs = apply(settings, parameters, inputs, drop if settings.dropout else None)
        return (weights * cross_entropy(outputs, labels)).sum()

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


def optimizer_of(settings: Transformer) -> optax.GradientTransformation:
    """The direction of a step, before rate and decay."""
    if settings.optimizer == "adam":
        return optax.scale_by_adam(b1=settings.momentum, b2=settings.second_moment)
    return optax.trace(decay=settings.momentum)


def _schedule(settings: Transformer, rates: Rates, step: Array) -> Array:
    """The rate's factor: a linear rise over the warm-up, then constant or a cosine down to 0 at the last step."""
    rise = jnp.minimum(1.0, (step + 1) / jnp.maximum(rates.warmup, 1.0))
    if settings.schedule == "constant":
        return rise
    return rise * (1 + jnp.cos(jnp.pi * jnp.minimum(1.0, step / rates.steps))) / 2


def _batch(settings: Transformer, online: bool, data: Data, key: Array) -> tuple[Array, Array, Array]:  # noqa: FBT001
    """Inputs, labels and weights of one step: fresh ones, some rows of the training set, or all of it."""
    if online:
        inputs, labels = _fresh(data, settings.batch, data.probe.shape[1], key)
    elif settings.batch:
        rows = jax.random.randint(key, (settings.batch,), 0, data.size)
        inputs, labels = data.inputs[rows], data.labels[rows]
    else:
        return data.inputs, data.labels, _present(data) / data.size
    return inputs, labels, jnp.full(settings.batch, 1 / settings.batch)


def _fresh(data: Data, count: int, context: int, key: Array) -> tuple[Array, Array]:
    """Fresh inputs with their labels, noise and all."""
    symbols, noise = jax.random.split(key)
    if len(data.ends) == 2:  # sixteen random bits decide a bit; the law is within 2⁻¹⁷ of the one asked for
        drawn = jax.random.bits(symbols, (count, context), jnp.uint16).astype(jnp.float32)
        inputs = (drawn >= jnp.round(data.ends[0] * 2**16)).astype(jnp.uint8)
    else:
        drawn = jax.random.uniform(symbols, (count, context))
        inputs = (drawn[:, :, None] >= data.ends[:-1]).sum(-1).astype(jnp.uint8)
    bits = data.letters[inputs[:, data.positions]]
    labels = data.table[data.offset + bits @ data.weights]
    flipped = jax.random.bernoulli(noise, data.noise, (count,))
    return inputs, jnp.where(flipped, 1 - labels, labels)


def _present(data: Data) -> Float[Array, "M"]:
    return (jnp.arange(data.inputs.shape[0]) < data.size).astype(jnp.float32)


def _read(
    settings: Transformer,
    online: bool,  # noqa: FBT001
    data: Data,
    first_scores: Array,
    state: State,
    losses: Array,
) -> Float[Array, "columns"]:
    """One reading: the network on its training set and on the probe, its attention, its norms."""
    parameters = state.parameters
    outputs = apply(settings, parameters, data.probe)
    accuracy = _share((outputs > 0) == (data.probe_labels > 0))
    if online:
        loss, train_accuracy = losses.mean(), jnp.float32(jnp.nan)
    else:
        present = _present(data) / data.size
        seen = apply(settings, parameters, data.inputs)
        loss = (present * cross_entropy(seen, data.labels)).sum()
        # a sum of 1/m over m rows need not be 1 in floating point; the number of rows wrong is exact
        wrong = (((seen > 0) != (data.labels > 0)) * _present(data)).sum()
        train_accuracy = 1 - wrong / data.size
    mass = attention_mass(settings, parameters, data.probe, data.positions).mean(axis=0)
    scores = tables(settings, parameters)[0]
    _, spread = exponentials(scores)
    centred = outputs - outputs.mean()
    weight = ((centred @ data.characters) ** 2).sum()
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


def _share(right: Array) -> Array:
    return right.astype(jnp.float32).mean()


def _done(online: bool, rates: Rates, reading: Array) -> Array:  # noqa: FBT001
    """Fitted: no training error and the loss at or below the tolerance; online: the probe answered without error.

    A network whose norm is no longer a number is done as well.
    """
    diverged = ~jnp.isfinite(reading[READINGS.index("norm")])
    if online:
        return diverged | (rates.tolerance > 0) & (reading[READINGS.index("accuracy")] == 1)
    fitted = reading[READINGS.index("train_accuracy")] == 1
    return diverged | fitted & (reading[READINGS.index("loss")] <= rates.tolerance)


def prepare(settings: Transformer, instance: Instance, examples: Examples | None, rng: np.random.Generator) -> Data:
    """Everything the loop looks at, the training set padded to a standard size."""
    if examples is None:
        inputs, labels = np.zeros((1, instance.context), dtype=np.uint8), np.zeros(1, dtype=bool)
    else:
        inputs, labels = examples.inputs, examples.labels
    size = 1 if examples is None else padded_size(len(labels), whole=not settings.batch)
    spare = size - len(labels)
    look, probe = instance.look_up(), instance.inputs(PROBE, rng)
    shares = np.where(instance.letters, instance.law.p / instance.letters.sum(), 0.0)
    shares = np.where(instance.letters, shares, (1 - instance.law.p) / (~instance.letters).sum())
    return Data(
        inputs=jnp.asarray(np.pad(inputs, ((0, spare), (0, 0)))),
        labels=jnp.asarray(np.pad(labels, (0, spare)), dtype=jnp.float32),
        size=jnp.int32(len(labels)),
        ends=jnp.asarray(np.cumsum(shares), dtype=jnp.float32),
        letters=jnp.asarray(instance.letters, dtype=jnp.int32),
        positions=jnp.asarray(look.positions),
        weights=jnp.asarray(look.weights),
        offset=jnp.int32(look.offset),
        table=jnp.asarray(look.table, dtype=jnp.float32),
        noise=jnp.float32(instance.label_noise),
        probe=jnp.asarray(probe),
        probe_labels=jnp.asarray(instance.truth(probe), dtype=jnp.float32),
        characters=jnp.asarray(characters(instance, probe), dtype=jnp.float32),
    )


def padded_size(count: int, *, whole: bool) -> int:
    """The standard size a training set is padded to: within a factor 2 for whole batches, 8 for mini-batches."""
    size, factor = (SMALLEST, 2) if whole else (16 * SMALLEST, 8)
    while size < count:
        size *= factor
    return size


def characters(instance: Instance, inputs: UInt8[np.ndarray, "n T"]) -> Float[np.ndarray, "n C"]:
    """An orthonormal basis, on these inputs, of the characters on which the target's own Fourier weight lies.

    The constant is left out. On fair bits the characters are the sets with a coefficient; on biased ones every set of
    relevant positions. A target of more than six positions is its own character.
    """
    size, p = instance.function.sparsity, instance.law.p
    bits = instance.letters[inputs[:, list(instance.function.positions)]].astype(np.float64)
    if size > CHARACTERS:
        columns = [instance.truth(inputs).astype(np.float64)]
    else:
        coefficients = sign_spectrum(instance.function)
        sets = [one for one in range(1, 1 << size) if instance.law != UNIFORM or coefficients[one] != 0]
        columns = [np.prod(bits[:, [i for i in range(size) if one >> i & 1]] - p, axis=1) for one in sets]
    if not columns:  # a constant target has no character of its own
        return np.zeros((len(inputs), 1))
    table = np.stack(columns, axis=1)
    basis, scales, _ = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
    return np.asarray(basis * (scales > 1e-9 * max(scales[0], 1e-300)))


def _reading(row: np.ndarray, *, online: bool) -> Reading:
    """One reading as plain numbers; what is not read online, or is no number, is left out."""
    named = dict(zip(READINGS, (float(value) for value in row), strict=True))
    return {
        name: value
        for name, value in named.items()
        if math.isfinite(value) and not (online and name == "train_accuracy")
    }


@cache
def _applied(settings: Transformer) -> Callable[..., Any]:
    return jax.jit(partial(apply, settings))


def _predictor(
    settings: Transformer, context: int, parameters: Parameters, weights: dict[str, np.ndarray]
) -> Predictor:
    """The network's answers, in blocks of one shape; scores beyond the product's safe range go by softmax.

    A network that diverged answers 0 to everything.
    """
    if _diverged(weights):
        return lambda inputs: np.zeros(len(inputs), dtype=bool)
    spread = float(exponentials(tables(settings, parameters)[0])[1])
    if not spread < safe_width(np.finfo(np.float32), context):
        tabulated = tabulate(model_of(settings, weights))
        return lambda inputs: np.asarray(evaluate(tabulated, inputs)) > 0
    applied = _applied(_shape_of(settings))

    def predict(inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        spare = -len(inputs) % PREDICTED
        padded = np.pad(inputs, ((0, spare), (0, 0)))
        parts = [applied(parameters, part) for part in np.split(padded, len(padded) // PREDICTED)]
        return np.asarray(np.concatenate([np.asarray(part) for part in parts])[: len(inputs)] > 0)

    return predict


def _diverged(weights: dict[str, np.ndarray]) -> bool:
    return not all(np.isfinite(array).all() for array in weights.values())
