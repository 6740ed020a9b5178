"""A growth law of your own, compared with the library's: does m* go on rising with the context, or does it level off?

m* = a − b·e^(−T/τ) has the form a + b·f(T), so for a fixed τ one line makes it a law: `AffineLaw`. A law of another
form is a class with the members of `GrowthLaw`; here m* = a·(1 + ln T)^p, a power of the logarithm.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from keyhole.sweeps.laws import LAWS, AffineLaw, Array, Ends, LawVerdict, compare_laws
from keyhole.sweeps.thresholds import Threshold

SATURATING = AffineLaw("saturating", "a − b e^(−T/300)", lambda contexts: -np.exp(-contexts / 300))


@dataclass(frozen=True)
class LogPower:
    """The law a·(1 + ln T)^p."""

    name: str = "power of log"
    formula: str = "a (1 + ln T)^p"
    parameters: int = 2

    def ln_rise(self, contexts: Array, ends: Ends, ln_ratio: Array) -> Array:
        """A straight line in ln(1 + ln T): 0 at the shortest context, ln_ratio at the longest."""
        first, last = np.log1p(np.log(ends))
        along = (np.log1p(np.log(contexts)) - first) / (last - first)
        return np.asarray(np.multiply.outer(ln_ratio, along))

    def coefficients(self, level: Array, ln_ratio: Array, ends: Ends) -> dict[str, Array]:
        """The numbers a and p of the line through both ends."""
        first, last = np.log1p(np.log(ends))
        power = ln_ratio / (last - first)
        return {"a": np.exp(level - power * first), "p": power}

    def value(self, context: float, coefficients: Mapping[str, float]) -> float:
        """The formula."""
        return float(coefficients["a"] * (1 + np.log(context)) ** coefficients["p"])


MEASURED = {10: 22, 30: 26, 100: 37, 300: 58, 1000: 78, 3000: 80, 10000: 80}  # T: m*, each known to ±10 %


def verdict() -> LawVerdict:
    """The library's laws and both of ours on the thresholds above."""
    curve = (1.0, 0.2, 100, None, 8, 512, None)  # plateau, slope, trials and what else a sweep knows; no law reads it
    rows = [Threshold(T, 0.5, m, 0.9 * m, 1.1 * m, "no", *curve) for T, m in MEASURED.items()]
    return compare_laws(rows, laws=(*LAWS, SATURATING, LogPower()))


if __name__ == "__main__":
    for law in verdict().laws:
        print(f"{law.weight:6.3f}  {law}")
    print(verdict())
