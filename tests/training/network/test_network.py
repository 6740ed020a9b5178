"""The stacked network is the general model, in value and in slope."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyhole.attention import evaluate, forward, profile, tabulate
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.network.attend import (
    PADDING,
    attend,
    chosen_sum,
    exponentials,
    shown_sums,
    spread_of_safety,
    tables,
)
from keyhole.training.network.dropping import kept_weights
from keyhole.training.network.loop import predictor_of, read_mass, read_scores, scores_of
from keyhole.training.network.network import answer, apply, initial, model_of, path_norm
from keyhole.training.task import Observation

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
    start = jax.eval_shape(partial(initial, settings, SYMBOLS, CONTEXT), jax.random.key(seed))
    rng = np.random.default_rng(seed)
    return {
        name: jnp.asarray(
            name.endswith("gain") + (0.3 if name.endswith(("gain", "bias")) else 0.5) * rng.normal(size=array.shape)
        )
        for name, array in start.items()
    }


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


@pytest.mark.parametrize("leads", [(0.0, 0.0), (2.0, -2.0), (9.0, -1.0), (-9.0, 1.0), (9.0, -9.0)])
@pytest.mark.parametrize("symbols", [2, SYMBOLS])
def test_gradient_of_the_sums_by_symbol_is_the_plain_one(symbols, leads):
    """Sums over the positions that show a symbol, and their hand-written backward pass, by plain loops.

    Of two symbols one is summed, the other, or both, by how much more the second scores in each head.
    """
    with jax.enable_x64(new_val=True):
        rng = np.random.default_rng(1)
        inputs, table = jnp.asarray(sequences(1) % symbols), jnp.asarray(rng.normal(size=(5, CONTEXT)))
        scores = jnp.outer(jnp.arange(symbols), jnp.asarray(leads))
        weight = jnp.asarray(rng.normal(size=(symbols, COUNT, 5)))
        slow = np.zeros(weight.shape)
        for n, row in enumerate(np.asarray(inputs)):
            for t, symbol in enumerate(row):
                slow[symbol, n] += np.asarray(table)[:, t]
        assert np.abs(np.asarray(shown_sums(inputs, table, scores)) - slow).max() < 1e-12

        @jax.jit
        def plain(table):
            shown = inputs[None] == jnp.arange(symbols)[:, None, None]
            return (weight * jnp.einsum("ant,ct->anc", shown, table)).sum()

        ours = jax.grad(lambda table: (weight * shown_sums(inputs, table, scores)).sum())(table)
        assert np.abs(ours - jax.grad(plain)(table)).max() < 1e-12


@given(
    st.sampled_from((2, 12)).flatmap(lambda n: st.lists(st.floats(-40, 0), min_size=n, max_size=n)),
    st.sampled_from((1, 3)).flatmap(lambda n: st.lists(st.floats(-40, 40), min_size=n, max_size=n)),
    st.integers(0, 2**32),
)
@example([0.0, -12.0], [-12.0], 1)  # the symbol that scores less is summed: the other would be lost behind it
@example([0.0, -12.0], [12.0, -12.0], 1)
def test_weighted_sums_of_bits_are_right_in_single_precision(places, leads, seed):
    """Σ_a f_a·W_a is right to some roundings times 1 + e³, however far scores of positions and symbols lie apart.

    Mass of one symbol may lie 40 nats below that of the other: then W − W_a has no digit of it.
    """
    rng = np.random.default_rng(seed)
    inputs = rng.integers(0, 2, (16, len(places)), dtype=np.uint8)
    table = np.exp(np.array(places, dtype=np.float32))[None].repeat(len(leads), axis=0)
    scores = np.stack([np.zeros(len(leads)), np.array(leads)])
    sums = np.asarray(shown_sums(jnp.asarray(inputs), jnp.asarray(table), jnp.asarray(scores)), dtype=np.float64)
    factors = np.exp(scores)[:, None, :]
    shown = inputs[None] == np.arange(2)[:, None, None]
    true = (factors * (shown.astype(np.float64) @ table.T.astype(np.float64))).sum(axis=0)
    ours = (factors * sums).sum(axis=0)
    assert (np.abs(ours - true) <= 2 * len(places) * 2**-24 * (1 + math.exp(3)) * true).all()


@pytest.mark.parametrize(
    ("lead", "error"), [(-9.0, 1), (-2.9, 1), (0.0, 1), (2.9, 1), (9.0, 1), (-2.9j, 30), (-3.5j, 1), (-9j, 1)]
)
def test_the_symbol_that_is_summed_is_the_better_one(lead, error):
    """Masses of 12,800 positions, one far above the rest, are off by a sum's error: times e³ if heads differ by 3.

    An imaginary lead is that of one head, and its opposite that of the other: by more than 3 both symbols are summed.
    """
    leads = np.array([lead.imag, -lead.imag] if isinstance(lead, complex) else [lead, lead])
    inputs = np.random.default_rng(3).integers(0, 2, (8, 12_800), dtype=np.uint8)
    table = np.full((2, 12_800), 1e-5, dtype=np.float32)
    table[:, 0] = 1.0
    scores = np.stack([np.zeros(2), leads])
    sums = np.asarray(jax.jit(shown_sums)(inputs, table, jnp.asarray(scores, dtype=jnp.float32)), dtype=np.float64)
    shown = (inputs[None] == np.arange(2)[:, None, None]).astype(np.float64)
    factors = np.exp(scores)[:, None, :]
    ours, true = ((factors * part).sum(axis=0) for part in (sums, shown @ table.T.astype(np.float64)))
    # a sum in one accumulator of 12,800 numbers is off by up to 12,800 roundings; sums in blocks by far fewer
    assert np.abs(ours / true - 1).max() < error * 3e-5


@pytest.mark.parametrize("lead", [-20.0, 20.0])
def test_gradient_of_sums_is_right_in_single_precision(lead):
    """Where a position shows the symbol that hardly scores in every sequence, its slope is that small, and not lost."""
    inputs = np.array([[0, 1, 0], [0, 1, 1], [0, 1, 0]], dtype=np.uint8)
    scores = jnp.asarray([[0.0], [lead]])
    weight = jnp.exp(scores - scores.max())[:, None, :] * jnp.asarray([[1.0], [2.0], [-2.5]])
    slope = jax.grad(lambda table: (weight * shown_sums(jnp.asarray(inputs), table, scores)).sum())(jnp.ones((1, 3)))
    shown = (inputs[None] == np.arange(2)[:, None, None]).astype(np.float64)
    true = np.einsum("anc,ant->ct", np.asarray(weight, dtype=np.float64), shown)
    assert np.abs(np.asarray(slope) / true - 1).max() < 1e-5


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
        ours = np.asarray(attend(settings, parameters, jnp.asarray(inputs), key).read)
        scores, values = (np.asarray(one) for one in tables(settings, parameters))
        kept = np.asarray(kept_weights(settings, key, (4, COUNT, CONTEXT + 1))) > 0
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


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s.norm}-{s.heads}-{s.hidden}")
def test_readings_of_attention_are_those_of_the_general_model(settings):
    """Scores, their range and the share of attention on some positions, by softmax over the general model's tables."""
    chosen = np.array([1, 5], dtype=np.int32)
    with jax.enable_x64(new_val=True):
        parameters, inputs = drawn(settings, 4), sequences(4)
        outputs, log_mass = (np.asarray(part) for part in answer(settings, parameters, jnp.asarray(inputs)))
        plain = np.asarray(apply(settings, parameters, jnp.asarray(inputs)))
    assert (outputs == plain).all()
    scores = scores_of(settings, {name: np.asarray(array) for name, array in parameters.items()})
    heads = tabulate(model_of(settings, parameters)).heads
    shares = np.empty((COUNT, len(chosen), settings.heads))
    for h, head in enumerate(heads):
        theirs = np.concatenate([head.scores, np.full((1, SYMBOLS), head.cls_score)])  # T1 × A
        moved = theirs.T - scores[:, :, h]
        assert np.abs(moved - moved.mean()).max() < CLOSE  # a head's scores count up to a constant
        own = theirs[np.arange(CONTEXT), inputs]
        mass = np.exp(own).sum(axis=1) + np.exp(head.cls_score)
        shares[:, :, h] = np.exp(own[:, chosen]) / mass[:, None]
        direct = np.exp(scores[inputs, np.arange(CONTEXT), h]).sum(axis=1) + np.exp(scores[0, -1, h])
        assert np.abs(log_mass[:, h] - np.log(direct)).max() < CLOSE
    probe = Observation(inputs, np.zeros(COUNT, dtype=bool), chosen, np.zeros((COUNT, 1)))
    by_head = shares.sum(axis=1).mean(axis=0)
    read = read_mass(scores, probe, log_mass)
    assert abs(read["mass"] - by_head.mean()) < CLOSE
    assert abs(read["mass_best"] - by_head.max()) < CLOSE
    low = scores.min(axis=0).max(axis=0)
    seen = read_scores(scores, scores - 0.25)
    assert abs(seen["spread"] - (scores.max(axis=(0, 1)) - low).max()) < CLOSE
    assert abs(seen["movement"] - 0.25) < CLOSE


@pytest.mark.parametrize("symbols", [2, SYMBOLS])
@pytest.mark.parametrize("settings", [SETTINGS[1], SETTINGS[3], SETTINGS[4]], ids=lambda s: f"{s.norm}-{s.heads}")
def test_padding_is_not_attended_to(settings, symbols):
    """Positions beyond a sequence change neither its output nor a slope, however high a score they would have."""
    with jax.enable_x64(new_val=True):
        parameters, inputs = drawn(settings, 7), sequences(7) % symbols
        parameters["tokens"] = parameters["tokens"][:symbols]
        beyond = 400 * np.random.default_rng(8).normal(size=(5, settings.width))  # scores far above all others
        wide = {**parameters, "positions": jnp.concatenate([parameters["positions"], jnp.asarray(beyond)])}
        padded = np.pad(inputs, ((0, 0), (0, 5)), constant_values=PADDING)

        def squares(weights, sequences):
            return (apply(settings, weights, sequences) ** 2).sum()

        both = jax.jit(jax.value_and_grad(squares))
        value, slope = both(parameters, jnp.asarray(inputs))
        wide_value, wide_slope = both(wide, jnp.asarray(padded))
    assert abs(float(value) - float(wide_value)) < CLOSE * float(value)
    assert not np.asarray(wide_slope["positions"][CONTEXT:]).any()
    for name, part in slope.items():
        there = np.asarray(wide_slope[name])[:CONTEXT] if name == "positions" else np.asarray(wide_slope[name])
        assert np.abs(there - np.asarray(part)).max() < CLOSE * max(1.0, float(np.abs(part).max())), name


def test_the_shift_cancels_and_lies_in_the_middle():
    """Scores shifted by a constant give the same exponentials; the shift is the middle of the range of maxima."""
    with jax.enable_x64(new_val=True):
        scores = jnp.asarray(np.random.default_rng(5).normal(size=(SYMBOLS, CONTEXT + 1, 2)))
        mass, shift = exponentials(scores)
        moved, beyond = exponentials(scores + 7.0)
        assert np.abs(mass - moved).max() < 1e-13
        middle = (scores.max(axis=(0, 1)) + scores.min(axis=0).max(axis=0)) / 2
        assert np.abs(shift - middle).max() < 1e-15
        assert np.abs(beyond - shift - 7.0).max() < 1e-13


def steep(of_tokens, of_positions):
    """One head of width 1 with these scores; values are 1 for the first token and −3 for the second."""
    settings = TransformerSettings(heads=1, width=2, hidden=0, norm="none", residual=False)
    weights = initial(settings, 2, len(of_positions), jax.random.key(0))
    weights = {name: jnp.zeros_like(array) for name, array in weights.items()}
    score, value = jnp.asarray([1.0, 0.0]), jnp.asarray([0.0, 1.0])
    weights["tokens"] = jnp.outer(jnp.asarray(of_tokens), score) + jnp.outer(jnp.asarray([1.0, -3.0]), value)
    weights["positions"] = jnp.outer(jnp.asarray(of_positions), score)
    weights["query_bias"] = jnp.sqrt(2.0) * score
    weights |= {"key": jnp.diag(score), "value": jnp.diag(value), "output": jnp.eye(2), "readout": value}
    return settings, weights


@pytest.mark.parametrize("gap", [0.0, 20.0, 40.0, 60.0])
@pytest.mark.parametrize("low", [-10.0, -30.0, -50.0, -100.0])
@pytest.mark.parametrize("first", [False, True])
def test_scores_far_apart_are_safe_within_the_spread(gap, low, first):
    """In single precision, as far apart as `spread_of_safety` allows, answers are those of double precision.

    That is so whichever of the two symbols scores more.
    """
    settings, weights = steep([gap, 0.0] if first else [0.0, gap], [0.0, low])
    inputs = np.array([[0, 1], [1, 0], [0, 0], [1, 1]], dtype=np.uint8)
    assert gap < spread_of_safety(settings, 2) < 75
    ours, log_mass = (np.asarray(part) for part in answer(settings, weights, jnp.asarray(inputs)))
    model = model_of(settings, weights)
    assert np.abs(ours - forward(model, inputs)).max() < 1e-5
    assert np.isfinite(log_mass).all()


def test_scores_beyond_the_spread_are_answered_by_softmax():
    """Where symbols differ by 120, a position that underflows would count: the predictor leaves single precision."""
    settings, weights = steep([0.0, 120.0], [0.0, -100.0])
    inputs = np.array([[0, 1]], dtype=np.uint8)  # scores 0 and 20: the second token is attended to, whose value is −3
    arrays = {name: np.asarray(array) for name, array in weights.items()}
    spread = read_scores(scores_of(settings, arrays), scores_of(settings, arrays))["spread"]
    assert spread > spread_of_safety(settings, 2)
    assert float(answer(settings, weights, jnp.asarray(inputs))[0][0]) > 0  # what single precision makes of it
    assert not predictor_of(settings, 2, weights, arrays, spread)(inputs)[0]
