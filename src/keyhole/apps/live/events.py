"""Server-sent events: a page hears of every new line of a job and of every new run in the store.

An event's number is its line in the job's log. A browser that reconnects names the last number it saw, and is sent what
came after it: a reload loses nothing.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import anyio

from keyhole.apps.live.jobs import Job

PAUSE = 0.25  # seconds between two looks at a log
ALIVE = 15.0  # seconds after which a silent stream sends a comment
LONGEST = 256 * 1024  # bytes of a line that is sent


def job_events(job: Job, after: int) -> AsyncIterator[str]:
    """Send the lines of a job's log from this number on, then its end."""
    number, at, rest = 0, 0, b""

    def look() -> tuple[list[str], bool]:
        nonlocal number, at, rest
        ended = job.ended is not None  # read before the log, so that no last line is missed
        new, events = b"", []
        with suppress(OSError), job.log.open("rb") as file:
            file.seek(at)
            new = file.read()
        at += len(new)
        *lines, rest = (rest + new).replace(b"\r", b"\n").split(b"\n")
        for line in filter(bytes.strip, lines):
            number += 1
            if number > after:
                events.append(event("line", {"text": line[:LONGEST].decode("utf8", "replace")}, number))
        return [*events, *([event("end", job.record(), number + 1)] if ended else [])], ended

    return stream(look, PAUSE)


def changes(look: Callable[[], Any]) -> AsyncIterator[str]:
    """Send an event whenever `look` returns another value than before, and at the start."""
    before, number = object(), 0

    def compare() -> tuple[list[str], bool]:
        nonlocal before, number
        now = look()
        if now == before:
            return [], False
        before, number = now, number + 1
        return [event("change", {"value": now}, number)], False

    return stream(compare, 4 * PAUSE)


async def stream(look: Callable[[], tuple[list[str], bool]], pause: float) -> AsyncIterator[str]:
    """Send the events that `look` returns, until it says that these were the last; a comment where there are none."""
    quiet = 0.0
    while True:
        events, ended = await anyio.to_thread.run_sync(look)
        for each in events:
            yield each
        if ended:
            return
        quiet = 0.0 if events else quiet + pause
        if quiet >= ALIVE:
            quiet = 0.0
            yield ": still there\n\n"
        await anyio.sleep(pause)


def event(kind: str, fields: dict[str, Any], number: int) -> str:
    """Write one event in the form of the protocol; JSON has no line breaks, so that one line holds it."""
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(fields)}\n\n"
