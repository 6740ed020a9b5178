"""Networks that read a set of tokens, and their training: an encoder, pooling, and one that is tied to positions.

A batch is padded to one length; `lengths` says how many tokens of each sequence are there. Tokens are vectors (letters
come as one-hot vectors). Every sequence of random numbers comes from one seed, so that a run is made again to the bit
on one thread.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from keyhole.arrays import Float, Int
from keyhole.training.learners.settings import SetSettings
from keyhole.training.network.compiling import compiled, own_settings, random_key

Parameters = dict[str, Array]
EPS = 1e-6  # added to the variance in a norm
APART = -1e9  # the score of a token that is not there
CHUNK = 50  # steps compiled as one loop
READ = 1 << 22  # scores, or entries of rows, computed at once


class Batches(NamedTuple):
    """Sequences with their targets, a leading axis of steps in front: vectors (mean-squared) or one-hot (log loss)."""

    tokens: Float[Any, "*steps batch T d"]
    lengths: Int[Any, "*steps batch"]
    targets: Float[Any, "*steps batch k"]


Draw = Callable[[int], Batches]  # so many sequences, drawn afresh


@dataclass(frozen=True, eq=False)
class TrainedSet:
    """A trained network: its weights, and its training loss on the way."""

    settings: SetSettings
    parameters: dict[str, np.ndarray]
    losses: tuple[float, ...]  # mean over each chunk of steps

    def predict(self, tokens: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
        """The output for each sequence: a probability vector (log loss) or a mean (squared error)."""
        return self._read(tokens, lengths)[0]

    def states(self, tokens: np.ndarray, lengths: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """Return the state behind each layer at the place that the network reads: a row per sequence."""
        return self._read(tokens, lengths)[1]

    @own_settings()
    def _read(self, tokens: np.ndarray, lengths: np.ndarray | None) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        there = np.full(len(tokens), tokens.shape[1]) if lengths is None else lengths
        numbers_each = (tokens.shape[1] + 1) * max(self.settings.hidden, self.settings.heads * (tokens.shape[1] + 1))
        step = max(1, READ // numbers_each)
        parts = [
            compiled(apply, self.settings, usual=True)(self.parameters, tokens[i : i + step], there[i : i + step])
            for i in range(0, len(tokens), step)
        ]
        outputs = np.concatenate([np.asarray(part[0]) for part in parts]).astype(np.float64)
        states = tuple(
            np.concatenate([np.asarray(part[1][layer]) for part in parts]) for layer in range(len(parts[0][1]))
        )
        if self.settings.loss == "log":
            outputs = np.exp(outputs - outputs.max(axis=1, keepdims=True))
            outputs /= outputs.sum(axis=1, keepdims=True)
        return outputs, states


def train_set(
    settings: SetSettings, draw: Draw, inputs: int, outputs: int, longest: int, seed: int, *, pause: int
) -> Iterator[TrainedSet]:
    """Train by Adam with a cosine schedule; `draw` gives the sequences of each chunk.

    Return the network before training, then after every `pause` steps, the last one trained to the end.
    """
    advance_chunk = compiled(advance, settings, usual=True)
    with own_settings():
        parameters = initial(settings, inputs, outputs, longest, random_key(seed))
        moments = _optimizer(settings).init(parameters)
    losses: list[float] = []
    yield TrainedSet(settings, _arrays(parameters), ())
    for step in range(0, settings.steps, CHUNK):
        count = min(CHUNK, settings.steps - step)
        batches = draw(count * settings.batch)
        with own_settings():
            shaped = Batches(*(jnp.asarray(part).reshape(count, settings.batch, *part.shape[1:]) for part in batches))
            parameters, moments, loss = advance_chunk(parameters, moments, shaped)
        losses.append(float(loss))
        if (step + count) % pause == 0 or step + count == settings.steps:
            yield TrainedSet(settings, _arrays(parameters), tuple(losses))


def _optimizer(settings: SetSettings) -> optax.GradientTransformation:
    """Adam with a cosine schedule, and a limit on the length of a step's gradient."""
    schedule = optax.warmup_cosine_decay_schedule(
        0.0, settings.rate, max(1, settings.steps // 20), settings.steps, settings.rate / 100
    )
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))


def advance(
    settings: SetSettings, parameters: Parameters, moments: Any, batches: Batches
) -> tuple[Parameters, Any, Array]:
    """A step for each batch, and the mean of their losses."""

    def loss(parameters: Parameters, batch: Batches) -> Array:
        outputs, _ = apply(settings, parameters, batch.tokens, batch.lengths)
        if settings.loss == "log":
            return -jnp.sum(batch.targets * jax.nn.log_softmax(outputs), axis=1).mean()
        return jnp.square(outputs - batch.targets).sum(axis=1).mean()

    def step(state: tuple[Parameters, Any], batch: Batches) -> tuple[tuple[Parameters, Any], Array]:
        parameters, moments = state
        value, slope = jax.value_and_grad(loss)(parameters, batch)
        updates, moments = _optimizer(settings).update(slope, moments, parameters)
        return (optax.apply_updates(parameters, updates), moments), value

    (parameters, moments), losses = jax.lax.scan(step, (parameters, moments), batches)
    return parameters, moments, losses.mean()


def apply(
    settings: SetSettings, parameters: Parameters, tokens: Float[Array, "n T d"], lengths: Int[Array, "n"]
) -> tuple[Float[Array, "n k"], tuple[Float[Array, "n w"], ...]]:
    """The output for each sequence, and what stands behind each layer at the place that is read."""
    there = jnp.arange(tokens.shape[1])[None, :] < lengths[:, None]  # (n, T)
    rows, read = {"encoder": _encode, "pooling": _pool, "positions": _flatten}[settings.network](
        settings, parameters, tokens, there
    )
    return rows @ parameters["readout"] + parameters["readout_bias"], read


def initial(settings: SetSettings, inputs: int, outputs: int, longest: int, key: Array) -> Parameters:
    """The start: matrices with entries N(0, 1/inputs), the read-out a tenth of that, gains 1, biases 0.

    Tokens of an encoder are embedded as x·N(0, 0.3²) + N(0, 1): a norm of x·w alone would keep a number's sign only.
    """
    width, hidden = settings.width, settings.hidden
    shapes: dict[str, tuple[int, ...]] = {"readout": (width, outputs)}
    if settings.network == "encoder":
        shapes |= {"embed": (inputs, width), "cls": (1, width)}
        for layer in range(settings.layers):
            shapes |= {f"{name}{layer}": (width, width) for name in ("query", "key", "value", "output")}
            shapes |= {f"inner{layer}": (width, hidden), f"outer{layer}": (hidden, width)}
    else:
        first = inputs if settings.network == "pooling" else longest * (inputs + 1)
        shapes |= {
            "embed": (first, hidden),
            "pooled": (hidden, hidden),
            "inner": (hidden, hidden),
            "outer": (hidden, width),
        }
    keys = jax.random.split(key, len(shapes))
    start = {
        name: jax.random.normal(own_key, shape) / np.sqrt(shape[0]) * (0.1 if name == "readout" else 1.0)
        for (name, shape), own_key in zip(shapes.items(), keys, strict=True)
    }
    biased = ("readout", "embed", *(name for name in start if name.startswith(("inner", "outer", "pooled"))))
    start |= {f"{name}_bias": jnp.zeros(start[name].shape[1]) for name in biased}
    if settings.network != "encoder":
        return start
    start["embed"] = 0.3 * np.sqrt(inputs) * start["embed"]
    start["embed_bias"] = jax.random.normal(jax.random.fold_in(key, 1), (width,))
    gains = [f"{name}{layer}_gain" for layer in range(settings.layers) for name in ("attention", "mlp")]
    return start | {name: jnp.ones(width) for name in (*gains, "final_gain")}


def _encode(settings: SetSettings, w: Parameters, tokens: Array, there: Array) -> tuple[Array, tuple[Array, ...]]:
    """A pre-norm Transformer encoder without positions, read at [CLS]."""
    n = len(tokens)
    rows = tokens @ w["embed"] + w["embed_bias"]
    rows = jnp.concatenate([jnp.broadcast_to(w["cls"], (n, 1, settings.width)), rows], axis=1)
    present = jnp.concatenate([jnp.ones((n, 1), dtype=bool), there], axis=1)
    read: list[Array] = []
    heads = (settings.heads, settings.width // settings.heads)
    for layer in range(settings.layers):
        normed = _norm(rows, w[f"attention{layer}_gain"])
        if layer == settings.layers - 1:  # only [CLS] is read
            rows = rows[:, :1]
        asking = normed[:, : rows.shape[1]]
        query = (asking @ w[f"query{layer}"]).reshape(n, -1, *heads)
        key, value = ((normed @ w[f"{name}{layer}"]).reshape(n, -1, *heads) for name in ("key", "value"))
        scores = jnp.einsum("nqhk,nthk->nhqt", query, key) / np.sqrt(heads[1])
        weights = jax.nn.softmax(jnp.where(present[:, None, None, :], scores, APART), axis=-1)
        rows = rows + jnp.einsum("nhqt,nthk->nqhk", weights, value).reshape(rows.shape) @ w[f"output{layer}"]
        inner = jax.nn.gelu(_norm(rows, w[f"mlp{layer}_gain"]) @ w[f"inner{layer}"] + w[f"inner{layer}_bias"])
        rows = rows + inner @ w[f"outer{layer}"] + w[f"outer{layer}_bias"]
        read.append(rows[:, 0])
    return _norm(rows[:, 0], w["final_gain"]), tuple(read)


def _pool(settings: SetSettings, w: Parameters, tokens: Array, there: Array) -> tuple[Array, tuple[Array, ...]]:  # noqa: ARG001
    """Token-wise units, their mean, and a network of it."""
    units = jax.nn.gelu(tokens @ w["embed"] + w["embed_bias"]) @ w["pooled"] + w["pooled_bias"]
    count = jnp.maximum(there.sum(axis=1, keepdims=True), 1)
    pooled = (units * there[:, :, None]).sum(axis=1) / count
    return _top(w, pooled)


def _flatten(settings: SetSettings, w: Parameters, tokens: Array, there: Array) -> tuple[Array, tuple[Array, ...]]:  # noqa: ARG001
    """A network of all tokens side by side: each position has weights of its own; there are none beyond."""
    places = w["embed"].shape[0] // (tokens.shape[2] + 1)
    present = there[:, :places, None]
    marked = jnp.concatenate([tokens[:, :places] * present, present.astype(tokens.dtype)], axis=2)
    marked = jnp.pad(marked, ((0, 0), (0, places - marked.shape[1]), (0, 0)))
    units = jax.nn.gelu(marked.reshape(len(tokens), -1) @ w["embed"] + w["embed_bias"])
    return _top(w, units @ w["pooled"] + w["pooled_bias"])


def _top(w: Parameters, pooled: Array) -> tuple[Array, tuple[Array, ...]]:
    inner = jax.nn.gelu(pooled @ w["inner"] + w["inner_bias"])
    rows = inner @ w["outer"] + w["outer_bias"]
    return rows, (pooled, rows)


def _norm(rows: Array, gain: Array) -> Array:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(axis=-1, keepdims=True) + EPS) * gain


def _arrays(parameters: Parameters) -> dict[str, np.ndarray]:
    return {name: np.asarray(array) for name, array in parameters.items()}
