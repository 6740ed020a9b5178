"""Compiled programs: one process at a time compiles one, and options that are not known are left out."""

import fcntl
import threading

import jax
import jax.numpy as jnp
import pytest

from keyhole.lab.learners.training import compiling
from keyhole.lab.learners.training.compiling import Program


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


def test_options_that_xla_does_not_know_are_left_out(monkeypatch):
    """A version of XLA that refuses the quick options compiles without them."""
    compiling.quick_options.cache_clear()
    assert compiling.quick_options() == compiling.QUICK
    monkeypatch.setattr(compiling, "QUICK", {"xla_cpu_no_such_option": True})
    compiling.quick_options.cache_clear()
    assert compiling.quick_options() is None
    compiling.quick_options.cache_clear()
