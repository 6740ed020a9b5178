"""Compiled programs: one process at a time compiles one, and options that are not known are left out."""

import fcntl
import importlib.util
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from keyhole.lab.learners.settings import TransformerSettings
from keyhole.lab.learners.training import compiling, loop, predict
from keyhole.lab.learners.training.compiling import Program
from keyhole.lab.learners.training.network import initial


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
    Program(doubled, "waiting", quick=True)(jnp.float32(1))
    (lock,) = kept.glob("*.lock")
    later = Program(doubled, "waiting", quick=True)
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
    program = Program(doubled, "seen", quick=False)
    program(jnp.zeros(2))
    (lock,) = kept.glob("*.lock")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert float(program(jnp.ones(2)).sum()) == 4
        assert float(program(jnp.ones(3)).sum()) == 6


def test_without_a_folder_every_process_compiles(kept):
    """Where jax keeps nothing, and where the folder is none, the program runs all the same."""
    jax.config.update("jax_compilation_cache_dir", None)
    assert float(Program(doubled, "nowhere", quick=True)(jnp.float32(3))) == 6
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
    assert float(elsewhere.Program(doubled, "unlocked", quick=False)(jnp.float32(4))) == 8
    assert not list(kept.glob("*.lock"))


TINY = TransformerSettings(
    heads=2, width=8, hidden=8, batch=4, steps=4, every=2, dropout=0.1, attention_dropout=0.1, final_norm=True,
    cls_position=True,
)  # fmt: skip


def starting():
    """The program of starting weights, and a key."""
    return loop._compiled_start(TINY, 2, 5), (jax.random.key(3),)


def drawing():
    """The program of what is random in a stretch, and its arguments."""
    return loop.compiled_draws(loop.FROM_A_SET, TINY, TINY.batch), (jnp.int32(7), jax.random.key(4), jnp.int32(2))


def answering():
    """The program of outputs, weights and inputs."""
    rng = np.random.default_rng(0)
    weights = {name: array + 0.1 for name, array in initial(TINY, 2, 5, jax.random.key(5)).items()}
    return predict.compiled_outputs(TINY), (weights, jnp.asarray(rng.integers(0, 2, (16, 5)), jnp.uint8))


def bits(array):
    """The bytes of an array, or of the keys in it."""
    keys = jnp.issubdtype(array.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(array) if keys else array).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("asked", [starting, drawing, answering])
def test_quick_programs_give_the_same_bits(asked):
    """Starting weights, draws and outputs of a tiny network: equal to the bit, by either of XLA's emitters."""
    program, arguments = asked()
    function = program.jitted.__wrapped__
    quick, plain = (
        jax.tree.leaves(Program(function, f"{program.name} {quick}", quick=quick)(*arguments))
        for quick in (True, False)
    )
    assert len(quick) == len(plain) > 0
    for one, other in zip(quick, plain, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert bits(one) == bits(other)


def test_options_that_xla_does_not_know_are_left_out(monkeypatch):
    """A version of XLA that refuses the quick options compiles without them."""
    compiling.quick_options.cache_clear()
    assert compiling.quick_options() == compiling.QUICK
    monkeypatch.setattr(compiling, "QUICK", {"xla_cpu_no_such_option": True})
    compiling.quick_options.cache_clear()
    assert compiling.quick_options() is None
    compiling.quick_options.cache_clear()
