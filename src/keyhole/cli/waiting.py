"""A progress bar for what is counted: on stderr, and only where someone watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def counted(what: str) -> Iterator[Callable[..., None]]:
    """A bar with the time left, told how many are done, how many there are, and what comes next if that changes."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)

        def watch(done: int, of: int, now: str = what) -> None:
            bar.update(task, total=of, completed=done, description=now)

        yield watch
