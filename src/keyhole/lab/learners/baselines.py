"""Learners that need no gradient: what a network's threshold is held against."""

from collections.abc import Callable, Mapping

from keyhole.errors import ArgumentError
from keyhole.lab.learners.base import Learner
from keyhole.lab.learners.consistent import Consistent
from keyhole.lab.learners.elimination import Elimination
from keyhole.lab.learners.gf2 import LinearParity
from keyhole.lab.learners.scikit import CLASSES, Estimator

EXACT: Mapping[str, Callable[[], Learner]] = {
    "elimination": Elimination,
    "elimination:signed": lambda: Elimination(signed=True),
    "gf2": LinearParity,
    "consistent:and": Consistent,
    "consistent:junta": lambda: Consistent("junta"),
}
YARDSTICKS = (*EXACT, *(f"sklearn:{kind}" for kind in CLASSES))


def yardstick(name: str, settings: object = None) -> Learner | None:
    """The yardstick of this name, or None where there is none."""
    if name in EXACT:
        return EXACT[name]()
    if name.startswith("sklearn:"):
        return Estimator(name.removeprefix("sklearn:"), _plain(name, settings))
    return None


def _plain(name: str, settings: object) -> tuple[tuple[str, str | int | float | bool | None], ...]:
    """The settings in order: names with numbers, texts or nothing, wherever they come from."""
    if settings is None:
        return ()
    plain = str | int | float | bool | None
    if not isinstance(settings, Mapping) or not all(isinstance(one, str) for one in settings):
        raise ArgumentError(f"The settings of {name} are {settings!r}; they must be names with a value each.")
    if not all(isinstance(value, plain) for value in settings.values()):
        raise ArgumentError(f"The settings of {name} are {settings!r}; values must be numbers, texts or nothing.")
    return tuple(sorted(settings.items()))
