"""One layer of attention read at [CLS], written for training: its start, its outputs, its path norm.

`model_of` gives the same weights as a general `Model`, which is the oracle of this file and of `attend`.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from keyhole.arrays import Float, UInt8
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
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import Parameters, attend, cls_vector, norm_rows, tables
from keyhole.training.network.dropping import NO_DROPOUT, Dropout, dropped


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


def apply(
    settings: TransformerSettings,
    parameters: Parameters,
    sequences: UInt8[Array, "n T"],
    dropout: Dropout = NO_DROPOUT,
) -> Float[Array, "n"]:
    """The network's number for each sequence, with what is dropped from attention and the feed-forward part."""
    return _read_out(settings, parameters, attend(settings, parameters, sequences, dropout.weights).read, dropout)


def answer(
    settings: TransformerSettings, parameters: Parameters, sequences: UInt8[Array, "n T"]
) -> tuple[Float[Array, "n"], Float[Array, "n H"]]:
    """The network's number for each sequence, and ln Σ_t exp(score) of each head."""
    attended = attend(settings, parameters, sequences)
    return _read_out(settings, parameters, attended.read, NO_DROPOUT), attended.log_mass


def _read_out(settings: TransformerSettings, p: Parameters, attended: Float[Array, "n d"], dropout: Dropout) -> Array:
    """The rest of the layer at [CLS], from what its heads read, and the read-out."""
    row = rest_of_layer(settings, p, cls_vector(settings, p), attended, dropout)
    row = norm_rows(settings, p, "final_norm", row) if settings.final_norm else row
    return row @ p["readout"] + p["readout_bias"]


def rest_of_layer(settings: TransformerSettings, p: Parameters, stream: Array, attended: Array, drop: Dropout) -> Array:
    """The rows behind the layer, from the rows before it and from what its heads read there."""
    pre, post = settings.norm == "pre", settings.norm == "post"
    read = dropped(settings, attended @ p["output"] + p["output_bias"], drop.attention)
    stream = read + stream if settings.residual else read
    stream = norm_rows(settings, p, "attention_norm", stream) if post else stream
    if settings.hidden:
        entering = norm_rows(settings, p, "feedforward_norm", stream) if pre else stream
        active = jax.nn.relu if settings.activation == "relu" else gelu
        fed = active(entering @ p["inner"] + p["inner_bias"]) @ p["outer"] + p["outer_bias"]
        fed = dropped(settings, fed, drop.feedforward)
        stream = stream + fed if settings.residual else fed
        stream = norm_rows(settings, p, "feedforward_norm", stream) if post else stream
    return stream


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


def model_of(settings: TransformerSettings, weights: Mapping[str, Any], blocks: tuple[Block, ...] = ()) -> Model:
    """The same weights as a general model, in double precision; around these blocks, where some are given."""
    w = {name: np.asarray(array, dtype=np.float64) for name, array in weights.items()}
    embedding = AdditiveEmbedding(w["tokens"], LearnedPositions(w["positions"]), cls_vector(settings, w))
    readout = ReadOut(w["readout"], w["readout_bias"], layer_norm(settings, w, "final_norm"))
    return Model(embedding, blocks or (block_of(settings, w),), readout)


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
        attention_norm=layer_norm(settings, w, "attention_norm"),
        feedforward_norm=layer_norm(settings, w, "feedforward_norm"),
    )
    return Block(tuple(head(index) for index in range(settings.heads)), wiring)


def layer_norm(settings: TransformerSettings, w: Mapping[str, Any], name: str) -> LayerNorm | None:
    """The norm of this name, where there is one."""
    return LayerNorm(w[f"{name}_gain"], w[f"{name}_bias"], settings.norm_eps) if f"{name}_gain" in w else None


def gelu(x: Array) -> Array:
    """x·Φ(x), not its approximation by tanh."""
    return x * (1 + jax.scipy.special.erf(x / math.sqrt(2))) / 2
