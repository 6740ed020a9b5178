"""A worker: a process that makes runs on one core for as long as its starter holds the other end of its watchdog."""

import os
import sys
from dataclasses import replace
from multiprocessing.connection import Connection
from threading import Thread

from keyhole.sweeps.runs.run import RunResult, run
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.training import Notice

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


def begin_work(watchdog: Connection, core: int | None) -> None:
    """Settle on a core, and end when the other end of the watchdog is closed: at a stop, or when the starter is killed.

    The watchdog is a pipe on which nothing is sent. Without it the workers of a killed process would wait for work
    forever.
    """
    if core is not None:
        os.sched_setaffinity(0, {core})
    Thread(target=_end_with, args=(watchdog,), daemon=True).start()


def is_ready() -> bool:
    """The first thing asked of a worker: it starts the process."""
    return True


def make_run(spec: RunSpec, keep_weights: bool, notice: Notice | None = None) -> RunResult:  # noqa: FBT001  (sent by position)
    """Make one run; its weights travel back only if they are to be kept. In this process `notice` hears of readings.

    In a process that somebody lends, one thread is asked for as long as that can still be asked: until jax is imported.
    What its owner has set stays as it is.
    """
    if "jax" not in sys.modules:
        for name, value in ALONE.items():
            os.environ.setdefault(name, value)
    result = run(spec, notice)
    return result if keep_weights else replace(result, weights=None)


def is_alone() -> bool:
    """Whether this process has one thread for its runs, by its environment."""
    return os.environ.get("NPROC") == ALONE["NPROC"]


def _end_with(watchdog: Connection) -> None:
    try:
        watchdog.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)
