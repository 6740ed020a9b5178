"""Server-sent events: a page hears of every new line of a job and of every new run in the store.

An event's number is its line in the job's log. A browser that reconnects names the last number it saw, and is sent what
came after it: a reload loses nothing.
"""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio

from keyhole.apps.live.jobs import Job

PAUSE = 0.25  # seconds between two looks
ALIVE = 15.0  # seconds after which a silent stream says that it is there
LONGEST = 256 * 1024  # bytes of a line that is sent


async def job_events(job: Job, after: int) -> AsyncIterator[str]:
    """The lines of a job's log from this number on, then its end."""
    seen, quiet = 0, 0.0
    log = _Lines(job.log)
    while True:
        ended = job.ended is not None  # looked at before the log, so that no last line is missed
        for line in log.read():
            seen += 1
            if seen > after:
                quiet = 0.0
                yield event("line", {"text": line}, seen)
        if ended:
            yield event("end", job.record(), seen + 1)
            return
        quiet += PAUSE
        if quiet >= ALIVE:
            quiet = 0.0
            yield ": still there\n\n"
        await anyio.sleep(PAUSE)


async def changes(look: Callable[[], Any]) -> AsyncIterator[str]:
    """An event whenever what `look` sees is another value than before, and at the start."""
    before, number, quiet = object(), 0, 0.0
    while True:
        now = await anyio.to_thread.run_sync(look)
        quiet += 4 * PAUSE
        if now != before:
            before, number, quiet = now, number + 1, 0.0
            yield event("change", {"value": now}, number)
        elif quiet >= ALIVE:
            quiet = 0.0
            yield ": still there\n\n"
        await anyio.sleep(4 * PAUSE)


def event(kind: str, fields: dict[str, Any], number: int) -> str:
    """One event in the form of the protocol; JSON has no line breaks, so that one line holds it."""
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(fields)}\n\n"


class _Lines:
    """The whole lines of a growing file, each once."""

    def __init__(self, path: Path) -> None:
        self._path, self._at, self._rest = path, 0, b""

    def read(self) -> list[str]:
        """The lines that are new."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
        except OSError:
            return []
        self._at += len(new)
        *whole, self._rest = (self._rest + new).replace(b"\r", b"\n").split(b"\n")
        return [line[:LONGEST].decode("utf8", "replace") for line in whole if line.strip()]
