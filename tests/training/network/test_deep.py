"""The deep transformer is the general model of its weights, drops what it says, and learns."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from keyhole.attention import forward
from keyhole.errors import ArgumentError
from keyhole.sweeps.runs import RunSpec
from keyhole.sweeps.runs.run import run
from keyhole.training import SparseTask
from keyhole.training.learners import DeepLearner, TransformerSettings, learner_from_record, learner_named
from keyhole.training.network.deep import apply_layers, initial_layers, layer_of, outputs_of
from keyhole.training.network.network import apply, block_of, model_of
from keyhole.training.network.step import block_rows
from keyhole.training.task import ProblemSize

pytestmark = pytest.mark.slow

CONTEXT, SYMBOLS, COUNT = 6, 3, 8
# double precision, sums of fewer than 1000 terms of size at most 100: 1000·100·2⁻⁵² < 1e-10
CLOSE = 1e-10
SETTINGS = [
    TransformerSettings(heads=2, width=8, hidden=12, norm="pre", final_norm=True, cls_position=True),
    TransformerSettings(heads=4, width=8, hidden=12, norm="post", activation="relu"),
    TransformerSettings(heads=1, width=8, hidden=0, norm="none", residual=False),
]
SMALL = DeepLearner(
    TransformerSettings(heads=2, width=8, hidden=0, batch=16, steps=600, every=50, rate=1e-2, dropout=0.05), layers=2
)


def drawn(layers, settings, seed=0):
    """Parameters away from their special starting values, biases and gains too, in double precision."""
    start = initial_layers(layers, settings, SYMBOLS, CONTEXT, jax.random.key(seed))
    rng = np.random.default_rng(seed)
    return {name: jnp.asarray(np.asarray(array) + 0.3 * rng.normal(size=array.shape)) for name, array in start.items()}


def sequences(seed=0):
    """Random inputs."""
    return np.random.default_rng(seed).integers(0, SYMBOLS, (COUNT, CONTEXT)).astype(np.uint8)


@pytest.mark.parametrize(("settings", "layers"), [*zip(SETTINGS, (2, 2, 3), strict=True)], ids=("pre", "post", "none"))
def test_network_is_the_general_model(settings, layers):
    """What is trained equals `forward` of the model of so many blocks that it is written out as."""
    with jax.enable_x64(new_val=True):
        parameters, inputs = drawn(layers, settings), sequences()
        ours = np.asarray(jax.jit(partial(apply_layers, layers, settings))(parameters, jnp.asarray(inputs)))
    weights = {name: np.asarray(array, dtype=np.float64) for name, array in parameters.items()}
    blocks = tuple(block_of(settings, layer_of(weights, layer)) for layer in range(layers))
    model = model_of(settings, weights, blocks)
    assert len(model.blocks) == layers
    assert np.abs(ours - forward(model, inputs)).max() < CLOSE


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s.norm}-{s.heads}-{s.hidden}")
def test_one_layer_is_the_tabulated_network(settings):
    """With one layer the general path and the tables give the same numbers for the same parameters."""
    with jax.enable_x64(new_val=True):
        parameters, inputs = drawn(1, settings), jnp.asarray(sequences())
        one = {**{name: a for name, a in parameters.items() if "." not in name}, **layer_of(parameters, 0)}
        ours = jax.jit(partial(apply_layers, 1, settings))(parameters, inputs)
        tabulated = jax.jit(partial(apply, settings))(one, inputs)
    assert np.abs(np.asarray(ours - tabulated)).max() < CLOSE


@pytest.mark.parametrize("name", ["dropout", "attention_dropout"])
def test_dropout_keeps_the_mean(name):
    """What is dropped is random, and its mean over many draws is the value without; the network is linear behind it."""
    draws, chance = 600, 0.3
    settings = replace(SETTINGS[2], **{name: chance})
    parameters, inputs = drawn(1, settings), jnp.asarray(sequences()[:2])
    keys = jax.random.split(jax.random.key(1), draws)
    drops = jax.jit(jax.vmap(partial(apply_layers, 1, settings, parameters, inputs)))
    values = np.asarray(drops(keys))
    plain = np.asarray(apply_layers(1, settings, parameters, inputs))
    spread = values.std(axis=0, ddof=1)
    assert spread.min() > 0.01
    assert (np.abs(values.mean(axis=0) - plain) < 5 * spread / np.sqrt(draws)).all()
    scaled_wrongly = plain + (values.mean(axis=0) - plain) + chance * np.abs(plain)
    assert (np.abs(scaled_wrongly - plain) > 5 * spread / np.sqrt(draws)).any()  # a factor 1 − chance would be seen


def test_every_layer_drops_by_itself():
    """Of two layers of the same weights, the second's masks are its own: [CLS] is dropped otherwise in each."""
    settings = replace(SETTINGS[2], dropout=0.5)
    key, shape = jax.random.key(0), (COUNT, 1, settings.width)
    masks = [jax.random.bernoulli(jax.random.split(jax.random.fold_in(key, i), 3)[1], 0.5, shape) for i in range(2)]
    assert (np.asarray(masks[0]) != np.asarray(masks[1])).any()
    parameters, inputs = drawn(2, settings), jnp.asarray(sequences())
    applied = jax.jit(partial(apply_layers, 2, settings))
    values = [np.asarray(applied(parameters, inputs, jax.random.key(seed))) for seed in (0, 0, 1)]
    assert (values[0] == values[1]).all()
    assert np.abs(values[0] - values[2]).min() > 0


def test_blocks_give_the_same_numbers():
    """Outputs computed in blocks are those computed at once, the last block's padding cut off."""
    settings, inputs = SETTINGS[0], sequences()[:5]
    parameters = drawn(2, settings)
    whole = np.asarray(jax.jit(partial(apply_layers, 2, settings))(parameters, jnp.asarray(inputs)))
    assert np.abs(outputs_of(2, settings, parameters, inputs) - whole).max() < 1e-5
    assert block_rows(settings, 25) == 1024
    assert block_rows(settings, 2000) <= 4


def test_a_literal_is_learned_and_the_run_is_made_again():
    """Two layers learn x0 with dropout and stop early; the same specification gives the same weights."""
    spec = RunSpec(SparseTask("x0"), SMALL, 8, 120, 0)
    made, again = run(spec), run(spec)
    assert made.success
    assert made.steps < SMALL.steps
    assert made.weights_digest == again.weights_digest
    assert {"loss", "accuracy", "train_accuracy", "fourier", "norm"} <= set(made.readings[-1])


def test_fresh_samples():
    """Two layers learn x0 from fresh samples, and the loss that is read is that of the last batches."""
    made = run(RunSpec(SparseTask("x0"), SMALL, 8, None, 0))
    assert made.success
    assert "train_accuracy" not in made.readings[-1]


def test_names_and_records():
    """deep:3 has three layers, `deep` has two; a record gives its learner back."""
    assert learner_named("deep:3") == DeepLearner(layers=3)
    assert learner_named("deep") == learner_named("deep:2")
    assert learner_from_record(SMALL.record()) == SMALL


@pytest.mark.parametrize("name", ["deep:0", "deep:25", "deep:two", "deep:-1"])
def test_bad_names_are_refused(name):
    """A number of layers that there is not is refused in a sentence."""
    with pytest.raises(ArgumentError, match="layers"):
        learner_named(name)


def test_what_it_cannot_do_is_refused():
    """A path norm of several layers, and fresh samples all at once, are refused."""
    with pytest.raises(ArgumentError, match="path norm"):
        DeepLearner(TransformerSettings(norm="none", path_penalty=0.1))
    with pytest.raises(ArgumentError, match="batch"):
        DeepLearner(replace(SMALL.settings, batch=0)).validate(ProblemSize(8, 2, 1), online=True)
