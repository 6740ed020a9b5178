"""The decision rule: when the thresholds of a sweep name a growth law, when they leave it open, and when no law fits.

The numbers below were chosen by simulation on seeds of their own. `bench/laws.py` reports, on other seeds, how often
the rule names the right law and how often a wrong one; `naming_rates` does so for any contexts and errors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np

from keyhole.arrays import Bool, Float, Int
from keyhole.bounds.finite import floor_slope
from keyhole.estimate import Estimate
from keyhole.files.record import hidden
from keyhole.sweeps.laws.fit import LawFit, Points, deviance_at, fit_law
from keyhole.sweeps.laws.growth_laws import LAWS, BentLaw, GrowthLaw, bent_laws
from keyhole.verdicts import LawStatus

ODDS = 6.0  # the least odds of a law that is named, against every other law
PRICE = 6.0  # of one coefficient, in deviance: a rise is believed from about three standard errors on
MISFIT = 0.01  # a law whose deviance is as large with a smaller probability does not fit
BENT_ODDS = 2.5  # the least odds of the likelihoods, without a price, against a bend of another law
WIDE = 300.0  # longest over shortest context, from which on a law that grows may be named
FLAT = 1.5  # the constant is named only if a rise by this factor over the contexts is excluded at the same odds


@dataclass(frozen=True)
class Decision:
    """The outcome of the rule, one entry for each row of values of the points."""

    laws: tuple[GrowthLaw, ...]
    bends: tuple[BentLaw, ...]
    fits: tuple[LawFit, ...]
    scores: Float[np.ndarray, "laws draws"]
    fit_p: Float[np.ndarray, "laws draws"]  # probability of a deviance as large, were the law true
    bend_deviances: Float[np.ndarray, "bends draws"]
    best: Int[np.ndarray, "draws"]  # place of the law of smallest score
    odds: Float[np.ndarray, "draws"]  # of the best law against the next one
    fitting: Bool[np.ndarray, "draws"]  # whether the best law fits
    straight: Bool[np.ndarray, "draws"]  # whether it stands up to every bend
    ranging: Bool[np.ndarray, "draws"]  # whether the contexts suffice for it: wide, or a rise is excluded
    misfit: Bool[np.ndarray, "draws"]  # whether no law of the list is the truth

    @property
    def clear(self) -> Bool[np.ndarray, "draws"]:
        """Return whether the odds suffice."""
        return np.asarray(self.odds >= ODDS)

    @property
    def named(self) -> Bool[np.ndarray, "draws"]:
        """Return whether the best law is named."""
        return np.asarray(self.clear & self.fitting & self.straight & self.ranging & ~self.misfit)


def decide(points: Points, laws: Sequence[GrowthLaw] = LAWS) -> Decision:
    """The decision rule, for each row of the points' values.

    The score of a law is its deviance, −2 ln of its likelihood, and `PRICE` for each coefficient; the odds of two laws
    are e^(half the difference of their scores). The best law is named if

    1. its odds against every other law are at least `ODDS`;
    2. it fits: a deviance as large has at least probability `MISFIT`, by the chi-square law;
    3. it stands up to every bend: a bend of its own, which contains it, is less than `ODDS` times as likely, and a bend
       of another law is at least `BENT_ODDS` times less likely;
    4. if it grows, the longest context is at least `WIDE` times the shortest; if it is the constant, a rise by a
       factor of `FLAT` over the contexts, or a fall, has odds of at least `ODDS` against it, whatever the law of it.

    It is a misfit if no law fits, or a bent law has odds of at least `ODDS` against the best law, at the price of its
    three coefficients. Otherwise the answer is left open. Bends contain the constant, with a coefficient more than they
    have beyond a law that grows: in condition 3 it is given the price of that coefficient.

    Statement  Let one of two given curves be true, at points with normal errors. Odds of ODDS or more speak for the
               other with probability at most Φ(−√(2 ln ODDS)) = 2.9 %, however near or far the two are.
    Proof      With d the squared distance of the curves in standard errors, the deviance of the true one exceeds that
               of the other by a normal variable of mean −d and variance 4d. It is above c = 2 ln ODDS with probability
               Φ(−(c + d)/(2√d)), which is largest at d = c. (Curves that are fitted come near this: by simulation.)
    Source     Ours; the score is Schwarz's with a price that does not depend on the number of points.
    """
    from scipy.special import chdtrc  # noqa: PLC0415  (imported for a decision, not with this module)

    laws = tuple(laws)
    fits = tuple(fit_law(points, law) for law in laws)
    deviances = np.array([fit.deviance for fit in fits])
    coefficients = np.array([law.parameters for law in laws])
    scores = deviances + PRICE * coefficients[:, None]
    best, (first, second) = scores.argmin(axis=0), np.sort(scores, axis=0)[:2]
    rows = np.arange(scores.shape[1])
    freedom = (len(points.contexts) - coefficients)[:, None]
    tails = chdtrc(np.maximum(freedom, 1), np.maximum(deviances, 0.0))
    fit_p = np.where(freedom > 0, tails, 1.0)
    bends = bent_laws(points.contexts)
    bent = np.array([fit_law(points, bend).deviance for bend in bends])
    gains = deviances[best, rows] - bent
    constant = coefficients[best] == 1
    limits = np.array([[_largest_gain(law, bend) for law in laws] for bend in bends])[:, best]
    price = PRICE * (3 - coefficients[best])
    return Decision(
        laws=laws,
        bends=bends,
        fits=fits,
        scores=scores,
        fit_p=fit_p,
        bend_deviances=bent,
        best=best,
        odds=np.exp(np.minimum((second - first) / 2, 700.0)),
        fitting=fit_p[best, rows] >= MISFIT,
        straight=(gains < limits).all(axis=0),
        ranging=np.where(constant, _is_flat(points, laws), points.ends[1] / points.ends[0] >= WIDE),
        misfit=(fit_p < MISFIT).all(axis=0) | (gains.max(axis=0) - price >= 2 * log(ODDS)),
    )


def naming_rates(
    values: Sequence[float] | Float[np.ndarray, "n"],
    contexts: Sequence[float] | Float[np.ndarray, "n"],
    errors: float | Sequence[float] | Float[np.ndarray, "n"],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> dict[str, float]:
    """The power of the rule by simulation: how often each law is named where m* has these values at these contexts.

    ln m* is measured with normal errors of this size, so 0.09 is a noise of 9 %. Beside the names of the laws the
    answer has "undecided" and "misfit"; the shares sum to 1.

    >>> naming_rates([50, 50, 50, 50], [25, 50, 100, 200], 0.05, draws=50)["linear"]
    0.0
    """
    places = np.asarray(contexts, dtype=float)
    sizes = np.broadcast_to(np.asarray(errors, dtype=float), places.shape)
    noise = np.random.default_rng(seed).standard_normal((draws, len(places))) * sizes
    points = Points(places, np.log(np.asarray(values, dtype=float)) + noise, sizes, np.zeros(len(places), dtype=int))
    return shares(decide(points))


def shares(decision: Decision) -> dict[str, float]:
    """The share of rows in which each law is named, in which nothing is, and in which no law fits."""
    named = {
        law.name: float((decision.named & (decision.best == place)).mean()) for place, law in enumerate(decision.laws)
    }
    misfit = float(decision.misfit.mean())
    return {**named, "undecided": float((~decision.named & ~decision.misfit).mean()), "misfit": misfit}


def _largest_gain(law: GrowthLaw, bend: BentLaw) -> float:
    """Return the most that a bend may gain on a law, in deviance, if the law is to be named."""
    if law.parameters == 1:
        return PRICE + 2 * log(ODDS)
    return 2 * log(ODDS) if law == bend.law else -2 * log(BENT_ODDS)


def _is_flat(points: Points, laws: Sequence[GrowthLaw]) -> Bool[np.ndarray, "draws"]:
    """Return whether a level m* has the odds that name a law, against a rise or fall by `FLAT` over the contexts."""
    level = [law for law in laws if law.parameters == 1]
    if not level:
        return np.zeros(len(np.atleast_2d(points.values)), dtype=bool)
    moved = [deviance_at(points, law, side * log(FLAT)) for law in laws if law.parameters == 2 for side in (1, -1)]
    return np.asarray(np.min(moved, axis=0) - fit_law(points, level[0]).deviance >= 2 * log(ODDS))


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
        return self.law.value(float(context), {name: number.value for name, number in self.coefficients.items()})

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} = {number}" for name, number in self.coefficients.items())
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
