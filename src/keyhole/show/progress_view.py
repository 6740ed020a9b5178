"""Progress on stderr: a bar or a table that follows the work on a terminal, and a line now and then in a pipe."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
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
BAR = 40  # letters
WORDS = 28  # letters of what is being done, beside the bar


@runtime_checkable
class Recorded(Protocol):
    """The state of a piece of work that says itself as a record."""

    def record(self) -> Mapping[str, Any]:
        """The state as plain values."""


@contextmanager
def viewing(what: str) -> Iterator[Watch]:
    """A watcher that shows the steps of a piece of work on stderr, and takes its picture away when the work ends."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield line_watch(lambda text: console.print(text, soft_wrap=True, highlight=False, markup=False))
        return
    with Live(Text(what), console=console, transient=True, refresh_per_second=4) as live:
        began = time.monotonic()
        yield lambda progress: live.update(picture(progress, time.monotonic() - began))


def line_watch(write: Callable[[str], object], *, clock: Callable[[], float] = time.monotonic) -> Watch:
    """A watcher that writes a line at every milestone, and one every few seconds of the steps between them."""
    last = clock()

    def watch(progress: Progress) -> None:
        nonlocal last
        if progress.milestone or clock() - last >= EVERY:
            last = clock()
            write(f"keyhole: {line(progress)}")

    return watch


def line(progress: Progress) -> str:
    """The step in one line."""
    counted = "" if not progress.of else f": {progress.done:,} of {progress.of:,}"
    left = "" if round(progress.seconds_left or 0) == 0 else f", about {_clock(progress.seconds_left or 0)} left"
    return f"{progress.what}{counted}{left}"


def picture(progress: Progress, seconds: float) -> RenderableType:
    """The step as a terminal shows it: a table of where the work stands, if it says so, or a bar."""
    left = progress.seconds_left
    if left is None and progress.of and progress.done:
        left = seconds * (progress.of - progress.done) / progress.done
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
