"""The result of a comparison of growth laws: each law as fitted, and whether the best one may be named."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from keyhole.bounds.finite import floor_slope
from keyhole.estimate import Estimate
from keyhole.files.record import hidden
from keyhole.sweeps.laws.decision import FLAT, MISFIT
from keyhole.sweeps.laws.growth_laws import GrowthLaw
from keyhole.verdicts import LawStatus


@dataclass(frozen=True)
class FittedLaw:
    """One law fitted to the thresholds, and how it compares with the others."""

    properties: ClassVar[tuple[str, ...]] = ("name", "formula", "aic")  # of its record

    coefficients: Mapping[str, Estimate]  # intervals over resampled thresholds
    deviance: float  # −2 ln of its likelihood
    score: float  # the deviance and a price for each coefficient; half a difference of scores is ln of the odds
    weight: float  # its part of the sum of e^(−score/2): support beside the laws compared, not a probability
    fit_p: float  # the probability of a deviance as large, were the law true
    share: float  # of redraws of the points, each moved by its error again, in which this law leads: not a probability
    foretold: float | None  # root mean square of ln(threshold/prediction) at the longest contexts, held out
    law: GrowthLaw = hidden()

    @property
    def name(self) -> str:
        """The law's name."""
        return self.law.name

    @property
    def formula(self) -> str:
        """The law's formula."""
        return self.law.formula

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return self.deviance + 2 * self.law.parameters

    def at(self, context: float) -> float:
        """The law's m*(T)."""
        return self.law.value(float(context), {name: each.value for name, each in self.coefficients.items()})

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} = {each}" for name, each in self.coefficients.items())
        return f"m* = {self.formula} with {numbers}"


@dataclass(frozen=True)
class LawVerdict:
    """The laws from best to worst, and whether the best one is named; `decide` has the rule."""

    properties: ClassVar[tuple[str, ...]] = ("winner", "runner_up", "decided")  # of its record

    odds: float  # of the best law against the next one
    status: LawStatus
    scatter: float  # variance about the best law over what the intervals allow; above 1 no law explains all of it
    monotone_p: float  # at most this probable are points as far from every rising curve, were one the truth
    rival: str  # the bent law that fits best
    rival_odds: float  # its odds against the best law, at the price of its coefficients
    power: float  # how often the best law, were it true as fitted, would be named on such points
    held_out: tuple[int, ...]  # the longest contexts, which the laws predict from the others
    warnings: tuple[str, ...]
    laws: tuple[FittedLaw, ...] = hidden()

    @property
    def decided(self) -> bool:
        """Return whether a law is named."""
        return self.status == "named"

    @property
    def winner(self) -> str:
        """The name of the law of smallest score."""
        return self.laws[0].name

    @property
    def runner_up(self) -> str:
        """The name of the law of second smallest score."""
        return self.laws[1].name

    def __str__(self) -> str:
        first, second = self.laws[:2]
        odds = f"its odds over {second.formula}, the next law, are {self.odds:.2g} to 1"
        if self.status == "named":
            flat = f", up to a rise or fall by a factor of {FLAT:g}" if first.law.parameters == 1 else ""
            return f"named: {first.formula}{flat}; {odds}"
        if self.status == "misfit":
            if max(law.fit_p for law in self.laws) < MISFIT:
                return f"misfit: none of the laws compared explains the points; {first.formula} comes nearest"
            better = (
                f"{self.rival} explains the points better than any law compared, at odds of {self.rival_odds:.2g} to 1"
            )
            return f"misfit: {better}; of these {first.formula} comes nearest"
        return f"undecided: {first.formula} has the most support; {odds}"


def best_forecaster(laws: tuple[FittedLaw, ...]) -> FittedLaw | None:
    """The law with the smallest error on the held-out contexts; None where none could be fitted without them."""
    predicting = [law for law in laws if law.foretold is not None]
    return min(predicting, key=lambda law: law.foretold or 0.0, default=None)


def slope_beside_floor(law: FittedLaw, sparsity: int, confidence: float) -> str:
    """The slope of a logarithmic law beside that of the floor, which no learner can go under; its interval's level."""
    slope = law.coefficients["b"]
    return (
        f"{slope.value:.3g} samples per unit of ln T ({100 * confidence:g} % interval {slope.low:.3g} to "
        f"{slope.high:.3g}); the floor rises by {sparsity}/ln 2 = {floor_slope(sparsity):.3f} per unit"
    )
