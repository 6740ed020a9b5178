"""Progress on stderr: a bar or a table that follows the work on a terminal, and a line now and then in a pipe.

Work that says nothing of its steps is not silent either: in a pipe a line says what it is at, and since when.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Event, Thread
from typing import Any, Protocol, runtime_checkable

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from keyhole.progress import Progress, Watch
from keyhole.show.sample_complexity import standings_document
from keyhole.show.text import to_text

EVERY = 5.0  # seconds between two lines in a pipe, but for milestones
SILENT = 10.0  # seconds after which a line says in a pipe that the work goes on
BAR = 40  # letters
WORDS = 28  # letters of what is being done, beside the bar


@runtime_checkable
class Recorded(Protocol):
    """The state of a piece of work that says itself as a record."""

    def record(self) -> Mapping[str, Any]:
        """The state as plain values."""


class Pace:
    """How fast the steps of a piece of work go, and how long those left will take."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.of: int | None = None
        self.done, self.since, self.last = 0, clock(), 0

    def left(self, progress: Progress) -> float | None:
        """The seconds left: as the work says, or by the steps since the count began; None where nothing is known."""
        if progress.of != self.of or progress.done < self.last:  # another count, which begins with this step
            self.of, self.done, self.since = progress.of, progress.done, self.clock()
        self.last = progress.done
        if progress.seconds_left is not None or progress.of is None or progress.done <= self.done:
            return progress.seconds_left
        return (self.clock() - self.since) * (progress.of - progress.done) / (progress.done - self.done)


@contextmanager
def view_progress(what: str) -> Iterator[Watch]:
    """A watcher that shows the steps of a piece of work on stderr, and takes its picture away when the work ends."""
    console = Console(stderr=True)
    if not console.is_terminal:
        with line_view(what, _write_line, silent=SILENT) as watch:
            yield watch
        return
    with Live(Text(what), console=console, transient=True, refresh_per_second=4) as live:
        pace = Pace()
        yield lambda progress: live.update(picture(progress, pace.left(progress)))


def _write_line(text: str) -> None:
    """A line on stderr; where nobody reads there any more, the work goes on without it."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


@contextmanager
def line_view(
    what: str, write: Callable[[str], object], *, silent: float, clock: Callable[[], float] = time.monotonic
) -> Iterator[Watch]:
    """A watcher that writes lines; between them, after so many silent seconds, one says that the work goes on."""
    begun = last = clock()
    at, ended = what, Event()

    def say(text: str) -> None:
        nonlocal last
        last = clock()
        write(text)

    lines = line_watch(say, clock=clock)

    def watch(progress: Progress) -> None:
        nonlocal at
        at = progress.what
        lines(progress)

    def break_the_silence() -> None:
        while not ended.wait(max(silent - (clock() - last), silent / 100)):
            if clock() - last >= silent:
                say(f"keyhole: {at}; at work for {_clock(clock() - begun)}")

    thread = Thread(target=break_the_silence, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()


def line_watch(write: Callable[[str], object], *, clock: Callable[[], float] = time.monotonic) -> Watch:
    """A watcher that writes a line at every milestone, and one every few seconds of the steps between them."""
    last, pace = clock(), Pace(clock)

    def watch(progress: Progress) -> None:
        nonlocal last
        left = pace.left(progress)
        if progress.milestone or clock() - last >= EVERY:
            last = clock()
            write(f"keyhole: {line(progress, left)}")

    return watch


def line(progress: Progress, left: float | None) -> str:
    """The step in one line, with the seconds left where they are known."""
    counted = "" if not progress.of else f": {progress.done:,} of {progress.of:,}"
    return f"{progress.what}{counted}{f', about {_clock(left)} left' if left and round(left) else ''}"


def picture(progress: Progress, left: float | None) -> RenderableType:
    """The step as a terminal shows it: a table of where the work stands, if it says so, or a bar."""
    detail = progress.detail.record() if isinstance(progress.detail, Recorded) else {}
    if "contexts" in detail:
        words = f"{detail['made']:,} runs made; about {_clock(left or 0)} left"
        return Group(Text(to_text(standings_document(detail))), Text(words))
    row = Table.grid(padding=(0, 1))
    bar = ProgressBar(total=progress.of, completed=progress.done, width=BAR, pulse=progress.of is None)
    counted = f"{progress.done}/{progress.of}" if progress.of else ""
    row.add_row(Text(f"{progress.what:<{WORDS}}"), bar, Text(counted), Text("" if left is None else _clock(left)))
    return row


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
