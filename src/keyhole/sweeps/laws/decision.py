"""The decision rule: when the thresholds of a sweep name a growth law, when they leave it open, and when no law fits.

The numbers below were chosen by simulation on seeds of their own. `bench/laws.py` reports, on other seeds, how often
the rule names the right law and how often a wrong one; `naming_rates` does so for contexts and errors of one's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from keyhole.arrays import Bool, Float, Int
from keyhole.sweeps.laws.bent_laws import BentLaw, bent_laws
from keyhole.sweeps.laws.fit import LawFit, Points, deviance_at, fit_law
from keyhole.sweeps.laws.growth_laws import LAWS, GrowthLaw

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
    laws = tuple(laws)
    fits = tuple(fit_law(points, law) for law in laws)
    deviances = np.array([fit.deviance for fit in fits])
    coefficients = np.array([law.parameters for law in laws])
    scores = deviances + PRICE * coefficients[:, None]
    best, (first, second) = scores.argmin(axis=0), np.sort(scores, axis=0)[:2]
    rows = np.arange(scores.shape[1])
    fit_p = np.array([_chi_square_tail(fit.deviance, len(points.contexts) - fit.law.parameters) for fit in fits])
    bends = bent_laws(points.contexts)
    bent = np.array([fit_law(points, bend).deviance for bend in bends])
    gains = deviances[best, rows] - bent
    constant = coefficients[best] == 1
    limits = np.array([[_limit(law, bend) for law in laws] for bend in bends])[:, best]
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


def _limit(law: GrowthLaw, bend: BentLaw) -> float:
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


def _chi_square_tail(deviance: Float[np.ndarray, "draws"], freedom: int) -> Float[np.ndarray, "draws"]:
    """The probability that a chi-square variable exceeds the deviance; 1 without a degree of freedom."""
    from scipy.special import chdtrc  # noqa: PLC0415  (imported for a decision, not with this module)

    return np.asarray(chdtrc(freedom, np.maximum(deviance, 0.0)) if freedom > 0 else np.ones_like(deviance))
