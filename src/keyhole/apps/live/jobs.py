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
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread
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
        self._queue: deque[Job] = deque()
        self._changed = Condition()
        self._closed = False
        self._count = 0
        self._thread: Thread | None = None

    def add(self, title: str, words: Sequence[str], *, answered: tuple[int, ...] = (0,)) -> Job:
        """Put a command of keyhole into the queue; its words go to the child process as they are.

        `answered` are the exit codes of an answer: that of `prove` is 1 where a wrong word was found.
        """
        with self._changed:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._count += 1
            name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{self._count}.log"
            job = Job(self._count, title, tuple(words), self._folder / name, answered)
            self._jobs[job.number] = job
            for old in [each for each in self._jobs.values() if each.ended is not None][:-KEPT]:
                del self._jobs[old.number]
                _remove(old.log)
            self._remove_old_logs()
            self._queue.append(job)
            if self._thread is None:
                self._thread = Thread(target=self._work, daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return job

    def find(self, number: int) -> Job:
        """The job of this number."""
        with self._changed:
            if number not in self._jobs:
                raise ArgumentError(f"There is no job {number}.")
            return self._jobs[number]

    def all(self) -> list[Job]:
        """Every job, the newest first."""
        with self._changed:
            return sorted(self._jobs.values(), key=lambda job: -job.number)

    def cancel(self, number: int) -> Job:
        """End a job: one that waits leaves the queue, one that runs is interrupted and keeps what it has finished."""
        job = self.find(number)
        with self._changed:
            if job.state == "waiting":
                self._queue.remove(job)
                job.state, job.ended = "cancelled", time.time()
            elif job.state == "running":
                job.state = "cancelled"
                if job.process is not None:  # Ctrl-C; what does not end by that is killed
                    _signal(job.process, signal.SIGINT)
                    Thread(target=_end_group, args=(job.process, PATIENCE), daemon=True).start()
            self._changed.notify_all()
        return job

    def close(self) -> None:
        """Cancel everything, for a server that ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for job in self.all():
            self.cancel(job.number)
        for job in self.all():
            if job.process is not None:
                _end_group(job.process, PATIENCE / 2)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                job = self._queue.popleft()
                job.state, job.began = "running", time.time()
                self._start(job)
            code = self._wait(job)
            with self._changed:
                if job.state == "running":
                    job.state = "done" if code in job.answered else "failed"
                job.ended = time.time()  # last: who sees the end sees the state
                self._changed.notify_all()

    def _wait(self, job: Job) -> int | None:
        """The exit code of a job; None where it was not started, or took longer than a job may."""
        if job.process is None:
            return None
        try:
            return job.process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            _signal(job.process, signal.SIGINT)
            _end_group(job.process, PATIENCE)
            with suppress(OSError), job.log.open("ab") as log:
                log.write(
                    f"keyhole: ended after {self._seconds:g} s, the limit of the lab; a terminal has none\n".encode()
                )
            return None

    def _remove_old_logs(self) -> None:
        """Remove the logs that other servers left, but for the newest."""
        own = {job.log for job in self._jobs.values()}
        for path in sorted(path for path in self._folder.glob("*.log") if path not in own)[:-KEPT]:  # named by time
            _remove(path)

    def _start(self, job: Job) -> None:
        """Start the child in a process group of its own, so that it and its workers can be ended together."""
        try:
            with job.log.open("wb") as log:
                job.process = subprocess.Popen(  # noqa: S603  (a list of words, none of them read by a shell)
                    [sys.executable, "-m", "keyhole", *job.words],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            _limit_memory(job.process.pid, self._memory)
        except OSError:  # no log, no child: the job ends as failed, and the next one has its turn
            job.process = None


def _remove(log: Path) -> None:
    with suppress(OSError):  # another lab on this store may have removed it
        log.unlink()


def _limit_memory(process: int, most: int) -> None:
    """Limit the data that a process, and each that it starts, may hold; a system that cannot do so is left alone."""
    try:
        import resource

        resource.prlimit(process, resource.RLIMIT_DATA, (most, most))
    except (ImportError, AttributeError, OSError, ValueError):  # also a process that has ended already
        return


def _end_group(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait so long for a child to end, then kill what is left of its group: workers that outlive it, too."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return
