"""How the suite runs: shapes checked, Hypothesis profiles, and what waits for `make test-extras`."""

import gc
import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings

# Programs that run for milliseconds need no optimising compiler; one thread, since two workers use both cores.
QUICK = "--xla_backend_optimization_level=0 --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ.setdefault("XLA_FLAGS", QUICK)
os.environ.setdefault("NPROC", "1")  # so that runs made here are those of workers

# What jax has compiled once, in any process of the session, is not compiled again.
COMPILED = {
    "JAX_COMPILATION_CACHE_DIR": os.environ.get("JAX_COMPILATION_CACHE_DIR") or tempfile.mkdtemp(prefix="keyhole-jax-"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
OURS = "JAX_COMPILATION_CACHE_DIR" not in os.environ  # else it is that of the session around this process
os.environ.update(COMPILED)

# Checking every value that crosses an edge of a function against its signature, arrays with their shapes, doubles the
# time of the suite. `make test-types` does it.
if os.environ.get("KEYHOLE_TYPES") == "1":
    from helpers import typechecking  # imports jax, which reads the variables above when it is imported

    typechecking.install()

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("fast", max_examples=10, derandomize=True, **COMMON)
settings.register_profile("quick", max_examples=40, derandomize=True, **COMMON)
settings.register_profile("ci", max_examples=60, derandomize=True, **COMMON)
settings.register_profile("thorough", max_examples=2000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_addoption(parser):
    """`--extras` runs the tests that need torch, a cluster or a browser, and only those."""
    parser.addoption("--extras", action="store_true", help="run the tests marked `extra`, and only those")


def pytest_ignore_collect(collection_path, config):
    """With `--extras` a file without marked tests is not imported: importing all of them takes a third of a minute."""
    if not config.getoption("--extras") or collection_path.suffix != ".py":
        return None
    return None if "mark.extra(" in collection_path.read_text(encoding="utf-8") else True


def pytest_unconfigure():
    """What was compiled goes with the session."""
    if OURS:
        shutil.rmtree(COMPILED["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)


def pytest_collection_finish():
    """What was imported stays to the end: the collector of garbage need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_collection_modifyitems(config, items):
    """Without `--extras` the marked tests are skipped with a reason; with it, the others are left out."""
    if config.getoption("--extras"):
        chosen = [item for item in items if item.get_closest_marker("extra")]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
        return
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)  # long ones first: no worker ends late
    for item in items:
        for mark in item.iter_markers("extra"):
            item.add_marker(pytest.mark.skip(reason=f"needs {mark.args[0]}: run by `make test-extras`"))


@pytest.fixture
def locked(tmp_path):
    """A folder that this process may not enter while the test runs; root becomes nobody for that long."""
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0)
    root = os.geteuid() == 0
    if root:
        tmp_path.chmod(0o755)
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    folder.chmod(0o700)
