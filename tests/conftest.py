"""How the suite runs: shapes checked, Hypothesis profiles, and what waits for `make test-extras`."""

import os

import pytest
from beartype.claw import beartype_package
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

from helpers.typechecking import AS_MYPY, NUMBERS, packages_with_arrays

# Programs that run for milliseconds need no optimising compiler; one thread, since two workers use both cores.
QUICK = "--xla_backend_optimization_level=0 --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ.setdefault("XLA_FLAGS", QUICK)
os.environ.setdefault("NPROC", "1")  # so that runs made here are those of workers

# Every array that crosses a function's edge is checked against the shape its signature states. Where there are no
# arrays, types are checked in the same way without the bookkeeping of shapes, which is most of what a check costs.
# The fast profile leaves both out: they are half of its time.
FAST = os.environ.get("HYPOTHESIS_PROFILE") == "fast"
if not FAST:
    install_import_hook(packages_with_arrays(), "helpers.typechecking.checked")
    beartype_package(NUMBERS, conf=AS_MYPY)

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("fast", max_examples=10, derandomize=True, **COMMON)
settings.register_profile("quick", max_examples=60, derandomize=True, **COMMON)
settings.register_profile("thorough", max_examples=2000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_addoption(parser):
    """`--extras` runs the tests that need torch, a cluster or a browser, and only those."""
    parser.addoption("--extras", action="store_true", help="run the tests marked `extra`, and only those")


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
