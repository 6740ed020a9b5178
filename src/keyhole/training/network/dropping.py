"""Dropout: what is left out at random in a step, of what layers add to the stream and of the weights of attention."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.extend.random import threefry_2x32

from keyhole.arrays import Bool, Float, UInt32
from keyhole.training.learners.settings import TransformerSettings

PARITY, ROTATIONS = 0x1BD11BDA, ((13, 15, 26, 6), (17, 29, 16, 24))  # of Threefry-2x32


class Dropout(NamedTuple):
    """The entries that one step drops, of a batch of n sequences."""

    attention: Bool[Array, "n d"] | None  # which entries of what attention adds are kept; None: all
    feedforward: Bool[Array, "n d"] | None
    weights: Array | None  # the key that decides which weights of attention are kept; None: all


NO_DROPOUT = Dropout(None, None, None)


def draw_dropout(settings: TransformerSettings, count: int, key: Array) -> Dropout:
    """Draw the dropout of one step: masks that do not depend on the context, and a key."""
    first, second = jax.random.split(key)
    shape, chance = (count, settings.width), 1 - settings.dropout
    fed = bool(settings.dropout and settings.hidden)
    return Dropout(
        quick_bernoulli(first, chance, shape) if settings.dropout else None,
        quick_bernoulli(second, chance, shape) if fed else None,
        jax.random.fold_in(key, 2) if settings.attention_dropout else None,
    )


def quick_bernoulli(key: Array, chance: float, shape: tuple[int, ...]) -> Bool[Array, "..."]:
    """Draw the bits of `jax.random.bernoulli`, in about a quarter of the time.

    jax compiles the rounds of the generator as a loop over whole arrays, which compiles sooner; spelt out they stay in
    registers. The upper 23 bits of a word are a number of [0, 1) in single precision, so whole numbers are compared.
    """
    left, right = _threefry(jax.random.key_data(key), jnp.arange(math.prod(shape), dtype=jnp.uint32))
    below = math.ceil(float(np.float32(chance)) * 2**23)
    return ((left ^ right) >> 9 < below).reshape(shape)


def _threefry(key: UInt32[Array, "2"], counters: UInt32[Array, "n"]) -> tuple[UInt32[Array, "n"], UInt32[Array, "n"]]:
    """Threefry-2x32 of twenty rounds (Salmon et al. 2011) of the counters, whose upper words are 0."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(PARITY))
    left, right = jnp.full_like(counters, keys[0]), counters + keys[1]
    for group in range(5):
        for turn in ROTATIONS[group % 2]:
            left = left + right
            right = (right << turn | right >> (32 - turn)) ^ left
        left, right = left + keys[(group + 1) % 3], right + keys[(group + 2) % 3] + jnp.uint32(group + 1)
    return left, right


def dropped(settings: TransformerSettings, rows: Array, kept: Array | None) -> Array:
    """The rows with only the kept entries, which grow by as much as is dropped."""
    return rows if kept is None else jnp.where(kept, rows / (1 - settings.dropout), 0.0)


def kept_weights(settings: TransformerSettings, key: Array, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Draw the factors of the weights of attention: 0 with the chance of dropout, else 1/(1 − that chance).

    There are many: sixteen random bits decide each, so that its chance is within 2⁻¹⁷ of the one asked for, and every
    bit of the generator is used. jax.random.bernoulli takes 32 of 64 bits for each, and three times as long.
    """
    chance = 1 - settings.attention_dropout
    first, *others = shape
    count = -(-first // 2) * math.prod(others)
    words = threefry_2x32(jax.random.key_data(key), jnp.arange(count, dtype=jnp.uint32)).reshape(-1, *others)
    halves = jnp.concatenate([words >> 16, words & 0xFFFF])[:first]
    return jnp.where(halves < round(chance * 2**16), 1 / chance, 0.0)
