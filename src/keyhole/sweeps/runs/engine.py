"""Where runs are made: in spawned processes of this machine, one core each, or by any executor one is given.

A lane takes runs one at a time and keeps what it compiled, so runs of one context go down one lane where they can. A
run takes tenths of seconds to seconds, which makes it a task of its own: a run that is finished is kept at once.
"""

import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from threading import RLock

from keyhole.errors import ArgumentError
from keyhole.sweeps.runs.run import RunResult
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.sweeps.runs.worker import ALONE, QUICK, begin_work, is_ready, make_run

CROWDED = 8  # workers to a core, at most
AHEAD = 2  # runs given to a lane at once: one under way, one so that it never waits
NUMERIC = re.compile("XLA_FLAGS|JAX_(?!.*(CACHE|LOG|TRACEBACK|PLATFORM|DEVICE|CPU)).*")  # may change numbers
_environment = RLock()  # one thread at a time changes the environment of this process


@dataclass(eq=False)
class Lane:
    """An executor, the runs that are under way in it, and the contexts it has seen."""

    executor: Executor
    room: int
    watchdog: Connection | None = None  # closing it ends the process behind the executor
    started: Future[bool] | None = None
    in_flight: dict[Future[RunResult], RunSpec] = field(default_factory=dict)
    seen: list[int] = field(default_factory=list)  # contexts, the latest last

    @property
    def free(self) -> int:
        """How many more runs it takes."""
        return self.room - len(self.in_flight)

    def see(self, context: int) -> None:
        """Remember a context as the latest."""
        self.seen = [*(other for other in self.seen if other != context), context]

    def submit(self, spec: RunSpec, *, keep_weights: bool) -> None:
        """Give it a run to make."""
        self.in_flight[self.executor.submit(make_run, spec, keep_weights)] = spec

    def close(self) -> None:
        """Stop at once; what is under way is given up."""
        for future in self.in_flight:
            future.cancel()
        if self.watchdog is None:  # the executor is its owner's
            return
        if self.in_flight:
            self.watchdog.close()
        self.executor.shutdown(wait=True, cancel_futures=True)
        self.watchdog.close()


def start_processes(workers: int, folder: Path) -> list[Lane]:
    """A lane per worker: each a spawned process with one thread, pinned where every core has a worker of its own."""
    if workers < 1:
        raise ArgumentError(f"{workers} workers were asked for; at least one is needed.")
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    pins = cores if workers == len(cores) else [None] * workers
    lanes: list[Lane] = []
    try:
        with worker_environment(folder):
            lanes += [_start_process(core) for core in pins]
    except BaseException:  # Ctrl-C waited until here
        for lane in lanes:
            lane.close()
        raise
    return lanes


def borrow(executor: Executor, room: int) -> list[Lane]:
    """One lane through an executor that is somebody else's: a cluster's, or a pool already there."""
    if room < 1:
        raise ArgumentError(f"Room for {room} runs at once was offered; at least one is needed.")
    return [Lane(executor, room)]


def core_count() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_cores(workers: int) -> int:
    """The workers asked for; refused where many would have to share a core, since each takes one, and memory."""
    most = CROWDED * core_count()
    if not 1 <= workers <= most:
        raise ArgumentError(
            f"{workers:,} workers were asked for, and this process may use {core_count()} cores; use 1 to {most}."
        )
    return workers


def spawn_pool(workers: int, core: int | None = None) -> tuple[ProcessPoolExecutor, Connection]:
    """Processes to be spawned, and the watchdog that ends them at once when it is closed or this process is killed."""
    context = get_context("spawn")
    watched, watchdog = context.Pipe(duplex=False)
    return ProcessPoolExecutor(workers, mp_context=context, initializer=begin_work, initargs=(watched, core)), watchdog


def _start_process(core: int | None) -> Lane:
    executor, watchdog = spawn_pool(1, core)
    return Lane(executor, AHEAD, watchdog, executor.submit(is_ready))


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
