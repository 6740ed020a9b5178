"""The stacked network is the general model, in value and in slope."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from keyhole.attention import evaluate, forward, profile, tabulate
from keyhole.lab.learners.settings import TransformerSettings
from keyhole.lab.learners.training.network import (
    apply,
    attend,
    attention_mass,
    chosen_sum,
    exponentials,
    initial,
    model_of,
    path_norm,
    tables,
)

pytestmark = pytest.mark.slow

CONTEXT, SYMBOLS, COUNT = 9, 3, 12
# double precision, sums of fewer than 1000 terms of size at most 10: 1000·10·2⁻⁵² < 1e-11
CLOSE = 1e-11
SETTINGS = [
    TransformerSettings(heads=1, width=8, hidden=0, norm="none", residual=False),
    TransformerSettings(heads=4, width=8, hidden=16, norm="none"),
    TransformerSettings(heads=4, width=8, hidden=16, norm="pre"),
    TransformerSettings(heads=2, width=8, hidden=16, norm="post", activation="relu"),
    TransformerSettings(heads=2, width=8, hidden=0, norm="post", norm_eps=0.1),
    TransformerSettings(heads=1, width=8, hidden=16, norm="pre", residual=False),
    TransformerSettings(heads=4, width=8, hidden=12, norm="pre", final_norm=True, cls_position=True),
    TransformerSettings(heads=1, width=8, hidden=0, norm="none", residual=False, final_norm=True),
]


def drawn(settings, seed=0):
    """Parameters away from their special starting values, biases and gains too, in double precision."""
    start = initial(settings, SYMBOLS, CONTEXT, jax.random.key(seed))
    rng = np.random.default_rng(seed)
    return {name: jnp.asarray(np.asarray(array) + 0.3 * rng.normal(size=array.shape)) for name, array in start.items()}


def sequences(seed=0):
    """Random inputs."""
    return np.random.default_rng(seed).integers(0, SYMBOLS, (COUNT, CONTEXT)).astype(np.uint8)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s.norm}-{s.heads}-{s.hidden}")
def test_network_is_the_general_model(settings):
    """The trained network equals `forward` of the model it is written out as, and that model's tables."""
    with jax.enable_x64(new_val=True):
        parameters, inputs = drawn(settings), sequences()
        ours = np.asarray(jax.jit(partial(apply, settings))(parameters, jnp.asarray(inputs)))
    model = model_of(settings, parameters)
    assert np.abs(ours - forward(model, inputs)).max() < CLOSE
    assert np.abs(ours - evaluate(tabulate(model), inputs)).max() < CLOSE


PATHS = [
    *(settings for settings in SETTINGS if settings.has_path_norm),
    TransformerSettings(heads=2, width=8, hidden=6, norm="none", activation="relu", residual=False),
    TransformerSettings(heads=2, width=8, hidden=6, norm="none", activation="relu", cls_position=True),
    TransformerSettings(heads=2, width=8, hidden=0, norm="pre"),
]


@pytest.mark.parametrize("settings", PATHS, ids=lambda s: f"{s.norm}-{s.heads}-{s.hidden}-{s.activation}")
def test_path_norm_is_the_one_that_bounds_read(settings):
    """What training penalises is the P_∞ that `profile` measures of the same weights, for every wiring that has one."""
    with jax.enable_x64(new_val=True):
        parameters = drawn(settings)
        ours = float(path_norm(settings, parameters))
    measured = profile(model_of(settings, parameters), trained=True).path_inf
    assert measured is not None
    assert abs(ours - measured) < CLOSE * measured


def test_gradient_of_the_product_is_the_plain_one():
    """The hand-written backward pass of the one-hot product equals the derivative of the plain sum."""
    with jax.enable_x64(new_val=True):
        rng = np.random.default_rng(1)
        inputs, table = jnp.asarray(sequences(1)), jnp.asarray(rng.normal(size=(SYMBOLS, CONTEXT, 5)))
        weight = jnp.asarray(rng.normal(size=(COUNT, 5)))

        @jax.jit
        def plain(table):
            return (weight * sum(table[inputs[:, t], t, :] for t in range(CONTEXT))).sum()

        ours = jax.grad(lambda table: (weight * chosen_sum(inputs, table)).sum())(table)
        assert np.abs(ours - jax.grad(plain)(table)).max() < 1e-12


@pytest.mark.parametrize("settings", [SETTINGS[2], SETTINGS[3]], ids=lambda s: f"{s.norm}-{s.heads}-{s.hidden}")
def test_gradient_agrees_with_differences(settings):
    """The slope of the loss along a random direction is the limit of its difference quotient."""
    with jax.enable_x64(new_val=True):
        parameters, inputs = drawn(settings, 2), jnp.asarray(sequences(2))
        direction = drawn(settings, 3)

        @jax.jit
        def along(step):
            moved = {name: array + step * direction[name] for name, array in parameters.items()}
            return apply(settings, moved, inputs).sum()

        step = 1e-5  # the error of a central difference is of order step² = 1e-10 times a third derivative
        quotient = (along(step) - along(-step)) / (2 * step)
        assert abs(jax.grad(along)(0.0) - quotient) < 1e-6 * max(1.0, abs(float(quotient)))


def test_dropped_weights_of_attention_are_those_of_plain_attention():
    """With a key, attention is Σ_t k·w_t·v_t by loops over sequences and heads: k is 0 or 1/(1 − p), apart for each."""
    settings = TransformerSettings(heads=4, width=8, hidden=0, norm="pre", attention_dropout=0.4, cls_position=True)
    with jax.enable_x64(new_val=True):
        parameters, inputs, key = drawn(settings), sequences(), jax.random.key(5)
        ours = np.asarray(attend(settings, parameters, jnp.asarray(inputs), key))
        scores, values = (np.asarray(one) for one in tables(settings, parameters))
        kept = np.asarray(jax.random.bernoulli(key, 0.6, (4, COUNT, CONTEXT + 1)))
    for n, row in enumerate(inputs):
        symbols = [*row, 0]
        for h in range(4):
            mass = np.exp([scores[a, t, h] for t, a in enumerate(symbols)])
            weights = mass / mass.sum() * kept[h, n] / 0.6
            mixed = sum(
                w * values[a, t, 2 * h : 2 * h + 2] for t, (a, w) in enumerate(zip(symbols, weights, strict=True))
            )
            assert np.abs(ours[n, 2 * h : 2 * h + 2] - mixed).max() < CLOSE
    assert 0.5 < kept.mean() < 0.7


def test_attention_mass_is_what_the_weights_put_there():
    """The share of attention on given positions, by brute force from the score tables."""
    settings = TransformerSettings(heads=2, width=8, hidden=0)
    with jax.enable_x64(new_val=True):
        parameters, inputs = drawn(settings, 4), sequences(4)
        chosen = jnp.asarray([1, 5])
        ours = np.asarray(attention_mass(settings, parameters, jnp.asarray(inputs), chosen))
        scores = np.asarray(tables(settings, parameters)[0])
    for row, sequence in enumerate(inputs):
        own = np.array([scores[symbol, place] for place, symbol in enumerate(sequence)] + [scores[0, -1]])
        weights = np.exp(own) / np.exp(own).sum(axis=0)
        assert np.abs(ours[row] - weights[[1, 5]].sum(axis=0)).max() < 1e-12


def test_the_shift_cancels_and_stays_in_range():
    """Scores shifted by a constant give the same exponentials, and the range is that of `score_range`."""
    with jax.enable_x64(new_val=True):
        scores = jnp.asarray(np.random.default_rng(5).normal(size=(SYMBOLS, CONTEXT + 1, 2)))
        mass, width = exponentials(scores)
        moved, same = exponentials(scores + 7.0)
        assert np.abs(mass - moved).max() < 1e-13
        low = scores.min(axis=0).max(axis=0)
        assert abs(float(width) - float((scores.max(axis=(0, 1)) - low).max())) < 1e-15
        assert abs(float(width - same)) < 1e-13
