"""Requested runs and their weights: found in the store, or made and stored as soon as they are finished."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.errors import StoreError
from keyhole.files.atomic import home
from keyhole.files.model import read_model
from keyhole.progress import Progress, Watch, ignore
from keyhole.sweeps.runs.run import RunResult, RunSpec, digest, run
from keyhole.sweeps.runs.store import RunSummary, Store
from keyhole.sweeps.runs.workers import ALONE, WorkerPool, core_count, make_run, raise_failure, require_cores


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


AHEAD = 2  # runs given to each worker at once: one under way, one so that it never waits


class RunQueue:
    """The requested runs that are not finished, to be used in a `with`. The executor is opened when a run is made."""

    def __init__(self, store: Store, execution: Execution) -> None:
        self.store, self.execution = store, execution
        self.waiting: dict[str, RunSpec] = {}
        self.in_flight: dict[Future[RunResult], RunSpec] = {}
        self.made = 0
        self.executor: Executor | None = None
        self.stack = ExitStack()

    def request(self, specs: Iterable[RunSpec]) -> dict[str, RunSummary]:
        """Request runs; return those that are finished already."""
        wanted = {spec.identity: spec for spec in specs}
        done = self.store.outcomes(list(wanted))
        self.waiting |= {name: spec for name, spec in wanted.items() if name not in done}
        return done

    def finished(self) -> dict[str, RunSummary]:
        """Wait until runs are finished, store them and return them; raise what went wrong with another."""
        if self.executor is None:
            self.store.require_writable()  # before anything is made
            self.executor = self.stack.enter_context(self.execution.open_executor())
        while self.waiting and len(self.in_flight) < AHEAD * self.execution.parallel:
            name = max(self.waiting, key=lambda name: self.waiting[name].context)  # the longest contexts take longest
            spec = self.waiting.pop(name)
            self.in_flight[self.executor.submit(make_run, spec, self.execution.keep_weights)] = spec
        wait(self.in_flight, None, FIRST_COMPLETED)
        rows = self._store()
        for future, spec in self.in_flight.items():
            if future.done():
                raise_failure(future, spec)
        return rows

    def __enter__(self) -> "RunQueue":  # noqa: PYI034  (the run-time checker reads no Self here)
        return self

    def __exit__(self, *_error: object) -> None:
        """Store what is finished, give up the rest, and end the workers."""
        try:
            self._store()
        except KeyboardInterrupt:  # pressed again while the first was being answered
            self._store()
            raise
        finally:
            for future in self.in_flight:
                future.cancel()
            self.stack.close()

    def _store(self) -> dict[str, RunSummary]:
        """Store the runs that succeeded, and only then forget that they were in flight."""
        completed = [
            future for future in self.in_flight if future.done() and not future.cancelled() and not future.exception()
        ]
        if not completed:
            return {}
        rows = self.store.add((self.in_flight[future], future.result()) for future in completed)
        self.made += len(completed)
        for future in completed:
            del self.in_flight[future]
        return rows


def gather_runs(specs: Sequence[RunSpec], store: Store, execution: Execution, watch: Watch = ignore) -> list[RunResult]:
    """Return the results of these runs, in order. Each is stored as it finishes: what is stopped goes on from there."""
    with RunQueue(store, execution) as queue:
        waiting = {spec.identity for spec in specs} - set(queue.request(specs))
        while waiting:
            waiting -= set(queue.finished())
            watch(Progress(len(specs) - len(waiting), len(specs), f"runs of {specs[0].task.name}"))
    results = store.results([spec.identity for spec in specs])
    return [results[spec.identity] for spec in specs]


def weights_of(store: Store, name: str, *, tell: Callable[[str], None] = lambda _: None) -> Mapping[str, np.ndarray]:
    """The arrays of the run that this beginning of an identity names; trained again where they were not kept.

    That may take a while, and `tell` is called before it begins.
    """
    stored = store.run(name)
    path, known = store.weights_path(stored.row.identity), stored.result.weights_digest
    if path.exists():
        kept = read_model(path)
        if kept.damage is not None:
            raise StoreError(f"The weights {str(path)!r} are damaged: {kept.damage}. Remove the file to train again.")
        if known is not None and digest(kept.tensors) != known:
            raise StoreError(f"The weights {str(path)!r} are not those of their run. Remove the file to train again.")
        return kept.tensors
    tell(f"The weights of run {stored.row.identity[:10]} were not kept; training it again.")
    spec = RunSpec.from_record(stored.configuration)
    if os.environ.get("NPROC") == ALONE["NPROC"]:  # this process has one thread, as a worker has
        again = run(spec)
    else:
        pool = WorkerPool(1, store.folder)
        try:
            made: Future[RunResult] = pool.submit(make_run, spec, keep_weights=True)
            wait([made])
            raise_failure(made, spec)
            again = made.result()
        finally:  # Ctrl-C too: what is under way is given up with its process
            pool.stop()
    if again.accuracy != stored.row.accuracy:
        raise StoreError(
            f"The run {stored.row.identity[:10]} was made again and came out otherwise ({again.accuracy} right, not "
            f"{stored.row.accuracy}). Use the versions that `keyhole runs show` names."
        )
    if again.weights is None:
        raise StoreError(f"The run {stored.row.identity[:10]} is of {stored.row.learner}, which has no weights.")
    if known is not None and digest(again.weights) != known:
        raise StoreError(
            f"The run {stored.row.identity[:10]} was made again and came out otherwise (as often right, with other "
            "weights). Use the versions and the processor that `keyhole runs show` names."
        )
    return again.weights
