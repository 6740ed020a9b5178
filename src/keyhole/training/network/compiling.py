"""Compiled programs, and the settings of jax that numbers depend on.

keyhole computes with its own settings, whatever this process or its environment has set. A setting holds for a block
of code in one thread, so its user's value counts again afterwards. Workers start without such variables besides.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from keyhole.errors import ArgumentError

PINNED = {"xla_cpu_enable_fast_math": False}  # XLA's own choice: what XLA_FLAGS has changes no number
USUAL = PINNED | {"xla_backend_optimization_level": 3}
OPTIONS = PINNED | {  # unless the usual ones are asked for
    "xla_backend_optimization_level": 1,  # products are calls of a library: loops around them gain nothing by more
    "xla_cpu_prefer_vector_width": 512,  # of bits, where the processor has them; XLA's own choice is half of that
    "xla_cpu_copy_insertion_use_region_analysis": True,  # fewer copies of weights; the others change the last bits
}


@cache
def compiled(function: Callable[..., Any], *first: Any, usual: bool = False) -> Callable[..., Any]:
    """Return the function of its later arguments, compiled for each of their shapes; the first ones are fixed."""
    return jax.jit(partial(function, *first), compiler_options=USUAL if usual else OPTIONS)


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
