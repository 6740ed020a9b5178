"""Learners by name, and back from their records. A learner registers itself in its own file."""

from collections.abc import Callable, Mapping
from typing import Any

from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Learner

Record = Mapping[str, Any]


_LEARNERS: dict[str, tuple[Callable[..., Learner], Callable[[Record], Learner]]] = {}  # made by name, by record


def register_learner(
    name: str, make: Callable[..., Learner], from_record: Callable[[Record], Learner] | None = None
) -> None:
    """Make a learner known under a name; without `from_record` the name decides all its settings.

    A name that ends with a colon stands for all that begin with it, and `make` gets the rest. A learner that is passed
    as a value needs a name only where its stored runs are to be made again. The last registration of a name counts, but
    the library's own names are not replaced.
    """
    known, _ = _LEARNERS.get(name, (make, None))
    if known.__module__.startswith("keyhole.") and not make.__module__.startswith("keyhole."):
        raise ArgumentError(f"A learner of one's own was called {name!r}, and keyhole has one; choose another name.")
    _LEARNERS[name] = make, from_record or (lambda _record: make())


def learner_names() -> tuple[str, ...]:
    """Return the registered names, in order; those that end with a colon stand for others and are left out."""
    return tuple(sorted(name for name in _LEARNERS if not name.endswith(":")))


def learner_named(name: str) -> Learner:
    """Return the learner of this name."""
    if name in _LEARNERS and not name.endswith(":"):
        return _LEARNERS[name][0]()
    prefix, colon, rest = name.partition(":")
    if rest and prefix + colon in _LEARNERS:
        return _LEARNERS[prefix + colon][0](rest)
    raise ArgumentError(f"There is no learner {name!r}; there are {', '.join(learner_names())}.")


def learner_from_record(record: Record) -> Learner:
    """Return the learner of a record."""
    name = str(record["name"])
    entry = _LEARNERS.get(name) or _LEARNERS.get(name.partition(":")[0] + ":")
    if entry is None:
        raise ArgumentError(
            f"The learner {name!r} is not registered; there are {', '.join(learner_names())}. Register it with "
            "keyhole.training.learners.register_learner, so that its runs can be made again."
        )
    return entry[1](record)
