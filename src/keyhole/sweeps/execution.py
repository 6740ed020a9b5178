"""Where runs are made and kept."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from keyhole.files.paths import home
from keyhole.progress import Progress, Watch
from keyhole.sweeps.runs import Lane, borrow, core_count, require_cores, start_processes
from keyhole.training.learners import GradientLearner, Learner


class InProcess(Executor):
    """Makes a run when it is submitted, in this process."""

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
        """How many runs are made at once."""
        if self.workers is None:
            return core_count()
        return max(1, self.workers) if self.executor or not self.workers else require_cores(self.workers)

    def starter(self, learners: Sequence[Learner], watch: Watch) -> Callable[[], list[Lane]]:
        """Return what starts the lanes when they are first needed."""
        compiled = any(isinstance(each, GradientLearner) for each in learners)
        slow = "; a network's first run takes longer: jax compiles it" if compiled else ""
        executor = InProcess() if self.workers == 0 and self.executor is None else self.executor

        def start() -> list[Lane]:
            if executor is not None:
                return borrow(executor, 2 * self.parallel)
            watch(Progress(0, None, f"workers: {self.parallel}{slow}", milestone=True))
            return start_processes(self.parallel, self.folder)

        return start
