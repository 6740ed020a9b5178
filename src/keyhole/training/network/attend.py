"""Attention of one layer read at [CLS], all heads at once: from tables over symbols and positions, in two forms.

A batch is never embedded. Per head h a score s[a, t, h] and a value v[a, t, h, :] belong to symbol a at position t, and
what the heads read is one matrix product of the one-hot batch, or of the bits of a batch, with tables of them.

Behind a norm of the rows the table has an entry for every pair of symbol and position (`_attend_pairs`). Without one a
row is the sum of a symbol's and a position's vector, so exp(score) is a product and the value a sum of both: then a
table over positions alone is enough (`_attend_places`). For bits it is half as large.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from keyhole.arrays import Float, UInt8
from keyhole.attention import safe_width
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.dropping import kept_weights

Parameters = dict[str, Array]
PADDING = 255  # stands where a sequence has no token; no symbol is as large
LEAD = 3.0  # nats: by how much less a symbol may score for its sum to give the other's; an error grows by e³


class Attended(NamedTuple):
    """The mixtures that the heads read at [CLS] of each sequence, side by side, and ln Σ_t exp(score) of each head."""

    read: Float[Array, "n d"]
    log_mass: Float[Array, "n H"]


def attend(
    settings: TransformerSettings, parameters: Parameters, sequences: UInt8[Array, "n T"], key: Array | None = None
) -> Attended:
    """Return the mixtures that the heads read; a key drops weights of attention at random."""
    if adds_rows(settings) and key is None:
        return _attend_places(settings, parameters, sequences)
    return _attend_pairs(settings, parameters, sequences, key)


def spread_of_safety(settings: TransformerSettings, context: int) -> float:
    """Return the range of the largest score within which single precision is safe; beyond it use a softmax."""
    safe: float = safe_width(np.finfo(np.float32), context)
    return safe / 2 if adds_rows(settings) else safe


def adds_rows(settings: TransformerSettings) -> bool:
    """Return whether attention reads plain sums of a symbol's and a position's vector."""
    return settings.norm != "pre"


def cls_vector(settings: TransformerSettings, parameters: Mapping[str, Any]) -> Any:
    """The vector of [CLS], with that of its position where it has one."""
    return parameters["cls"] + parameters["cls_position"] if settings.cls_position else parameters["cls"]


def folded_query(settings: TransformerSettings, parameters: Mapping[str, Any], cls: Any) -> Any:
    """The query of [CLS] folded into the keys: a vector for each head, whose product with a row is its score.

    A bias of the keys would shift all scores of a head alike, so there is none. Arrays of numpy are served too.
    """
    d, heads = settings.width, settings.heads
    query = (cls @ parameters["query"] + parameters["query_bias"]) / math.sqrt(d // heads)
    return (parameters["key"] * query).reshape(d, heads, -1).sum(-1)


def norm_rows(settings: TransformerSettings, parameters: Parameters, name: str, rows: Array) -> Array:
    """Every row through the LayerNorm of this name."""
    centred = rows - rows.mean(axis=-1, keepdims=True)
    scaled = centred * jax.lax.rsqrt((centred * centred).mean(axis=-1, keepdims=True) + settings.norm_eps)
    return scaled * parameters[f"{name}_gain"] + parameters[f"{name}_bias"]


def _attend_places(settings: TransformerSettings, p: Parameters, sequences: UInt8[Array, "n T"]) -> Attended:
    """Rows that are sums: with score s_a + s_t and value v_a + v_t, a table of e^{s_t}·v_t and e^{s_t} over positions.

    Statement  Let (V_a, W_a) = Σ_{t: b_t = a} e^{s_t − M}·(v_t, 1), M the largest s_t, and f_a = e^{s_a + M − shift}.
               Then the numerator is Σ_a f_a·(V_a + v_a·W_a), and the mass Σ_a f_a·W_a; [CLS] is one more term of both.
               Positions that hold PADDING show no symbol: they are in no sum, and M leaves them out.
    Range      e^{s_t − M} is lost where it underflows, and counts where symbols differ by as much: so scores may spread
               half as widely as in `_attend_pairs` (`spread_of_safety`). `shown_sums` says what subtracting costs.
    Layout     A column of the table belongs to a position: products with long rows are the faster ones.
    Source     Ours. The shift is that of `exponentials`: the middle of the range in which a largest score can lie.
    """
    d, heads, width = settings.width, settings.heads, settings.width // settings.heads
    cls = cls_vector(settings, p)
    both = jnp.concatenate([p["value"], folded_query(settings, p, cls)], axis=1)
    places, symbols, own = both.T @ p["positions"].T, p["tokens"] @ both, cls @ both
    fixed, fixed_symbols, fixed_own = (jax.lax.stop_gradient(part) for part in (places[d:], symbols[:, d:], own[d:]))
    there = sequences[0] != PADDING
    top = jnp.where(there, fixed, -jnp.inf).max(axis=1)
    high = jnp.maximum(top + fixed_symbols.max(axis=0), fixed_own)
    low = jnp.maximum(top + fixed_symbols.min(axis=0), fixed_own)
    shift = (high + low) / 2
    of_places = jnp.exp(jnp.where(there, places[d:] - top[:, None], -jnp.inf))
    of_symbols = jnp.exp(symbols[:, d:] + (top - shift))
    of_cls = jnp.exp(own[d:] - shift)
    spread = jnp.repeat(jnp.eye(heads, dtype=places.dtype), width, axis=1)  # H × d: a number of a head to its columns
    table = jnp.concatenate([weighted(of_places, places[:d]), of_places])
    sums = shown_sums(sequences, table, fixed_symbols)
    total, summed = of_cls, (of_cls @ spread) * (own[:d] + p["value_bias"])
    for part, value, factor in zip(sums, symbols[:, :d] + p["value_bias"], of_symbols, strict=True):
        total = total + factor * part[:, d:]
        summed = summed + (factor @ spread) * part[:, :d] + part[:, d:] @ (factor[:, None] * spread * value)
    return Attended(summed * ((1 / total) @ spread), jnp.log(total) + shift)


@jax.custom_vjp
def weighted(weights: Float[Array, "H T"], values: Float[Array, "d T"]) -> Float[Array, "d T"]:
    """The values of each head times its weights, position by position."""
    heads, context = weights.shape
    return (weights[:, None, :] * values.reshape(heads, -1, context)).reshape(values.shape)


def _weighted_backward(saved: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    weights, values = saved
    shape = (len(weights), -1, weights.shape[1])
    first, *others = jnp.unstack((gradient * values).reshape(shape), axis=1)
    # a sum that is spelt out goes along the positions; XLA's own over a short axis takes several times as long
    return sum(others, start=first), weighted(weights, gradient)


weighted.defvjp(lambda weights, values: (weighted(weights, values), (weights, values)), _weighted_backward)


@jax.custom_vjp
def shown_sums(
    sequences: UInt8[Array, "n T"], table: Float[Array, "C T"], scores: Float[Array, "A H"]
) -> Float[Array, "A n C"]:
    """For each symbol and sequence the sum of the table's columns at the positions that show the symbol.

    Of bits one product is enough: what one symbol has not, the other has. The table is 0 where sequences are padded,
    and all are padded alike; a row of nothing but padding, which fills up a block, gets sums that nobody reads.

    Statement  Let f_a = e^{s_a}, W_a ≥ 0 the true sums of weights, W = W_0 + W_1, and let W_1 be summed and W_0 taken
               as W − W_1, off by at most η·W (η: the error of a sum of T numbers, relative to the sum of their sizes).
               Then f_0·W_0 + f_1·W_1 is off by at most η·max(1, e^{s_0 − s_1}) of it. Of the values, whose signs vary,
               the same holds relative to the sum of their sizes.
    Proof      It is off by f_0·η·W, and is at least min(f_0, f_1)·W.
    Source     Ours. So the symbol is summed that leads most in its worst head, where it is at most `LEAD` behind; where
               each is further behind in some head, both are summed.
    """
    count = len(scores)
    if count != 2:
        return _sums_of_all(sequences, table, count)

    def of_one(symbol: Array) -> Array:
        summed = _hot(sequences, symbol, table) @ table.T
        rest = table.sum(axis=1) - summed
        return jnp.where(symbol == 1, jnp.stack([rest, summed]), jnp.stack([summed, rest]))

    enough, symbol = _symbol_to_sum(scores)
    sums: Array = jax.lax.cond(enough, of_one, lambda _: _sums_of_all(sequences, table, count), symbol)
    return sums


def _shown_sums_backward(saved: tuple[Array, Array], gradient: Array) -> tuple[None, Array, None]:
    sequences, scores = saved

    def of_all(_: Array) -> Array:
        turned: Array = gradient.reshape(-1, gradient.shape[-1]).T
        return turned @ _one_hot(sequences, len(scores), axis=0)

    def of_one(symbol: Array) -> Array:
        summed, rest = gradient[symbol], gradient[1 - symbol]
        return (summed - rest).T @ _hot(sequences, symbol, gradient) + rest.sum(axis=0)[:, None]

    if len(scores) != 2:
        return None, of_all(scores), None
    enough, symbol = _symbol_to_sum(scores)
    return None, jax.lax.cond(enough, of_one, of_all, symbol), None


shown_sums.defvjp(lambda some, table, scores: (shown_sums(some, table, scores), (some, scores)), _shown_sums_backward)


def _symbol_to_sum(scores: Float[Array, "2 H"]) -> tuple[Array, Array]:
    """Return whether it is enough to sum one of two symbols, and which."""
    lead = scores[1] - scores[0]
    least = jnp.stack([-lead.max(), lead.min()])  # by how much each scores more than the other, in its worst head
    return least.max() >= -LEAD, least.argmax()


def _sums_of_all(sequences: Array, table: Array, symbols: int) -> Array:
    return (_one_hot(sequences, symbols, axis=0) @ table.T).reshape(symbols, -1, len(table))


def _hot(sequences: Array, symbol: Array, like: Array) -> Array:
    return (sequences == symbol.astype(sequences.dtype)).astype(like.dtype)


def _attend_pairs(
    settings: TransformerSettings, parameters: Parameters, sequences: UInt8[Array, "n T"], key: Array | None
) -> Attended:
    """Any rows: a table over all pairs of symbol and position."""
    scores, values = tables(settings, parameters)
    mass, shift = exponentials(scores)
    heads, width = settings.heads, settings.width // settings.heads
    weighted = (mass[..., None] * values.reshape(*mass.shape, width)).reshape(values.shape)
    if key is not None:
        total = chosen_sum(sequences, mass[:, :-1, :]) + mass[0, -1, :]
        sums = _kept_sum(settings, sequences, weighted.reshape(*mass.shape, width), key)
    else:
        table = jnp.concatenate([weighted, mass], axis=-1)
        both = chosen_sum(sequences, table[:, :-1, :]) + table[0, -1, :]
        sums, total = both[:, : settings.width].reshape(-1, heads, width), both[:, settings.width :]
    return Attended((sums / total[:, :, None]).reshape(-1, settings.width), jnp.log(total) + shift)


def tables(
    settings: TransformerSettings, parameters: Parameters
) -> tuple[Float[Array, "A T H"], Float[Array, "A T d"]]:
    """Scores and values of every symbol at every position, [CLS] last."""
    rows = parameters["tokens"][:, None, :] + parameters["positions"][None, :, :]
    cls = cls_vector(settings, parameters)
    if settings.norm == "pre":
        rows, cls = (norm_rows(settings, parameters, "attention_norm", part) for part in (rows, cls))
    d, heads = settings.width, settings.heads
    both = jnp.concatenate([folded_query(settings, parameters, cls), parameters["value"]], axis=1)
    if settings.norm == "pre":
        images = jnp.concatenate([rows, jnp.broadcast_to(cls, (rows.shape[0], 1, d))], axis=1) @ both
    else:  # the image of a sum is the sum of images: T + A products instead of T·A
        places = jnp.concatenate([parameters["positions"], cls[None, :]]) @ both
        symbols = parameters["tokens"] @ both
        last = jnp.arange(places.shape[0])[None, :, None] == places.shape[0] - 1
        images = places[None, :, :] + jnp.where(last, 0.0, symbols[:, None, :])
    return images[..., :heads], images[..., heads:] + parameters["value_bias"]


def exponentials(scores: Float[Array, "A T1 H"]) -> tuple[Float[Array, "A T1 H"], Float[Array, "H"]]:
    """exp(s − shift) per head, and the shift.

    The shift is the middle of the range in which a sequence's largest score can lie, as in
    `keyhole.attention.evaluation`. It cancels, so no gradient flows.
    """
    fixed = jax.lax.stop_gradient(scores)
    shift = (fixed.max(axis=(0, 1)) + fixed.min(axis=0).max(axis=0)) / 2
    return jnp.exp(scores - shift), shift


@jax.custom_vjp
def chosen_sum(sequences: UInt8[Array, "n T"], table: Float[Array, "A T C"]) -> Float[Array, "n C"]:
    """Σ_t table[b_t, t, :] for each sequence: one product with the one-hot batch."""
    symbols, context, columns = table.shape
    return _one_hot(sequences, symbols, axis=1) @ table.reshape(symbols * context, columns)


def _chosen_sum_backward(saved: tuple[Array, int], gradient: Array) -> tuple[None, Array]:
    sequences, symbols = saved
    context, columns = sequences.shape[1], gradient.shape[1]
    # spelt out already transposed: a product that reads its left factor along rows is the faster one
    back = _one_hot(sequences.T, symbols, axis=0) @ gradient
    return None, back.reshape(symbols, context, columns)


chosen_sum.defvjp(lambda some, table: (chosen_sum(some, table), (some, table.shape[0])), _chosen_sum_backward)


def _one_hot(sequences: Array, symbols: int, axis: int) -> Array:
    return jnp.concatenate([(sequences == a).astype(jnp.float32) for a in range(symbols)], axis=axis)


def _kept_sum(
    settings: TransformerSettings, sequences: UInt8[Array, "n T"], table: Float[Array, "A T1 H w"], key: Array
) -> Float[Array, "n H w"]:
    """Σ_t k_th·table[b_t, t, h, :], [CLS] last, where k is 0 with the chance of dropout and else 1/(1 − that chance).

    Weights are dropped after they are normalised, each head, sequence and token apart: so no product with the one-hot
    batch serves all heads, and each symbol's part is a product of its own for every head. The sum is exact.
    """
    n, context = sequences.shape
    factors = kept_weights(settings, key, (settings.heads, n, context + 1)).astype(table.dtype)
    by_head = table.transpose(2, 0, 3, 1)  # H A w T1
    total = factors[:, :, -1:] * by_head[:, 0, None, :, -1]
    for symbol in range(table.shape[0]):
        at_symbol = factors[:, :, :-1] * (sequences == symbol)[None]
        total = total + jnp.einsum("hnt,hwt->hnw", at_symbol, by_head[:, symbol, :, :-1])
    return total.transpose(1, 0, 2)
