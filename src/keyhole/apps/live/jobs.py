"""Long work: each job is a child process that runs a command of keyhole on the store; one runs, the others wait.

The server holds no result. What a job has finished lies in the store and in the job's own log, so that a server that is
killed loses nothing. A job has a limit of time, and of memory where the system can limit a process from outside. Logs
are removed with the jobs that are forgotten; those that an earlier server left are, too, but for the newest.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from threading import RLock, Thread
from typing import Any, Literal

from keyhole.apps.live.limits import JOB_MEMORY, JOB_SECONDS
from keyhole.errors import ArgumentError

State = Literal["waiting", "running", "done", "failed", "cancelled"]
KEPT = 50  # finished jobs that are remembered, and logs that stay
PATIENCE = 10.0  # seconds in which a cancelled job may end by itself


@dataclass
class Job:
    """One command, and how far it is."""

    number: int
    title: str
    words: tuple[str, ...]
    log: Path
    answered: tuple[int, ...] = (0,)  # exit codes of an answer; any other is a failure
    state: State = "waiting"
    began: float | None = None
    ended: float | None = None
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def record(self) -> dict[str, Any]:
        """Return the fields that a page shows."""
        seconds = None if self.began is None else (self.ended or time.time()) - self.began
        return {"number": self.number, "title": self.title, "state": self.state, "seconds": seconds}


class Jobs:
    """The queue: one job runs at a time."""

    def __init__(self, folder: Path, *, seconds: float = JOB_SECONDS, memory: int = JOB_MEMORY) -> None:
        self._folder, self._seconds, self._memory = folder, seconds, memory
        self._jobs: dict[int, Job] = {}
        self._queue: SimpleQueue[Job | None] = SimpleQueue()  # None ends the worker
        self._lock = RLock()
        self._numbers = count(1)
        Thread(target=self._work, daemon=True).start()

    def add(self, title: str, words: Sequence[str], *, answered: tuple[int, ...] = (0,)) -> Job:
        """Put a command of keyhole into the queue; its words go to the child process as they are.

        `answered` are the exit codes of an answer: that of `prove` is 1 where a wrong word was found.
        """
        with self._lock:
            self._folder.mkdir(parents=True, exist_ok=True)
            number = next(self._numbers)
            name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{number}.log"  # the time comes first, to sort by
            job = self._jobs[number] = Job(number, title, tuple(words), self._folder / name, answered)
            forgotten = [each for each in self._jobs.values() if each.ended is not None][:-KEPT]
            for old in forgotten:
                del self._jobs[old.number]
            own = {each.log for each in (*forgotten, *self._jobs.values())}
            others = sorted(path for path in self._folder.glob("*.log") if path not in own)
            for log in (*(old.log for old in forgotten), *others[:-KEPT]):
                with suppress(OSError):  # another lab on this store may have removed it
                    log.unlink()
            self._queue.put(job)
        return job

    def find(self, number: int) -> Job:
        """Return the job of this number."""
        with self._lock:
            if number not in self._jobs:
                raise ArgumentError(f"Job {number} does not exist.")
            return self._jobs[number]

    def all(self) -> list[Job]:
        """Return every job, the newest first."""
        with self._lock:
            return list(self._jobs.values())[::-1]

    def cancel(self, number: int) -> Job:
        """End a job: one that waits is passed over, one that runs is interrupted and keeps what it has finished."""
        job = self.find(number)
        with self._lock:
            if job.state == "waiting":
                job.state, job.ended = "cancelled", time.time()
            elif job.state == "running":
                job.state = "cancelled"
                if job.process is not None:  # Ctrl-C; what does not end by that is killed
                    _signal(job.process, signal.SIGINT)
                    Thread(target=_end_group, args=(job.process, PATIENCE), daemon=True).start()
        return job

    def close(self) -> None:
        """Cancel everything, for a server that ends."""
        for job in self.all():
            self.cancel(job.number)
        self._queue.put(None)
        for job in self.all():
            if job.process is not None:
                _end_group(job.process, PATIENCE / 2)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            with self._lock:
                if job.state != "waiting":
                    continue
                job.state, job.began = "running", time.time()
                self._start(job)
            code = self._wait(job)
            with self._lock:
                if job.state == "running":
                    job.state = "done" if code in job.answered else "failed"
                job.ended = time.time()  # last: a reader that sees the end sees the state

    def _start(self, job: Job) -> None:
        """Start the child in a process group of its own, so that it and its workers can be ended together."""
        with suppress(OSError), job.log.open("wb") as log:  # no log, no child: the job fails, and the next one starts
            job.process = subprocess.Popen(  # noqa: S603  (a list of words, none of them read by a shell)
                [sys.executable, "-m", "keyhole", *job.words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            with suppress(ImportError, AttributeError, OSError, ValueError):  # ended already, or not on this system
                import resource

                resource.prlimit(job.process.pid, resource.RLIMIT_DATA, (self._memory, self._memory))

    def _wait(self, job: Job) -> int | None:
        """Return the exit code of a job; None where it was not started, or took longer than a job may."""
        if job.process is None:
            return None
        try:
            return job.process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            _signal(job.process, signal.SIGINT)
            _end_group(job.process, PATIENCE)
            note = f"keyhole: ended after {self._seconds:g} s, the limit of the lab; a terminal has none\n"
            with suppress(OSError), job.log.open("ab") as log:
                log.write(note.encode())
            return None


def _end_group(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait so long for a child to end, then kill what is left of its group: workers that outlive it, too."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
