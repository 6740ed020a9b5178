"""Settings of jax: keyhole's own decide its numbers, and those of this process stay as they are."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from keyhole.errors import ArgumentError
from keyhole.training.network import compiling
from keyhole.training.network.compiling import random_key

from helpers import trained_digests

SETTINGS = [
    ("jax_enable_x64", True),
    ("jax_threefry_partitionable", False),
    ("jax_default_prng_impl", "rbg"),
    ("jax_default_matmul_precision", "bfloat16"),
    ("jax_numpy_dtype_promotion", "strict"),
    ("jax_numpy_rank_promotion", "raise"),
    ("jax_debug_nans", True),
    ("jax_debug_key_reuse", True),
    ("jax_disable_jit", True),
]


@pytest.fixture(scope="module")
def expected():
    """The digests under the settings of the suite, taken before any other is tried."""
    return trained_digests.digests()


@pytest.fixture
def setting(request):
    """A setting of this process, put back at the end."""
    name, value = request.param
    before = getattr(jax.config, name)
    jax.config.update(name, value)
    yield name, value
    jax.config.update(name, before)


def of_another_process(variables):
    """The digests of a process that is started with these variables."""
    done = subprocess.run(
        [sys.executable, trained_digests.__file__],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split() for line in done.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one[0], indirect=True)
def test_no_setting_of_this_process_changes_a_number(expected, setting):
    """Weights and answers have their digests under every setting, which is what it was afterwards."""
    name, value = setting
    assert trained_digests.digests() == expected
    assert getattr(jax.config, name) == value


VARIABLES = {
    "JAX_THREEFRY_PARTITIONABLE": "0",
    "JAX_DEFAULT_PRNG_IMPL": "rbg",
    "JAX_RANDOM_SEED_OFFSET": "3",
    "JAX_DEBUG_NANS": "1",
    "JAX_NUMPY_DTYPE_PROMOTION": "strict",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables",
    [
        VARIABLES,
        pytest.param({"JAX_ENABLE_X64": "1"}, marks=pytest.mark.long),  # with which every program is compiled anew
    ],
    ids=["several", "JAX_ENABLE_X64"],
)
def test_no_variable_of_the_environment_changes_a_number(expected, variables):
    """A process with the variables set trains networks of the same digests as this process."""
    assert of_another_process(variables) == expected


def test_fast_mathematics_is_not_used():
    """Both sets of options turn it off by name, so that XLA_FLAGS which ask for it change no program of a run."""
    assert [options["xla_cpu_enable_fast_math"] for options in (compiling.USUAL, compiling.OPTIONS)] == [False, False]


@pytest.mark.parametrize("setting", [("jax_softmax_custom_jvp", True)], ids=str, indirect=True)
def test_a_setting_that_cannot_be_put_aside_is_refused(setting):
    """One that changes numbers and holds for a whole process is named."""
    with pytest.raises(ArgumentError, match=f"{setting[0]} set in this process.*Unset it"):
        trained_digests.digests()


def test_a_key_is_that_of_jax():
    """Keys are made as `jax.random.key` makes them, for every number of 32 bits."""
    for number in (0, 1, 2**31, 2**32 - 1):
        assert jnp.array_equal(
            jax.random.key_data(random_key(number)), jax.random.key_data(jax.random.key(jnp.uint32(number)))
        )
