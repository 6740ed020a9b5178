"""Learners by name, and back from their records.

A learner registers itself in its own file: under a name, or as a family of names with a common beginning.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Learner

Record = Mapping[str, Any]


@dataclass(frozen=True)
class _Entry:
    """How a learner is made from a name, or from the part of a name after its family's colon, and from a record."""

    make: Callable[..., Learner]
    from_record: Callable[[Record], Learner]

    @property
    def is_ours(self) -> bool:
        """Whether the library registered it."""
        return self.from_record.__module__.startswith("keyhole.")


_LEARNERS: dict[str, _Entry] = {}
_FAMILIES: dict[str, _Entry] = {}


def register_learner(name: str, make: Callable[[], Learner], from_record: Callable[[Record], Learner]) -> None:
    """Make a learner known under a name: how it is made, and how it is made again from its record.

    A learner that is handed over as a value needs no registration. One that is named, or whose stored runs are to be
    made again, does. A name that is registered again stands for the latest; the library's own names are not replaced.
    """
    _register(_LEARNERS, name, _Entry(make, from_record))


def register_family(prefix: str, make: Callable[[str], Learner], from_record: Callable[[Record], Learner]) -> None:
    """Make known every name that begins with this prefix and a colon; `make` is given the part after the colon."""
    _register(_FAMILIES, prefix, _Entry(make, from_record))


def _register(entries: dict[str, _Entry], name: str, entry: _Entry) -> None:
    known = entries.get(name)
    if known is not None and known.is_ours and not entry.is_ours:
        raise ArgumentError(f"A learner of one's own was called {name!r}, and keyhole has one; choose another name.")
    entries[name] = entry


def learner_names() -> tuple[str, ...]:
    """The names that are registered, in order; a family knows others besides."""
    return tuple(sorted(_LEARNERS))


def learner_named(name: str) -> Learner:
    """The learner of this name."""
    if name in _LEARNERS:
        return _LEARNERS[name].make()
    prefix, _, rest = name.partition(":")
    if rest and prefix in _FAMILIES:
        return _FAMILIES[prefix].make(rest)
    raise ArgumentError(f"There is no learner {name!r}; there are {', '.join(learner_names())}.")


def learner_from_record(record: Record) -> Learner:
    """The learner that a record was made of."""
    name = str(record["name"])
    entry = _LEARNERS.get(name) or _FAMILIES.get(name.partition(":")[0])
    if entry is None:
        raise ArgumentError(
            f"The learner {name!r} is not registered; there are {', '.join(learner_names())}. Register it with "
            "keyhole.training.learners.register_learner, so that its runs can be made again."
        )
    return entry.from_record(record)
