"""A screen: its name, its words, and the questions its page asks. A new screen is one file here and one script."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keyhole.apps.live.limits import SPARSITY
from keyhole.apps.live.query import Query
from keyhole.boolean import read_function
from keyhole.errors import ArgumentError


@dataclass(frozen=True)
class Serving:
    """The files that the server may read. The browser cannot change them."""

    store: Path  # the folder of the runs
    models: tuple[str, ...] = ()  # checkpoints: folders, files, or names of packaged models


Answer = Mapping[str, Any]
Question = Callable[[Query, Serving], Answer]


@dataclass(frozen=True)
class Command:
    """Long work: the words of a command of keyhole, and what a person calls it."""

    title: str
    words: tuple[str, ...]
    answered: tuple[int, ...] = (0,)  # exit codes of an answer; any other is a failure


@dataclass(frozen=True)
class Screen:
    """A page of the lab."""

    name: str  # of its address, its script and its template
    title: str
    lead: str  # what can be seen here, in one sentence
    questions: Mapping[str, Question]  # by the name under which its script asks
    commands: Mapping[str, Callable[[Query, Serving], Command]] = field(default_factory=dict)  # long work it can start
    watched: Callable[[Serving], Any] | None = None  # a value that changes when the page should ask again


def require_small(task: str) -> int:
    """Return the number of relevant positions of a task; refuse a text that is not a function, and too many of them."""
    sparsity = read_function(task).sparsity
    if sparsity > SPARSITY:
        raise ArgumentError(f"The task has {sparsity} relevant positions; the lab takes at most {SPARSITY}.")
    return sparsity
