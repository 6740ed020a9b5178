"""Progress of long work: one kind of event, and a callable that receives it.

Work that takes long has an argument `watch` and calls it after every step. Who shows the steps (a bar on a terminal, a
line per step in a pipe, nothing) is the caller's choice; the work itself prints nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """The state of a piece of work."""

    done: int
    of: int | None  # steps in all; None: not known yet
    what: str  # the step under way or just done, in words
    seconds_left: float | None = None
    detail: object = None  # the state of the work, for a viewer that knows its type
    milestone: bool = False  # a part has begun or ended: shown even where other steps are left out


Watch = Callable[[Progress], None]


def ignore(progress: Progress) -> None:
    """A watcher that shows nothing."""
