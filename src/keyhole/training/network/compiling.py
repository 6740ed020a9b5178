"""Compiled programs: one for each shape of its arguments, compiled by one process at a time, and kept for the others.

The compiled form goes into jax's own cache on disk, where there is one. Processes that want the same program at the
same time would each compile it; a lock beside that cache makes all but the first wait, and then read what it compiled.

The settings of jax that numbers depend on: keyhole's own, whatever this process or its environment has set.

A setting holds for a block of code in one thread, so its user's value counts again afterwards. Workers start without
such variables besides.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from keyhole.errors import ArgumentError

try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None  # type: ignore[assignment]


PINNED = {"xla_cpu_enable_fast_math": False}  # XLA's own choice: what XLA_FLAGS has changes no number
USUAL = PINNED | {"xla_backend_optimization_level": 3}
OPTIONS = PINNED | {  # unless the usual ones are asked for
    "xla_backend_optimization_level": 1,  # products are calls of a library: loops around them gain nothing by more
    "xla_cpu_prefer_vector_width": 512,  # of bits, where the processor has them; XLA's own choice is half of that
    "xla_cpu_copy_insertion_use_region_analysis": True,  # fewer copies of weights; the others change the last bits
}


class Program:
    """A function, compiled when it is first called with arguments of some shapes; `name` says what else decides it."""

    def __init__(self, function: Callable[..., Any], name: str, *, usual: bool = False) -> None:
        self.jitted = jax.jit(function, compiler_options=USUAL if usual else OPTIONS)
        self.name = name
        self.shapes: set[tuple[tuple[int, ...], ...]] = set()

    def __call__(self, *arguments: Any) -> Any:
        """Return the value of the function."""
        shapes = tuple(leaf.shape for leaf in jax.tree.leaves(arguments))
        if shapes in self.shapes:
            return self.jitted(*arguments)
        with _alone(f"{self.name} {shapes}"):
            value = self.jitted(*arguments)
        self.shapes.add(shapes)
        return value


@contextmanager
def _alone(what: str) -> Iterator[None]:
    """While no other process compiles the same; at once where jax keeps no programs, or no lock can be made.

    Where the system has no such locks, as Windows has not, every process compiles.
    """
    folder: str | None = getattr(jax.config, "jax_compilation_cache_dir", None) if fcntl else None
    descriptor = None
    with suppress(OSError):  # a folder that cannot be written to, or a disk without room: everybody compiles
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            lock = Path(folder) / f"{hashlib.sha256(what.encode()).hexdigest()[:16]}.lock"
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if descriptor is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


GENERATOR = "threefry2x32"
OWN: tuple[tuple[Callable[[Any], AbstractContextManager[Any]], Any], ...] = (
    (jax.enable_x64, False),
    (jax.threefry_partitionable, True),
    (jax.default_prng_impl, GENERATOR),
    (jax.default_matmul_precision, None),
    (jax.numpy_dtype_promotion, "standard"),
    (jax.numpy_rank_promotion, "allow"),
    (jax.debug_nans, False),
    (jax.debug_infs, False),
    (jax.debug_key_reuse, False),
    (jax.disable_jit, False),
)


@contextmanager
def own_settings() -> Iterator[None]:
    """Compute with keyhole's own settings of jax in this block."""
    if getattr(jax.config, "jax_softmax_custom_jvp", False):  # holds for a process, not for a block
        raise ArgumentError(
            "jax has jax_softmax_custom_jvp set in this process, with which networks come out otherwise. Unset it, or "
            "let worker processes make the runs."
        )
    with ExitStack() as settings:
        for setting, value in OWN:
            settings.enter_context(setting(value))
        yield


def random_key(number: int) -> Array:
    """The key that `jax.random.key` makes of a number below 2³², without the offset that its user may have set."""
    key: Array = jax.random.wrap_key_data(jnp.array([0, number], dtype=jnp.uint32), impl=GENERATOR)
    return key
