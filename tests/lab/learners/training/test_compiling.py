"""Compiled programs: one process at a time compiles one; what is computed in parts has the bits of the whole."""

import fcntl
import importlib.util
import math
import sys
import threading
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from keyhole.lab.learners.settings import TransformerSettings
from keyhole.lab.learners.training import compiling, loop, predict
from keyhole.lab.learners.training.compiling import Program
from keyhole.lab.learners.training.network import initial
from keyhole.lab.learners.training.prepare import prepare_set
from keyhole.lab.learners.training.step import optimizer_of
from keyhole.lab.task import SparseTask


def doubled(x):
    """Twice the argument."""
    return 2 * x


@pytest.fixture
def kept(tmp_path):
    """A folder in which jax keeps compiled programs."""
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    yield tmp_path
    jax.config.update("jax_compilation_cache_dir", before)


def test_a_program_waits_for_the_process_that_compiles_it(kept):
    """While another holds the lock of a program nothing is compiled; once it is free the program runs."""
    Program(doubled, "waiting")(jnp.float32(1))
    (lock,) = kept.glob("*.lock")
    later = Program(doubled, "waiting")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        thread = threading.Thread(target=later, args=(jnp.float32(2),))
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        assert not later.shapes
    thread.join(30)
    assert later.shapes
    assert len(list(kept.glob("*.lock"))) == 1


def test_a_program_that_is_compiled_waits_for_nobody(kept):
    """Arguments of shapes that were seen take no lock; others have one of their own."""
    program = Program(doubled, "seen")
    program(jnp.zeros(2))
    (lock,) = kept.glob("*.lock")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert float(program(jnp.ones(2)).sum()) == 4
        assert float(program(jnp.ones(3)).sum()) == 6


def test_without_a_folder_every_process_compiles(kept):
    """Where jax keeps nothing, and where the folder is none, the program runs all the same."""
    jax.config.update("jax_compilation_cache_dir", None)
    assert float(Program(doubled, "nowhere")(jnp.float32(3))) == 6
    (kept / "a file").write_text("")
    jax.config.update("jax_compilation_cache_dir", str(kept / "a file"))
    with compiling._alone("anything"):
        assert not list(kept.glob("*.lock"))


def test_without_locks_every_process_compiles(kept, monkeypatch):
    """A system without fcntl, as Windows, imports the module all the same, and its programs run without a lock."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    spec = importlib.util.spec_from_file_location("compiling_elsewhere", compiling.__file__)
    elsewhere = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(elsewhere)
    assert elsewhere.fcntl is None
    assert float(elsewhere.Program(doubled, "unlocked")(jnp.float32(4))) == 8
    assert not list(kept.glob("*.lock"))


TINY = TransformerSettings(
    heads=2, width=8, hidden=8, batch=4, steps=4, every=2, dropout=0.1, final_norm=True, cls_position=True
)


def one_by_one(settings, symbols, context, key):
    """Starting weights, each array drawn by itself: what `initial` draws by groups."""
    d, hidden = settings.width, settings.hidden
    shapes = {"tokens": (symbols, d), "positions": (context, d), "cls": (d,), "cls_position": (d,)}
    shapes |= {"query": (d, d), "key": (d, d), "value": (d, d), "output": (d, d), "readout": (d,)}
    shapes |= {"inner": (d, hidden), "outer": (hidden, d)}
    drawn = {}
    for (name, shape), each in zip(shapes.items(), jax.random.split(key, len(shapes)), strict=True):
        embedded = name in ("tokens", "positions", "cls", "cls_position")
        scale = settings.embedding_scale if embedded else 1 / math.sqrt(shape[0])
        scale *= settings.score_scale if name in ("query", "key") else 1.0
        drawn[name] = scale * jax.random.normal(each, shape)
    return drawn


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_weights_drawn_by_groups_are_those_drawn_one_by_one(scale):
    """Every array of the start has the bits that it has when it is drawn by itself from its own key."""
    settings, key = replace(TINY, score_scale=scale), jax.random.key(3)
    ours = jax.jit(partial(initial, settings, 3, 37))(key)
    for name, array in jax.jit(partial(one_by_one, settings, 3, 37))(key).items():
        assert np.asarray(ours[name]).tobytes() == np.asarray(array).tobytes(), name


@pytest.mark.slow
def test_the_norm_in_parts_is_the_norm_at_once():
    """The norm of the weights, positions apart, has the bits that it has in one program."""
    weights = initial(TINY, 2, 50, jax.random.key(5))
    whole = jax.jit(lambda arrays: jnp.sqrt(sum((array**2).sum() for array in arrays.values())))(weights)
    assert np.asarray(loop.weight_norm(weights)) == np.asarray(whole)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_moments_at_rest_are_those_of_the_optimizer(optimizer):
    """Nothing is remembered before the first step: the zeros that the optimizer itself makes, of the same types."""
    settings = replace(TINY, optimizer=optimizer)
    weights = {"one": jnp.ones((3, 2)), "other": jnp.ones(())}
    ours, theirs = loop.resting_moments(settings, weights), optimizer_of(settings).init(weights)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert (np.asarray(one) == np.asarray(other)).all()


@pytest.mark.slow
def test_a_long_set_is_read_without_its_padding(monkeypatch):
    """Few rows of a long context are read alone, with the bits that they have among all."""
    weights = initial(TINY, 2, 300, jax.random.key(5))
    examples = SparseTask("and:2").instance(300, np.random.default_rng(0)).training_set(70, np.random.default_rng(1))
    data = prepare_set(examples, whole=False)
    seen = []
    outputs = predict.compiled_outputs(TINY)
    monkeypatch.setattr(loop, "compiled_outputs", lambda _: lambda p, x: seen.append(len(x)) or outputs(p, x))
    short = loop._fit_to_set(TINY, data, weights, jnp.zeros(2))
    monkeypatch.setattr(loop, "FEW", 64)
    whole = loop._fit_to_set(TINY, data, weights, jnp.zeros(2))
    assert seen == [256, 1024]
    assert {name: np.asarray(a).tobytes() for name, a in short.items()} == {
        name: np.asarray(a).tobytes() for name, a in whole.items()
    }
