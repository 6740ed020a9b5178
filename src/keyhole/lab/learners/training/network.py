"""One layer of attention read at [CLS], all heads at once, written for training.

It is the tabulated evaluation of `keyhole.attention` with the heads side by side in one array: per head h a score
s[a, t, h] and a value v[a, t, h, :] for every symbol a and position t, and a batch is one matrix product with its
one-hot rows. `model_of` gives the same weights as a general `Model`, which is the oracle of this file.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, UInt8

from keyhole.attention import (
    GELU,
    AdditiveEmbedding,
    Affine,
    Block,
    FactoredScore,
    FeedForward,
    Head,
    LayerNorm,
    LearnedPositions,
    Model,
    ReadOut,
    ReLU,
    Wiring,
)
from keyhole.lab.learners.settings import TransformerSettings

Parameters = dict[str, Array]


class Dropout(NamedTuple):
    """What is dropped in one step, of a batch of n sequences."""

    attention: Bool[Array, "n d"] | None  # which entries of what attention adds are kept; None: all
    feedforward: Bool[Array, "n d"] | None
    weights: Array | None  # the key that decides which weights of attention are kept; None: all


NO_DROPOUT = Dropout(None, None, None)


def initial(settings: TransformerSettings, symbols: int, context: int, key: Array) -> Parameters:
    """Parameters at the start: Gaussian vectors and matrices, zero biases, unit gains."""
    d, hidden = settings.width, settings.hidden
    shapes = {"tokens": (symbols, d), "positions": (context, d), "cls": (d,)}
    shapes |= {"cls_position": (d,)} if settings.cls_position else {}
    matrices = {"query": (d, d), "key": (d, d), "value": (d, d), "output": (d, d), "readout": (d,)}
    matrices |= {"inner": (d, hidden), "outer": (hidden, d)} if hidden else {}
    biases = {"query_bias": (d,), "value_bias": (d,), "output_bias": (d,), "readout_bias": ()}
    biases |= {"inner_bias": (hidden,), "outer_bias": (d,)} if hidden else {}
    scales = dict.fromkeys(shapes, settings.embedding_scale)
    for name, shape in matrices.items():
        scale = settings.weight_scale if settings.weight_scale is not None else 1 / math.sqrt(shape[0])
        scales[name] = scale * (settings.score_scale if name in {"query", "key"} else 1.0)
    drawn = _gaussian({**shapes, **matrices}, scales, key)
    drawn |= {name: jnp.zeros(shape) for name, shape in biases.items()}
    if settings.norm != "none":
        for name in ("attention_norm", "feedforward_norm") if hidden else ("attention_norm",):
            drawn |= {f"{name}_gain": jnp.ones(d), f"{name}_bias": jnp.zeros(d)}
    if settings.final_norm:
        drawn |= {"final_norm_gain": jnp.ones(d), "final_norm_bias": jnp.zeros(d)}
    return drawn


def _gaussian(shapes: Mapping[str, tuple[int, ...]], scales: Mapping[str, float], key: Array) -> Parameters:
    """Gaussian arrays, each from a key of its own; those of one scale are drawn at once, which compiles in less time.

    The longest decides how many numbers are drawn for all; of a threefry generator each depends on its place alone. The
    positions, far longer than the rest, are drawn by themselves.
    """
    keys = dict(zip(shapes, jax.random.split(key, len(shapes)), strict=True))
    groups: dict[tuple[float, bool], list[str]] = {}
    for name in shapes:
        groups.setdefault((scales[name], name == "positions"), []).append(name)
    drawn: Parameters = {}
    for (scale, _), names in groups.items():
        most = max(math.prod(shapes[name]) for name in names)
        rows = scale * jax.vmap(partial(jax.random.normal, shape=(most,)))(jnp.stack([keys[name] for name in names]))
        drawn |= {
            name: row[: math.prod(shapes[name])].reshape(shapes[name]) for name, row in zip(names, rows, strict=True)
        }
    return {name: drawn[name] for name in shapes}


def cls_vector(settings: TransformerSettings, parameters: Mapping[str, Any]) -> Any:
    """The vector of [CLS], with that of its position where it has one."""
    return parameters["cls"] + parameters["cls_position"] if settings.cls_position else parameters["cls"]


def tables(
    settings: TransformerSettings, parameters: Parameters
) -> tuple[Float[Array, "A T H"], Float[Array, "A T d"]]:
    """Scores and values of every symbol at every position, [CLS] last."""
    rows = parameters["tokens"][:, None, :] + parameters["positions"][None, :, :]
    cls = cls_vector(settings, parameters)
    if settings.norm == "pre":
        rows, cls = (norm_rows(settings, parameters, "attention_norm", part) for part in (rows, cls))
    d, heads = settings.width, settings.heads
    asked = (cls @ parameters["query"] + parameters["query_bias"]) / math.sqrt(d // heads)
    # the query folded into the keys: one vector per head; a key bias would shift all scores of a head alike
    folded = (parameters["key"] * asked).reshape(d, heads, -1).sum(-1)
    both = jnp.concatenate([folded, parameters["value"]], axis=1)
    if settings.norm == "pre":
        seen = jnp.concatenate([rows, jnp.broadcast_to(cls, (rows.shape[0], 1, d))], axis=1) @ both
    else:  # the image of a sum is the sum of images: T + A products instead of T·A
        places = jnp.concatenate([parameters["positions"], cls[None, :]]) @ both
        symbols = parameters["tokens"] @ both
        last = jnp.arange(places.shape[0])[None, :, None] == places.shape[0] - 1
        seen = places[None, :, :] + jnp.where(last, 0.0, symbols[:, None, :])
    return seen[..., :heads], seen[..., heads:] + parameters["value_bias"]


def exponentials(scores: Float[Array, "A T1 H"]) -> tuple[Float[Array, "A T1 H"], Float[Array, ""]]:
    """exp(s − shift) per head, and the widest range in which a sequence's largest score can lie.

    The shift is the middle of that range, as in `keyhole.attention.evaluation`. It cancels, so no gradient flows.
    """
    fixed = jax.lax.stop_gradient(scores)
    high = fixed.max(axis=(0, 1))
    low = fixed.min(axis=0).max(axis=0)
    return jnp.exp(scores - (high + low) / 2), (high - low).max()


@jax.custom_vjp
def chosen_sum(sequences: UInt8[Array, "n T"], table: Float[Array, "A T C"]) -> Float[Array, "n C"]:
    """Σ_t table[b_t, t, :] for each sequence: one product with the one-hot batch."""
    symbols, context, columns = table.shape
    return _one_hot(sequences, symbols, axis=1) @ table.reshape(symbols * context, columns)


def _chosen_sum_forward(sequences: Array, table: Array) -> tuple[Array, tuple[Array, int]]:
    return chosen_sum(sequences, table), (sequences, table.shape[0])


def _chosen_sum_backward(kept: tuple[Array, int], gradient: Array) -> tuple[None, Array]:
    sequences, symbols = kept
    context, columns = sequences.shape[1], gradient.shape[1]
    # spelt out already transposed: a product that reads its left factor along rows is the faster one
    back = _one_hot(sequences.T, symbols, axis=0) @ gradient
    return None, back.reshape(symbols, context, columns)


chosen_sum.defvjp(_chosen_sum_forward, _chosen_sum_backward)


def _one_hot(sequences: Array, symbols: int, axis: int) -> Array:
    return jnp.concatenate([(sequences == a).astype(jnp.float32) for a in range(symbols)], axis=axis)


def attend(
    settings: TransformerSettings, parameters: Parameters, sequences: UInt8[Array, "n T"], key: Array | None = None
) -> Float[Array, "n d"]:
    """What the heads read at [CLS], side by side; with a key, weights of attention are dropped at random."""
    scores, values = tables(settings, parameters)
    mass, _ = exponentials(scores)
    heads, width = settings.heads, settings.width // settings.heads
    weighted = (mass[..., None] * values.reshape(*mass.shape, width)).reshape(values.shape)
    if key is not None:
        total = chosen_sum(sequences, mass[:, :-1, :]) + mass[0, -1, :]
        sums = _kept_sum(settings, sequences, weighted.reshape(*mass.shape, width), key)
        return (sums / total[:, :, None]).reshape(-1, settings.width)
    table = jnp.concatenate([weighted, mass], axis=-1)
    total = chosen_sum(sequences, table[:, :-1, :]) + table[0, -1, :]
    sums = total[:, : settings.width].reshape(-1, heads, width)
    return (sums / total[:, settings.width :, None]).reshape(-1, settings.width)


def _kept_sum(
    settings: TransformerSettings, sequences: UInt8[Array, "n T"], table: Float[Array, "A T1 H w"], key: Array
) -> Float[Array, "n H w"]:
    """Σ_t k_th·table[b_t, t, h, :], [CLS] last, where k is 0 with the chance of dropout and else 1/(1 − that chance).

    Weights are dropped after they are normalised, each head, sequence and token apart: so no product with the one-hot
    batch serves all heads, and each symbol's part is a product of its own for every head. The sum is exact.
    """
    n, context = sequences.shape
    chance = 1 - settings.attention_dropout
    kept = jax.random.bernoulli(key, chance, (settings.heads, n, context + 1)).astype(table.dtype) / chance
    by_head = table.transpose(2, 0, 1, 3)  # H A T1 w
    total = kept[:, :, -1:] * by_head[:, 0, -1:, :]
    for symbol in range(table.shape[0]):
        shown = kept[:, :, :-1] * (sequences == symbol)[None]
        total = total + shown @ by_head[:, symbol, :-1, :]
    return total.transpose(1, 0, 2)


def draw_dropout(settings: TransformerSettings, count: int, key: Array) -> Dropout:
    """What is dropped in one step of so many sequences: masks that do not depend on the context, and a key."""
    first, second = jax.random.split(key)
    shape, chance = (count, settings.width), 1 - settings.dropout
    fed = bool(settings.dropout and settings.hidden)
    return Dropout(
        jax.random.bernoulli(first, chance, shape) if settings.dropout else None,
        jax.random.bernoulli(second, chance, shape) if fed else None,
        jax.random.fold_in(key, 2) if settings.attention_dropout else None,
    )


def apply(
    settings: TransformerSettings,
    parameters: Parameters,
    sequences: UInt8[Array, "n T"],
    dropout: Dropout = NO_DROPOUT,
) -> Float[Array, "n"]:
    """The network's number for each sequence, with what is dropped from attention and the feed-forward part."""
    p, pre, post = parameters, settings.norm == "pre", settings.norm == "post"
    read = attend(settings, p, sequences, dropout.weights) @ p["output"] + p["output_bias"]
    stream = dropped(settings, read, dropout.attention)
    stream = stream + cls_vector(settings, p) if settings.residual else stream
    stream = norm_rows(settings, p, "attention_norm", stream) if post else stream
    if settings.hidden:
        entering = norm_rows(settings, p, "feedforward_norm", stream) if pre else stream
        active = jax.nn.relu if settings.activation == "relu" else gelu
        fed = active(entering @ p["inner"] + p["inner_bias"]) @ p["outer"] + p["outer_bias"]
        fed = dropped(settings, fed, dropout.feedforward)
        stream = stream + fed if settings.residual else fed
        stream = norm_rows(settings, p, "feedforward_norm", stream) if post else stream
    stream = norm_rows(settings, p, "final_norm", stream) if settings.final_norm else stream
    return stream @ p["readout"] + p["readout_bias"]


def path_norm(settings: TransformerSettings, parameters: Parameters) -> Float[Array, ""]:
    """P_∞, the path norm of the layer: what `keyhole.attention.profile` measures, as a function to be descended.

    Statement  P_∞ = Σ_j |w_j| V_j for ReLU, ‖w‖₁ max_j V_j for GELU, V_j = |c_j| + Σ_h max_{t,a} |v_hj[t, a]|; what
               goes past the units is one more unit without activation.
    Assumes    No norm behind attention.
    Source     Ours: Theorem T.
    """
    p, heads = parameters, settings.heads
    values = tables(settings, p)[1]
    values = values.reshape(*values.shape[:2], heads, -1)
    output, constant = p["output"].reshape(heads, -1, settings.width), p["output_bias"]
    constant = constant + cls_vector(settings, p) if settings.residual else constant

    def largest(columns: Array) -> Array:  # d × n columns behind the output map, over all pairs and [CLS]
        reached: Array = jnp.abs(jnp.einsum("athw,hwd,dn->athn", values, output, columns)).max(axis=(0, 1))
        return reached.sum(axis=0)

    shift, total, passed = p["readout_bias"], jnp.float32(0.0), settings.residual or not settings.hidden
    if passed:
        shift = shift + constant @ p["readout"]
        total = largest(p["readout"][:, None])[0]
    if settings.hidden:
        reach = jnp.abs(constant @ p["inner"] + p["inner_bias"]) + largest(p["inner"])
        weights = jnp.abs(p["outer"] @ p["readout"])
        total += weights @ reach if settings.activation == "relu" else weights.sum() * reach.max()
        shift = shift + p["outer_bias"] @ p["readout"]
    norm: Array = total + jnp.abs(shift)
    return norm


def attention_mass(
    settings: TransformerSettings, parameters: Parameters, sequences: UInt8[Array, "n T"], positions: Array
) -> Float[Array, "n H"]:
    """The share of each head's attention that lies on the given positions."""
    mass, _ = exponentials(tables(settings, parameters)[0])
    total = chosen_sum(sequences, mass[:, :-1, :]) + mass[0, -1, :]
    return chosen_sum(sequences[:, positions], mass[:, positions, :]) / total


def model_of(settings: TransformerSettings, weights: Mapping[str, Any], dtype: Any = np.float64) -> Model:
    """The same weights as a general model, in double precision unless asked otherwise."""
    w = {name: np.asarray(array, dtype=dtype) for name, array in weights.items()}
    return model_of_blocks(settings, w, (block_of(settings, w),))


def model_of_blocks(settings: TransformerSettings, w: Mapping[str, Any], blocks: tuple[Block, ...]) -> Model:
    """The embedding and the read-out of these weights around blocks."""
    embedding = AdditiveEmbedding(w["tokens"], LearnedPositions(w["positions"]), cls_vector(settings, w))
    return Model(embedding, blocks, ReadOut(w["readout"], w["readout_bias"], _layer_norm(settings, w, "final_norm")))


def block_of(settings: TransformerSettings, w: Mapping[str, Any]) -> Block:
    """One layer as a general block."""
    width = settings.width // settings.heads

    def head(index: int) -> Head:
        part = slice(index * width, (index + 1) * width)
        score = FactoredScore(w["query"][:, part], w["key"][:, part], w["query_bias"][part])
        return Head(score, Affine(w["value"][:, part], w["value_bias"][part]))

    feedforward = None
    if settings.hidden:
        inner, outer = Affine(w["inner"], w["inner_bias"]), Affine(w["outer"], w["outer_bias"])
        feedforward = FeedForward(inner, ReLU() if settings.activation == "relu" else GELU(), outer)
    wiring = Wiring(
        join="concatenate",
        output=Affine(w["output"], w["output_bias"]),
        feedforward=feedforward,
        residual="each" if settings.residual else "none",
        placement="post" if settings.norm == "none" else settings.norm,
        attention_norm=_layer_norm(settings, w, "attention_norm"),
        feedforward_norm=_layer_norm(settings, w, "feedforward_norm"),
    )
    return Block(tuple(head(index) for index in range(settings.heads)), wiring)


def _layer_norm(settings: TransformerSettings, w: Mapping[str, Any], name: str) -> LayerNorm | None:
    """The norm of this name, where there is one."""
    return LayerNorm(w[f"{name}_gain"], w[f"{name}_bias"], settings.norm_eps) if f"{name}_gain" in w else None


def norm_rows(settings: TransformerSettings, parameters: Parameters, name: str, rows: Array) -> Array:
    """Every row through the LayerNorm of this name."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    scaled = centred * jax.lax.rsqrt((centred * centred).mean(axis=-1, keepdims=True) + settings.norm_eps)
    return scaled * parameters[f"{name}_gain"] + parameters[f"{name}_bias"]


def gelu(x: Array) -> Array:
    """x·Φ(x), not its approximation by tanh."""
    return x * (1 + jax.scipy.special.erf(x / math.sqrt(2))) / 2


def dropped(settings: TransformerSettings, rows: Array, kept: Array | None) -> Array:
    """The rows with only the kept entries, which grow by as much as is dropped."""
    return rows if kept is None else jnp.where(kept, rows / (1 - settings.dropout), 0.0)
