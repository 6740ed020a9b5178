"""Several layers of attention read at [CLS], on the general path: every token of a layer reads every other.

Nothing is tabulated, since what a token holds behind the first layer depends on all others; a step costs as much as
layers × batch × T². The last layer is read by [CLS] alone. The tests compare it with the general `Model` of the same
weights. Steps, batches and stopping rules are those of the one-layer network.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from keyhole.arrays import Float, UInt8
from keyhole.training.learners.base import Fitted, Predictor
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import Parameters, cls_vector, norm_rows
from keyhole.training.network.compiling import compiled, own_settings
from keyhole.training.network.dropping import Dropout, kept_weights
from keyhole.training.network.loop import (
    Row,
    arrays_of,
    descend,
    has_diverged,
    prepare,
    read_probe,
    read_set,
    resting_moments,
    shape_of,
    weight_norm,
)
from keyhole.training.network.network import initial, rest_of_layer
from keyhole.training.network.step import Data, Rates, State, TrainingSet, advance, block_rows, optimizer_of, rates_of
from keyhole.training.task import Examples, Observer, ProblemSize, SampleSource

SHARED = ("tokens", "positions", "cls", "cls_position", "readout", "readout_bias", "final_norm_gain", "final_norm_bias")


@own_settings()
def train_deep(
    layers: int,
    settings: TransformerSettings,
    size: ProblemSize,
    examples: Examples | SampleSource,
    seed: np.random.SeedSequence,
    observer: Observer | None,
) -> Fitted:
    """Train so many layers on a training set, or on fresh samples until the probe is answered without error."""
    data, probe, start, walk = prepare(settings, examples, seed, observer)
    shape, rates = shape_of(settings), rates_of(settings)
    parameters = compiled(initial_layers, layers, shape, size.symbols, size.context, usual=True)(start)
    stretch = compiled(run_stretch, layers, shape, size.context)

    def read(state: State, losses: Array) -> Row:
        outputs = partial(outputs_of, layers, shape, state.parameters)
        with np.errstate(all="ignore"):  # of a network that diverged
            row = {"step": float(state.step), "norm": weight_norm(arrays_of(state.parameters))}
            row |= {} if probe is None else read_probe(probe, outputs(probe.inputs))
            if not isinstance(data, TrainingSet):
                return row | {"loss": float(np.asarray(losses).mean())}
            rows = int(data.size)
            return row | read_set(np.asarray(data.labels)[:rows], outputs(np.asarray(data.inputs)[:rows]))

    def predictor(trained: Parameters, weights: dict[str, np.ndarray], _: Row) -> Predictor:
        if has_diverged(weights):
            return lambda inputs: np.zeros(len(inputs), dtype=bool)
        return lambda inputs: outputs_of(layers, shape, trained, inputs) > 0

    state = State(parameters, resting_moments(shape, parameters), jnp.int32(0))
    return descend(
        settings, size.context, state, lambda last: stretch(data, rates, last, walk), read, predictor, observer
    )


@own_settings()
def outputs_of(
    layers: int, settings: TransformerSettings, parameters: Parameters, inputs: UInt8[np.ndarray, "n T"]
) -> Float[np.ndarray, "n"]:
    """The network's number for each input, in blocks of one shape that fit into memory."""
    rows = block_rows(settings, inputs.shape[1])
    padded = np.pad(inputs, ((0, -len(inputs) % rows), (0, 0)))
    applied = compiled(apply_layers, layers, settings)
    parts = [np.asarray(applied(parameters, part)) for part in np.split(padded, len(padded) // rows)]
    return np.concatenate(parts)[: len(inputs)]


def apply_layers(
    layers: int,
    settings: TransformerSettings,
    parameters: Parameters,
    sequences: UInt8[Array, "n T"],
    key: Array | None = None,
) -> Float[Array, "n"]:
    """The network's number for each sequence; with a key, entries and weights of attention are dropped at random."""
    p = parameters
    hot = jax.nn.one_hot(sequences, p["tokens"].shape[0])  # a product with it has the quicker gradient
    cls = jnp.broadcast_to(cls_vector(settings, p), (len(sequences), 1, settings.width))
    stream = jnp.concatenate([hot @ p["tokens"] + p["positions"], cls], axis=1)
    for layer in range(layers):
        drawn = None if key is None else jax.random.fold_in(key, layer)
        stream = _layer(settings, layer_of(p, layer), stream, drawn, last=layer == layers - 1)
    row = stream[:, -1]
    row = norm_rows(settings, p, "final_norm", row) if settings.final_norm else row
    return row @ p["readout"] + p["readout_bias"]


def _layer(
    settings: TransformerSettings, p: Parameters, stream: Float[Array, "n T d"], key: Array | None, *, last: bool
) -> Float[Array, "n Q d"]:
    """One encoder layer at every row, or (the last) at [CLS] alone; a key drops entries and weights of attention."""
    rows = norm_rows(settings, p, "attention_norm", stream) if settings.norm == "pre" else stream
    queries, stream = (rows[:, -1:], stream[:, -1:]) if last else (rows, stream)
    n, heads = len(rows), (settings.heads, settings.width // settings.heads)
    query = (queries @ p["query"] + p["query_bias"]).reshape(n, -1, *heads)
    keys = (rows @ p["key"]).reshape(n, -1, *heads)
    values = (rows @ p["value"] + p["value_bias"]).reshape(n, -1, *heads)
    weights = jax.nn.softmax(jnp.einsum("nqhk,nthk->nhqt", query, keys) / np.sqrt(heads[1]), axis=-1)
    masks: tuple[Array | None, Array | None] = (None, None)
    if key is not None:
        of_weights, *of_entries = jax.random.split(key, 3)
        if settings.attention_dropout:
            weights = weights * kept_weights(settings, of_weights, weights.shape)
        if settings.dropout:
            first, second = (
                jax.random.bernoulli(mask_key, 1 - settings.dropout, stream.shape) for mask_key in of_entries
            )
            masks = (first, second)
    attended = jnp.einsum("nhqt,nthk->nqhk", weights, values).reshape(queries.shape)
    return rest_of_layer(settings, p, stream, attended, Dropout(*masks, None))


def initial_layers(layers: int, settings: TransformerSettings, symbols: int, context: int, key: Array) -> Parameters:
    """Parameters at the start: of the first layer those of the one-layer network, of each other drawn the same way."""
    first = initial(settings, symbols, context, key)
    drawn = {name: array for name, array in first.items() if name in SHARED}
    for layer in range(layers):
        parameters = first if not layer else initial(settings, symbols, 1, jax.random.fold_in(key, layer))
        drawn |= {f"layer{layer}.{name}": array for name, array in parameters.items() if name not in SHARED}
    return drawn


def layer_of(parameters: Mapping[str, Any], layer: int) -> dict[str, Any]:
    """The parameters of one layer, by their names in the one-layer network."""
    prefix = f"layer{layer}."
    return {name.removeprefix(prefix): array for name, array in parameters.items() if name.startswith(prefix)}


def run_stretch(
    layers: int,
    settings: TransformerSettings,
    context: int,
    data: Data,
    rates: Rates,
    state: State,
    walk: Array,
) -> tuple[State, Float[Array, "steps"]]:
    """`every` steps; their losses are the reading."""
    optimizer = optimizer_of(settings)

    def network(settings: TransformerSettings, parameters: Parameters, inputs: Array, key: Array | None) -> Array:
        return apply_layers(layers, settings, parameters, inputs, key)

    def step(state: State, _: None) -> tuple[State, Array]:
        ahead, drop = jax.random.split(jax.random.fold_in(walk, state.step))
        batch = data.batch(settings, context, data.draw(settings, data.size, ahead))
        key = drop if settings.dropout or settings.attention_dropout else None
        return advance(settings, optimizer, rates, state, batch, key, network)

    return jax.lax.scan(step, state, length=settings.every)
