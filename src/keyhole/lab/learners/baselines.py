"""Learners that need no gradient: what a network's threshold is held against."""

from collections.abc import Callable, Mapping
from typing import Any

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


def yardstick(name: str, settings: Mapping[str, Any] | None = None) -> Learner | None:
    """The yardstick of this name, or None where there is none."""
    if name in EXACT:
        return EXACT[name]()
    if name.startswith("sklearn:"):
        return Estimator(name.removeprefix("sklearn:"), tuple(sorted((settings or {}).items())))
    return None
