"""Which weights of attention are dropped: sixteen bits of a threefry generator decide each."""

from functools import partial

import jax
import numpy as np
import pytest

from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.dropping import kept_weights, quick_bernoulli

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key, left, right):
    """Threefry-2x32 of twenty rounds (Salmon et al. 2011), with whole numbers of Python."""
    keys, top = (*key, key[0] ^ key[1] ^ 0x1BD11BDA), 2**32
    left, right = (left + keys[0]) % top, (right + keys[1]) % top
    for group in range(5):
        for turn in ROTATIONS[group % 2]:
            left = (left + right) % top
            right = ((right << turn) % top | right >> (32 - turn)) ^ left
        left, right = (left + keys[(group + 1) % 3]) % top, (right + keys[(group + 2) % 3] + group + 1) % top
    return left, right


@pytest.mark.parametrize("shape", [(4, 3, 5), (3, 2, 7), (1, 1, 1), (2, 1, 4)])
@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.9])
def test_every_weight_is_decided_by_sixteen_bits_of_its_own(shape, dropout):
    """The first heads take the upper halves of the generator's words, the other heads the lower ones, in order."""
    heads, rest = shape[0], shape[1] * shape[2]
    key = jax.random.key(11)
    count = -(-heads // 2) * rest
    half = -(-count // 2)
    counters = [*range(count), *[0] * (2 * half - count)]
    pairs = [
        threefry([int(word) for word in jax.random.key_data(key)], counters[i], counters[half + i]) for i in range(half)
    ]
    words = [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
    bits = [word >> 16 for word in words[:count]] + [word % 2**16 for word in words[:count]]
    expected = [1 / (1 - dropout) if value < round((1 - dropout) * 2**16) else 0 for value in bits[: heads * rest]]
    kept = kept_weights(TransformerSettings(attention_dropout=dropout), key, shape)
    assert np.asarray(kept) == pytest.approx(np.array(expected).reshape(shape), rel=1e-6)


@pytest.mark.parametrize("chance", [0.9, 0.5, 0.3, 0.75, 1e-9, 1 - 1e-9, 0.123456789, 2**-23, 1 - 2**-24])
@pytest.mark.parametrize("shape", [(64, 64), (7,), (3, 1, 5)])
def test_quick_draws_are_those_of_jax(chance, shape):
    """The same bits as `jax.random.bernoulli` of the same key, at every chance, and under `vmap`."""
    keys = jax.random.split(jax.random.key(17), 20)
    quick = jax.jit(jax.vmap(partial(quick_bernoulli, chance=chance, shape=shape)))(keys)
    plain = jax.vmap(partial(jax.random.bernoulli, p=chance, shape=shape))(keys)
    assert np.array_equal(quick, plain)
    assert quick.shape == (20, *shape)


@pytest.mark.parametrize("dropout", [0.02, 0.1, 0.37, 0.8])
def test_weights_are_dropped_as_often_as_asked_and_apart(dropout):
    """Of a hundred thousand weights the share dropped, and the pairs of heads that drop together, are as of chance."""
    heads, n = 4, 25_000
    settings = TransformerSettings(attention_dropout=dropout)
    kept = np.asarray(kept_weights(settings, jax.random.key(3), (heads, 1, n))).reshape(heads, n)
    gone = kept == 0
    assert kept[~gone] == pytest.approx(1 / (1 - dropout), rel=1e-6)
    assert abs(gone.mean() - dropout) < 5 * (dropout * (1 - dropout) / gone.size) ** 0.5
    together = dropout**2
    for one in range(heads):
        for other in range(one):
            share = (gone[one] & gone[other]).mean()
            assert abs(share - together) < 5 * (together * (1 - together) / n) ** 0.5
    others = np.asarray(kept_weights(settings, jax.random.key(4), (heads, 1, n))) == 0
    assert abs((gone & others.reshape(heads, n)).mean() - together) < 5 * (together / gone.size) ** 0.5
