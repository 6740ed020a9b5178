"""Steps of gradient descent: what is random in them is drawn ahead, and a stretch of them is one compiled program.

Draws do not depend on the context length (but for fresh inputs and dropped weights of attention, whose keys are drawn
ahead). So their program is compiled once, and the program of a stretch, compiled for every long context, is smaller.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from keyhole.arrays import Float, Int
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import Parameters
from keyhole.training.network.dropping import Dropout, draw_dropout
from keyhole.training.network.network import apply, path_norm
from keyhole.training.network.prepare import Batch, Data

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


def rates_of(settings: TransformerSettings) -> Rates:
    """The traced settings, as arrays."""
    return Rates(**{name: jnp.float32(getattr(settings, name)) for name in Rates._fields})


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
