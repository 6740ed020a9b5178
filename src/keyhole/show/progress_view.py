"""Progress on stderr: a bar on a terminal, a line now and then in a pipe."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from keyhole.progress import Progress as Step
from keyhole.progress import Watch

EVERY = 5.0  # seconds between two lines in a pipe, but for milestones


@contextmanager
def view_progress(what: str) -> Iterator[Watch]:
    """Give a watcher that shows the steps of a piece of work on stderr; a bar goes away when the work ends."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield line_watch(_write_line)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task(what, total=None)
        yield lambda step: bars.update(bar, description=step.what, completed=step.done, total=step.of)


def line_watch(write: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> Watch:
    """Return a watcher that writes a line at every milestone, and one every few seconds of the steps between them."""
    last = clock()

    def watch(step: Step) -> None:
        nonlocal last
        if step.milestone or clock() - last >= EVERY:
            last = clock()
            write(f"keyhole: {step.what}{f': {step.done:,} of {step.of:,}' if step.of else ''}")

    return watch


def _write_line(text: str) -> None:
    """Write a line; where nobody reads any more, the work goes on without it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
