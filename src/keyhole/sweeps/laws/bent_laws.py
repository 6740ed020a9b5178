"""Bent laws: a growth law that begins late or ends early, the rivals that a law has to stand up to before it is named.

A law that stops growing, or that is level at first, is not in the list of laws that are compared, and some law of the
list always fits it best. A bent law stands for it: growth by a law of the list between two contexts, none outside.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float
from keyhole.sweeps.laws.growth_laws import LINEAR, LOG, SQUARE_ROOT, Array, Ends, GrowthLaw

BENDING: tuple[GrowthLaw, ...] = (LOG, SQUARE_ROOT, LINEAR)  # with a free exponent as well a bend imitates every law


@dataclass(frozen=True)
class BentLaw:
    """A law that grows from one context to another, and is level outside."""

    law: GrowthLaw
    start: float
    stop: float
    bend: float  # the one of the two at which growth begins or ends

    @property
    def name(self) -> str:
        """The name of the law that is bent, and where."""
        return f"{self.law.name}, {self._words}"

    @property
    def formula(self) -> str:
        """The formula of the law that is bent, and where."""
        return f"{self.law.formula} {self._words}"

    @property
    def _words(self) -> str:
        return f"up to T = {self.bend:g}" if self.bend == self.stop else f"from T = {self.bend:g}"

    @property
    def parameters(self) -> int:
        """The level and the rise; the place of the bend is a third number, searched outside."""
        return 2

    def ln_rise(self, contexts: Float[np.ndarray, "n"], ends: Ends, ln_ratio: Array) -> Array:
        """The rise of the law between the two contexts."""
        first, last = np.clip(ends, self.start, self.stop)
        return self.law.ln_rise(np.clip(contexts, self.start, self.stop), (float(first), float(last)), ln_ratio)

    def coefficients(self, level: Array, ln_ratio: Array, ends: Ends) -> dict[str, Array]:
        """The numbers of the law that is bent."""
        first, last = np.clip(ends, self.start, self.stop)
        return self.law.coefficients(level, ln_ratio, (float(first), float(last)))

    def value(self, context: float, coefficients: Mapping[str, float]) -> float:
        """The law's m at the nearest context at which it grows."""
        return self.law.value(float(np.clip(context, self.start, self.stop)), coefficients)


def bent_laws(contexts: Float[np.ndarray, "n"]) -> tuple[BentLaw, ...]:
    """Every law of `BENDING` with its growth ended, or begun, at each context between the shortest and the longest.

    >>> [law.formula for law in bent_laws(np.array([10.0, 100.0, 1000.0]))][:2]
    ['a + b ln T up to T = 100', 'a + b ln T from T = 100']
    """
    low, high = float(contexts.min()), float(contexts.max())
    inner = [float(context) for context in contexts if low < context < high]
    return tuple(
        BentLaw(law, start, stop, bend)
        for law in BENDING
        for bend in inner
        for start, stop in ((low, bend), (bend, high))
    )
