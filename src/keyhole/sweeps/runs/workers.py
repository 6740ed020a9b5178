"""Worker processes: each makes runs with one thread, and ends when the process that started it does."""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from threading import RLock, Thread
from typing import Any

from keyhole.errors import ArgumentError, KeyholeError, WorkerError
from keyhole.sweeps.runs.run import RunResult, RunSpec, run
from keyhole.training import Notice

REASON = 300  # letters of what a learner says when it fails
CROWDED = 8  # workers to a core, at most
ALONE = {  # one thread each, read by numerical libraries when they are imported
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NPROC": "1",  # what XLA takes for the number of cores
}
QUICK = {  # for speed alone, where nobody has set them: no result depends on them
    "JAX_CPU_ENABLE_ASYNC_DISPATCH": "0",  # a program is run by the thread that calls it, not handed to another
    # Bytes up to which glibc keeps what a run frees for the next, instead of asking for cleared memory again.
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
}
NUMERIC = re.compile("XLA_FLAGS|JAX_(?!.*(CACHE|LOG|TRACEBACK|PLATFORM|DEVICE|CPU)).*")  # may change numbers
_environment = RLock()  # one thread at a time changes the environment of this process


class WorkerPool(ProcessPoolExecutor):
    """Spawned processes with one thread each. Compiled programs are kept in the folder, for the next time.

    Every worker watches a pipe on which nothing is sent. It ends when the other end is closed: when the pool is
    stopped, or when this process is killed.
    """

    def __init__(self, workers: int, folder: Path) -> None:
        context = get_context("spawn")
        watched, self.watchdog = context.Pipe(duplex=False)
        self.folder = folder
        self.unfinished: set[Future[Any]] = set()
        super().__init__(workers, mp_context=context, initializer=_end_with, initargs=(watched,))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Give the pool a call to make; this may start a process."""
        with worker_environment(self.folder):
            future = super().submit(fn, *args, **kwargs)
        self.unfinished.add(future)
        future.add_done_callback(self.unfinished.discard)
        return future

    def stop(self) -> None:
        """End the workers; those that are at work end in the middle of it."""
        if self.unfinished:
            self.watchdog.close()
        self.shutdown(wait=True, cancel_futures=True)
        self.watchdog.close()


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_cores(workers: int) -> int:
    """Return the number of workers; raise where many would share a core, since each takes one, and memory."""
    most = CROWDED * core_count()
    if not 1 <= workers <= most:
        raise ArgumentError(
            f"{workers:,} workers were asked for, and this process may use {core_count()} cores; use 1 to {most}."
        )
    return workers


@contextmanager
def worker_environment(folder: Path) -> Iterator[None]:
    """Set what a new process inherits: threads, memory, the folder of compiled programs, and Ctrl-C left to us.

    Variables of jax and XLA that may change numbers are not inherited.
    """
    unless_set = {
        "JAX_COMPILATION_CACHE_DIR": str((folder / "compiled").absolute()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        **QUICK,
    }
    # The tracker of multiprocessing is started with the first process, and lets SIGINT through again when it is. A
    # worker would then die of a Ctrl-C that is ours to answer, and take the runs it has finished along.
    resource_tracker.ensure_running()
    with _environment:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        before = dict(os.environ)
        wanted = {**{name: value for name, value in unless_set.items() if name not in before}, **ALONE}
        dropped = set(filter(NUMERIC.fullmatch, before))
        for name in dropped:
            del os.environ[name]
        os.environ.update(wanted)
        try:
            yield
        finally:
            for name in dropped | wanted.keys():
                if name in before:
                    os.environ[name] = before[name]
                else:
                    del os.environ[name]
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def make_run(spec: RunSpec, keep_weights: bool, notice: Notice | None = None) -> RunResult:  # noqa: FBT001  (sent by position)
    """Make one run; its weights travel back only if they are to be kept. In this process `notice` hears of readings.

    In a process of another executor, one thread is set while that still has an effect: until jax is imported. What its
    owner has set stays as it is.
    """
    if "jax" not in sys.modules:
        for name, value in ALONE.items():
            os.environ.setdefault(name, value)
    result = run(spec, notice)
    return result if keep_weights else replace(result, weights=None)


def raise_failure(future: Future[RunResult], spec: RunSpec) -> None:
    """Raise what went wrong with a run, in a sentence."""
    error = future.exception()
    size = "fresh samples" if spec.samples is None else f"m = {spec.samples}"
    run = f"{spec.learner.name} on {spec.task.name} with T = {spec.context}, {size}, seed {spec.seed}"
    if isinstance(error, BrokenProcessPool):
        raise WorkerError(
            f"A worker process ended, most likely for want of memory, at the run of {run} or one beside it. What was "
            "finished is kept; use fewer workers or smaller sizes. If no worker ever starts: a script that has keyhole "
            'train must do so under `if __name__ == "__main__":`.'
        ) from error
    if isinstance(error, Exception) and not isinstance(error, KeyholeError):
        reason = " ".join(str(error).split())[:REASON]
        raise WorkerError(
            f"The run of {run} failed ({type(error).__name__}: {reason}). What was finished is kept; use another "
            "learner or other sizes."
        ) from error
    future.result()


def _end_with(watched: Connection) -> None:
    """End this process when the other end of the pipe is closed."""

    def wait() -> None:
        try:
            watched.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    Thread(target=wait, daemon=True).start()
