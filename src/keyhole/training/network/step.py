"""Steps of gradient descent, on a padded training set or on fresh samples.

What is random in a stretch of steps is drawn ahead, and the stretch is one compiled program. Draws do not depend on the
context length (but for fresh inputs and dropped weights of attention, whose keys are drawn ahead). So their program is
compiled once, and the program of a stretch, compiled for every long context, is smaller.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from keyhole.arrays import Float, Int, UInt8
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import PADDING, Parameters, adds_rows
from keyhole.training.network.dropping import Dropout, draw_dropout
from keyhole.training.network.network import apply, path_norm
from keyhole.training.task import Examples, SampleSource

Batch = tuple[Array, Array, Array]  # inputs, labels, and the weight of each in the loss
SHORT = 128  # contexts below it are padded to it
SMALLEST = 64  # a training set is padded to 64, 128, 256, … (whole batches) or 1024, 8192, … (mini-batches)
AT_ONCE = 1 << 24  # weights of attention, or entries of hidden rows, that are computed at once when nothing is learned
BLOCK = 1024  # sequences in a block, at most


class TrainingSet(NamedTuple):
    """A training set, padded: rows beyond its size, and positions beyond its context."""

    inputs: UInt8[Array, "M T"]
    labels: Float[Array, "M"]
    size: Int[Array, ""]  # without the padding

    @staticmethod
    def draw(settings: TransformerSettings, size: Int[Array, ""], key: Array) -> Array:
        """Draw the rows of one batch; of the whole set nothing is drawn."""
        return jax.random.randint(key, (settings.batch,), 0, size) if settings.batch else key

    def batch(self, settings: TransformerSettings, _context: int, rows: Array) -> Batch:
        """Return some rows of the training set, or all of it."""
        if settings.batch:
            return self.inputs[rows], self.labels[rows], jnp.full(settings.batch, 1 / settings.batch)
        present = (jnp.arange(len(self.labels)) < self.size).astype(jnp.float32)
        return self.inputs, self.labels, present / self.size


class FreshSamples(NamedTuple):
    """The distribution of fresh samples."""

    ends: Float[Array, "A"]  # cumulative probabilities of the symbols
    letters: Int[Array, "A"]
    positions: Int[Array, "s"]
    weights: Int[Array, "s"]
    offset: Int[Array, ""]
    table: Float[Array, "entries"]
    noise: Float[Array, ""]

    @property
    def size(self) -> Int[Array, ""]:
        """Return 0: no row is drawn."""
        return jnp.zeros((), dtype=jnp.int32)

    @staticmethod
    def draw(_settings: TransformerSettings, _size: Int[Array, ""], key: Array) -> Array:
        """Return the key itself: fresh inputs are as long as the context, and drawn when the step is made."""
        return key

    def batch(self, settings: TransformerSettings, context: int, key: Array) -> Batch:
        """Draw fresh inputs, and their labels with noise."""
        symbols, noise = jax.random.split(key)
        count = settings.batch
        if len(self.ends) == 2:  # sixteen random bits decide a bit; its probability is off by less than 2⁻¹⁷
            drawn = jax.random.bits(symbols, (count, context), jnp.uint16).astype(jnp.float32)
            inputs = (drawn >= jnp.round(self.ends[0] * 2**16)).astype(jnp.uint8)
        else:
            drawn = jax.random.uniform(symbols, (count, context))
            inputs = (drawn[:, :, None] >= self.ends[:-1]).sum(-1).astype(jnp.uint8)
        bits = self.letters[inputs[:, self.positions]]
        labels = self.table[self.offset + bits @ self.weights]
        flipped = jax.random.bernoulli(noise, self.noise, (count,))
        return inputs, jnp.where(flipped, 1 - labels, labels), jnp.full(count, 1 / count)


Data = TrainingSet | FreshSamples


def padded_size(count: int, *, whole: bool) -> int:
    """The standard size a training set is padded to: within a factor 2 for whole batches, 8 for mini-batches."""
    size, factor = (SMALLEST, 2) if whole else (16 * SMALLEST, 8)
    while size < count:
        size *= factor
    return size


def block_rows(settings: TransformerSettings, context: int) -> int:
    """Return the number of sequences that are evaluated at once: a power of two, so that few shapes are compiled."""
    numbers = (context + 1) * max(settings.heads * (context + 1), settings.hidden, settings.width)
    rows = 1
    while rows < BLOCK and 2 * rows * numbers <= AT_ONCE:
        rows *= 2
    return rows


def padded_context(settings: TransformerSettings, context: int) -> int:
    """The context that training sets are padded to: one for all that are short, so that one program serves them.

    Only where padding changes nothing: attention over plain sums leaves it out, and a path norm looks at all positions.
    """
    pads = adds_rows(settings) and not settings.attention_dropout and not settings.path_penalty
    return SHORT if pads and context < SHORT else context


def prepare_set(examples: Examples, *, whole: bool, context: int | None = None) -> TrainingSet:
    """A training set padded to a standard size and this context, so that one compiled program serves many sizes."""
    inputs, labels = examples.inputs, examples.labels
    spare = padded_size(len(labels), whole=whole) - len(labels)
    beyond = 0 if context is None else context - inputs.shape[1]
    rows = np.pad(inputs, ((0, spare), (0, 0)))  # with symbols: a sequence of padding alone would have no mass
    return TrainingSet(
        inputs=jnp.asarray(np.pad(rows, ((0, 0), (0, beyond)), constant_values=PADDING)),
        labels=jnp.asarray(np.pad(labels, (0, spare)), dtype=jnp.float32),
        size=jnp.int32(len(labels)),
    )


def prepare_source(source: SampleSource) -> FreshSamples:
    """The distribution of fresh samples."""
    return FreshSamples(**{name: jnp.asarray(array) for name, array in source.tables().items()})


DrawBatch = Callable[[TransformerSettings, Array, Array], Array]  # of a training set of this size, by a key
Network = Callable[[TransformerSettings, Parameters, Array, Any], Array]


class Rates(NamedTuple):
    """The settings that are traced."""

    rate: Array
    decay: Array
    warmup: Array
    steps: Array
    tolerance: Array
    path_penalty: Array


class State(NamedTuple):
    """The weights, what the optimizer remembers, and the steps that are done."""

    parameters: Parameters
    moments: Any
    step: Int[Array, ""]


class Draw(NamedTuple):
    """The random part of one step, or of each of several."""

    batch: Array  # rows of the training set, or the key of fresh samples
    dropout: Dropout


def draw_stretch(
    draw_batch: DrawBatch,
    settings: TransformerSettings,
    count: int,
    size: Int[Array, ""],
    walk: Array,
    first: Int[Array, ""],
) -> Draw:
    """Draw the random part of `every` steps from the first, for a training set of this size in batches of `count`."""

    def draw(step: Array) -> Draw:
        ahead, drop = jax.random.split(jax.random.fold_in(walk, step))
        return Draw(draw_batch(settings, size, ahead), draw_dropout(settings, count, drop))

    return jax.vmap(draw)(first + jnp.arange(settings.every, dtype=jnp.int32))


def run_stretch(
    settings: TransformerSettings, context: int, data: Data, rates: Rates, state: State, draws: Draw
) -> tuple[State, Float[Array, "steps"]]:
    """A step for each of the draws; their losses are the reading.

    Between the first step and the last, positions are held turned, as `attend` reads them.
    """
    optimizer = optimizer_of(settings)

    def step(state: State, draw: Draw) -> tuple[State, Array]:
        batch = data.batch(settings, context, draw.batch)
        return advance(settings, optimizer, rates, state, batch, draw.dropout, view=turn_positions)

    last, losses = jax.lax.scan(step, _turn_state(state), draws)
    return _turn_state(last), losses


def turn_positions(parameters: Parameters) -> Parameters:
    """The same parameters, or moments of them, with positions as columns instead of rows, or back."""
    return {**parameters, "positions": parameters["positions"].T}


def _turn_state(state: State) -> State:
    def turn(part: Any) -> Any:
        return turn_positions(part) if isinstance(part, dict) else part

    moments = jax.tree.map(turn, state.moments, is_leaf=lambda part: isinstance(part, dict))
    return State(turn_positions(state.parameters), moments, state.step)


def advance(
    settings: TransformerSettings,
    optimizer: optax.GradientTransformation,
    rates: Rates,
    state: State,
    batch: Batch,
    dropout: Any,
    network: Network = apply,
    view: Callable[[Parameters], Parameters] = dict,
) -> tuple[State, Float[Array, ""]]:
    """One step of gradient descent on a batch; its loss is the reading. `dropout` is what the network takes for it.

    `view` gives the network's parameters, of those that the state holds.
    """
    inputs, labels, weights = batch

    def loss(held: Parameters) -> Array:
        parameters = view(held)
        outputs = network(settings, parameters, inputs, dropout)
        fit = (weights * cross_entropy(outputs, labels)).sum()
        return fit + rates.path_penalty * path_norm(settings, parameters) if settings.path_penalty else fit

    value, gradient = jax.value_and_grad(loss)(state.parameters)
    if settings.positions == "fixed":
        gradient = {**gradient, "positions": jnp.zeros_like(gradient["positions"])}
    coupled = settings.decay_kind == "coupled"
    if coupled:
        gradient = {name: g + rates.decay * state.parameters[name] for name, g in gradient.items()}
    updates, moments = optimizer.update(gradient, state.moments, state.parameters)
    factor = jnp.minimum(1.0, (state.step + 1) / jnp.maximum(rates.warmup, 1.0))  # a linear rise
    if settings.schedule == "cosine":  # down to 0 at the last step
        factor = factor * (1 + jnp.cos(jnp.pi * jnp.minimum(1.0, state.step / rates.steps))) / 2
    rate = rates.rate * factor
    frozen = {"positions"} if settings.positions == "fixed" else set()
    parameters = {
        name: old if name in frozen else old - rate * (updates[name] + (0.0 if coupled else rates.decay * old))
        for name, old in state.parameters.items()
    }
    return State(parameters, moments, state.step + 1), value


def cross_entropy(outputs: Float[Array, "n"], labels: Float[Array, "n"]) -> Float[Array, "n"]:
    """−log P(label) when P(1) = sigmoid(output)."""
    return jax.nn.softplus(outputs) - labels * outputs


def rates_of(settings: TransformerSettings) -> Rates:
    """The traced settings, as arrays."""
    return Rates(**{name: jnp.float32(getattr(settings, name)) for name in Rates._fields})


def optimizer_of(settings: TransformerSettings) -> optax.GradientTransformation:
    """The direction of a step, before rate and decay."""
    if settings.optimizer == "adam":
        return optax.scale_by_adam(b1=settings.momentum, b2=settings.second_moment)
    return optax.trace(decay=settings.momentum)
