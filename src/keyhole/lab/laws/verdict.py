"""The result of a comparison of growth laws: each law as fitted, and whether the best one may be named."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keyhole.bounds.finite import floor_slope
from keyhole.estimate import Estimate
from keyhole.lab.laws.growth_laws import GrowthLaw


@dataclass(frozen=True)
class FittedLaw:
    """One law fitted to the thresholds, and how it compares with the others."""

    law: GrowthLaw
    coefficients: Mapping[str, Estimate]  # intervals over resampled thresholds
    aic: float
    weight: float  # Akaike's: the probability of this law if one of those compared is true
    share: float  # of resamples of the thresholds in which this law has the smallest AIC
    held_out_error: float | None  # root mean square of ln(threshold/prediction) at the longest contexts, held out

    @property
    def name(self) -> str:
        """The law's name."""
        return self.law.name

    @property
    def formula(self) -> str:
        """The law's formula."""
        return self.law.formula

    def at(self, context: float) -> float:
        """The law's m*(T)."""
        return self.law.value(float(context), {name: each.value for name, each in self.coefficients.items()})

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} = {each}" for name, each in self.coefficients.items())
        return f"m* = {self.formula} with {numbers}"

    def record(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "name": self.name,
            "formula": self.formula,
            "coefficients": {name: each.record() for name, each in self.coefficients.items()},
            "aic": self.aic,
            "weight": self.weight,
            "share": self.share,
            "foretold": self.held_out_error,
        }


@dataclass(frozen=True)
class LawVerdict:
    """The laws from best to worst, and whether the best one may be named."""

    laws: tuple[FittedLaw, ...]
    odds: float  # of the winner against the runner-up, by AIC
    decided: bool
    scatter: float  # variance about the best law over what the intervals allow; above 1 no law explains all of it
    held_out: tuple[int, ...]  # the longest contexts, which the laws predict from the others
    warnings: tuple[str, ...]

    @property
    def winner(self) -> FittedLaw:
        """The law of smallest AIC."""
        return self.laws[0]

    @property
    def runner_up(self) -> FittedLaw:
        """The law of second smallest AIC."""
        return self.laws[1]

    @property
    def forecaster(self) -> FittedLaw | None:
        """The law that predicts the held-out contexts best."""
        return best_forecaster(self.laws)

    def __str__(self) -> str:
        first, second = self.winner, self.runner_up
        head = "" if self.decided else "undecided: "
        return (
            f"{head}{first.formula} leads, {second.formula} is next; odds {self.odds:.2g} to 1, "
            f"{first.share:.0%} against {second.share:.0%} of resamples"
        )

    def record(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "winner": self.winner.name,
            "runner_up": self.runner_up.name,
            "odds": self.odds,
            "decided": self.decided,
            "scatter": self.scatter,
            "held_out": list(self.held_out),
            "warnings": list(self.warnings),
            "laws": [law.record() for law in self.laws],
        }


def best_forecaster(laws: tuple[FittedLaw, ...]) -> FittedLaw | None:
    """The law with the smallest error on the held-out contexts; None where none could be fitted without them."""
    predicting = [law for law in laws if law.held_out_error is not None]
    return min(predicting, key=lambda law: law.held_out_error or 0.0, default=None)


def slope_beside_floor(law: FittedLaw, sparsity: int) -> str:
    """The slope of a logarithmic law of conjunctions beside that of the floor, which no learner can go under."""
    slope = law.coefficients["b"]
    return (
        f"{slope.value:.3g} samples per unit of ln T ({slope.low:.3g} to {slope.high:.3g}); "
        f"the floor rises by {sparsity}/ln 2 = {floor_slope(sparsity):.3f}"
    )
