"""The store of the runs, and who makes them."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from keyhole.files.paths import home
from keyhole.sweeps.runs.workers import WorkerPool, core_count, require_cores


class InProcess(Executor):
    """Makes a call when it is submitted, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call the function now."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  (a future carries any)
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Execution:
    """The store, and who makes the runs: spawned processes, this process (`workers=0`), or any `executor`.

    An executor needs a `submit(function, *arguments)` that returns futures of `concurrent.futures` (a Dask client has
    `get_executor()`), and gets at most twice `workers` runs at once. Where it works in other processes or on other
    machines, task and learner must pickle, and keyhole be installed there. Only this process writes to the store, and
    the executor is left open.
    """

    store: str | Path | None = None  # folder of the runs; KEYHOLE_HOME or .keyhole if not given
    workers: int | None = None  # processes; one per core if not given
    executor: Executor | None = None
    keep_weights: bool = False
    time_limit: float | None = None  # seconds of trying on fresh samples, with ever more steps a run

    @cached_property
    def folder(self) -> Path:
        """The folder of the runs."""
        return home(self.store)

    @cached_property
    def parallel(self) -> int:
        """The number of runs that are made at once."""
        if self.workers is None:
            return core_count()
        return max(1, self.workers) if self.executor or not self.workers else require_cores(self.workers)

    @contextmanager
    def open_executor(self) -> Iterator[Executor]:
        """Give the executor that makes the calls; workers of ours are ended afterwards, in the middle of their work."""
        if self.executor is not None:
            yield self.executor
        elif self.workers == 0:
            yield InProcess()
        else:
            pool = WorkerPool(self.parallel, self.folder)
            try:
                yield pool
            finally:
                pool.stop()
