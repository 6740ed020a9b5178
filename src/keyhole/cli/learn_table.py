"""A sweep on a terminal while it runs: what is known at each context, how far its round is, and the time left."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from keyhole.lab.thresholds.sweep import Progress, Standing, Watch

BAR = 16  # letters


@contextmanager
def watched() -> Iterator[Watch | None]:
    """A table on stderr that follows the sweep; nothing where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Live(Text("starting"), console=console, transient=True, refresh_per_second=4) as live:
        yield lambda progress: live.update(drawn(progress))


def said(done: int, of: int) -> None:
    """How many certificates there are, on stderr where that is a terminal."""
    console = Console(stderr=True)
    if console.is_terminal:
        console.print(f"certified {done} of {of} runs", end="\r" if done < of else "\n")


def drawn(progress: Progress) -> Group:
    """The table of a moment."""
    table = Table(box=None, pad_edge=False)
    for name in ("T", "m* so far", "runs", "failed unfitted"):
        table.add_column(name, justify="right")
    table.add_column("this round")
    for one in progress.standings:
        bar = ProgressBar(total=max(1, one.round_size), completed=one.round_done, width=BAR)
        state = bar if one.round_size else Text("done", style="green")
        table.add_row(str(one.context), _known(one), str(one.runs), str(one.unfitted), state)
    left = timedelta(seconds=round(progress.seconds_left))
    return Group(table, Text(f"{progress.made:,} runs made; about {left} left"))


def _known(one: Standing) -> str:
    threshold = one.threshold
    if threshold is None:
        return "–"
    if threshold.m is None:
        above = threshold.censored == "above"
        return f"above {threshold.largest}" if above else f"below {threshold.smallest}"
    low, high = ("?" if end is None else f"{end:.3g}" for end in (threshold.low, threshold.high))
    return f"{threshold.m:.3g} ({low}–{high})"
