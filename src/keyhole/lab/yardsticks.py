"""Learners that need no gradient: what a network's threshold is held against."""

from collections.abc import Callable, Mapping
from typing import Any

from keyhole.lab.consistent import Consistent
from keyhole.lab.elimination import Elimination
from keyhole.lab.estimators import CLASSES, Estimator
from keyhole.lab.gf2 import LinearParity
from keyhole.lab.learner import Learner

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
