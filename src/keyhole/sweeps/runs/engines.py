"""Engines by name: this process, processes of this machine, or a Ray cluster. Each is an executor, or none of ours.

Only the process that asks writes to the store. A task is one run, so what an engine loses is made again, and no more.
"""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from keyhole.errors import ArgumentError, WorkerError
from keyhole.sweeps.runs.worker import ALONE

ENGINES = ("processes", "here", "ray")
RETRIES = 10  # times a run is made again whose worker died


class Here(Executor):
    """Makes a run when it is submitted, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The call, made now."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  (a future carries any)
            future.set_exception(error)
        return future


class RayTasks(Executor):
    """Every call a task of Ray on one core; one whose worker dies is made again."""

    def __init__(self, ray: Any, environment: dict[str, str]) -> None:
        self.ray = ray
        self.options = {"num_cpus": 1, "max_retries": RETRIES, "runtime_env": {"env_vars": environment}}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The call as a task, and its future."""
        future: Future[Any] = self.ray.remote(**self.options)(fn).remote(*args, **kwargs).future()
        return future


@contextmanager
def open_engine(name: str, *, address: str = "", folder: Path) -> Iterator[Executor | None]:
    """The executor of an engine; None for processes of this machine, which the laboratory starts itself.

    Without an address Ray is started on this machine, and stopped at the end; compiled programs are then kept in the
    folder. Workers of a cluster elsewhere need keyhole installed.
    """
    if name not in ENGINES:
        raise ArgumentError(f"There is no engine {name!r}; there are {', '.join(ENGINES)}.")
    if address and name != "ray":
        raise ArgumentError(f"The address {address!r} of a cluster was given, and the engine is {name}; use ray.")
    if name == "ray":
        with _ray(address, folder) as executor:
            yield executor
    else:
        yield Here() if name == "here" else None


@contextmanager
def _ray(address: str, folder: Path) -> Iterator[Executor]:
    """Tasks of a Ray cluster that is joined, or started and stopped."""
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise ArgumentError("The engine ray was asked for, and Ray is not installed; install keyhole[ray].") from error
    environment = {**ALONE, "CUDA_VISIBLE_DEVICES": ""}
    if not address:  # this machine's own folders mean something to its workers
        paths = os.pathsep.join(dict.fromkeys(part for part in sys.path if part))
        cache = {"JAX_COMPILATION_CACHE_DIR": str((folder / "compiled").absolute()), "PYTHONPATH": paths}
        environment |= {**cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        where = {"address": address} if address else {"include_dashboard": False, "num_cpus": os.cpu_count() or 1}
        ray.init(log_to_driver=False, logging_level="ERROR", **where)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        at = f"the Ray cluster at {address!r} cannot be joined" if address else "Ray cannot start on this machine"
        raise WorkerError(f"The engine ray was asked for, and {at}: {said}. See whether it runs.") from error
    try:
        yield RayTasks(ray, environment)
    finally:
        ray.shutdown()
