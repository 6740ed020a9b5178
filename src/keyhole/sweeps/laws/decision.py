"""The decision rule: when the thresholds of a sweep name a growth law, when they leave it open, and when no law fits.

One decade of T does not separate log T from √T. So a verdict names the runner-up and the odds, and what stands in the
way of a name.

The numbers below were chosen by simulation on seeds of their own. `bench/laws.py` reports, on other seeds, how often
the rule names the right law and how often a wrong one; `naming_rates` does so for any contexts and errors.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from typing import ClassVar

import numpy as np

from keyhole.arrays import Bool, Float, Int
from keyhole.bounds.finite import floor_slope
from keyhole.decimals import percent
from keyhole.errors import DataError
from keyhole.estimate import Estimate
from keyhole.files.record import hidden
from keyhole.sweeps.laws.fit import LawFit, Points, deviance_at, fit_law, read_points
from keyhole.sweeps.laws.growth_laws import LAWS, BentLaw, GrowthLaw, Rival, bent_laws, check_law, read_laws, rival_laws
from keyhole.sweeps.runs.run import SUCCESS
from keyhole.sweeps.thresholds.threshold import Threshold
from keyhole.verdicts import LawStatus

ODDS = 6.0  # the least odds of a law that is named, against every other law
PRICE = 6.0  # of one coefficient, in deviance: a rise is believed from about three standard errors on
MISFIT = 0.01  # a law whose deviance is as large with a smaller probability does not fit
BENT_ODDS = 2.5  # the least odds of the likelihoods, without a price, against a bend of another law
HALFWAY_ODDS = 9.0  # the least odds of the likelihoods against a curve halfway between two laws
WIDE = 300.0  # longest over shortest context, from which on a law that grows may be named
FLAT = 1.5  # the constant is named only if a rise by this factor over the contexts is excluded at the same odds
RULE = {  # as plans record it
    "odds": ODDS,
    "price": PRICE,
    "misfit": MISFIT,
    "bent_odds": BENT_ODDS,
    "wide": WIDE,
    "flat": FLAT,
    "success": SUCCESS,
}
LEAST = 4  # contexts with a threshold: two coefficients, and two more by which the laws may differ
RESAMPLES = 400  # shares are then known to 2.5 %
POWER_DRAWS = 100  # the power is then known to 5 %


@dataclass(frozen=True)
class Decision:
    """The outcome of the rule, one entry for each row of values of the points."""

    laws: tuple[GrowthLaw, ...]
    bends: tuple[BentLaw | Rival, ...]  # the rivals of three numbers; those halfway between two laws are left out
    fits: tuple[LawFit, ...]
    scores: Float[np.ndarray, "laws draws"]
    fit_p: Float[np.ndarray, "laws draws"]  # probability of a deviance as large, were the law true
    bend_deviances: Float[np.ndarray, "bends draws"]
    best: Int[np.ndarray, "draws"]  # place of the law of smallest score
    odds: Float[np.ndarray, "draws"]  # of the best law against the next one
    fitting: Bool[np.ndarray, "draws"]  # whether the best law fits
    straight: Bool[np.ndarray, "draws"]  # whether it stands up to every rival
    obstacle: str  # the rival that it stands up to least, in the first row
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


def decide(points: Points, laws: Sequence[GrowthLaw] = LAWS, *, smooth: bool = True) -> Decision:
    """The decision rule, for each row of the points' values.

    The score of a law is its deviance, −2 ln of its likelihood, and `PRICE` for each coefficient; the odds of two laws
    are e^(half the difference of their scores). The best law is named if

    1. its odds against every other law are at least `ODDS`;
    2. it fits: a deviance as large has at least probability `MISFIT`, by the chi-square law;
    3. it stands up to every rival: one that contains it, such as a bend of its own, is less than `ODDS` times as
       likely; a bend of another law, an offset or a saturating logarithm at least `BENT_ODDS` times less likely; and a
       curve halfway to another law at least `HALFWAY_ODDS` times less likely;
    4. if it grows, the longest context is at least `WIDE` times the shortest; if it is the constant, a rise by a
       factor of `FLAT` over the contexts, or a fall, has odds of at least `ODDS` against it, whatever the law of it.

    It is a misfit if no law fits, or a rival of three coefficients has odds of at least `ODDS` against the best law, at
    their price. Otherwise the answer is left open. Without `smooth` rivals the bends are the only ones, as in plans,
    which were fixed before there were others. Bends contain the constant, with a coefficient more than they have beyond
    a law that grows: in condition 3 it is given the price of that coefficient.

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
    rivals: tuple[BentLaw | Rival, ...] = (
        *bent_laws(points.contexts),
        *(rival_laws(points.contexts) if smooth else ()),
    )
    bends = tuple(rival for rival in rivals if isinstance(rival, BentLaw) or rival.scaled)
    fitted = np.array(
        [fit_law(points, rival if isinstance(rival, BentLaw) else rival.curve).deviance for rival in rivals]
    )
    gains = deviances[best, rows] - fitted
    bent = fitted[[rivals.index(bend) for bend in bends]]
    constant = coefficients[best] == 1
    limits = np.array([[_largest_gain(law, rival) for law in laws] for rival in rivals])[:, best]
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
        obstacle=rivals[int((gains - limits)[:, 0].argmax())].formula,
        ranging=np.where(constant, _is_flat(points, laws), points.ends[1] / points.ends[0] >= WIDE),
        misfit=(fit_p < MISFIT).all(axis=0) | ((deviances[best, rows] - bent).max(axis=0) - price >= 2 * log(ODDS)),
    )


def naming_rates(
    values: Sequence[float] | Float[np.ndarray, "n"],
    contexts: Sequence[float] | Float[np.ndarray, "n"],
    errors: float | Sequence[float] | Float[np.ndarray, "n"],
    *,
    draws: int = 1000,
    seed: int = 0,
    smooth: bool = True,
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
    return shares(decide(points, smooth=smooth))


def shares(decision: Decision) -> dict[str, float]:
    """The share of rows in which each law is named, in which nothing is, and in which no law fits."""
    named = {
        law.name: float((decision.named & (decision.best == place)).mean()) for place, law in enumerate(decision.laws)
    }
    misfit = float(decision.misfit.mean())
    return {**named, "undecided": float((~decision.named & ~decision.misfit).mean()), "misfit": misfit}


def _largest_gain(law: GrowthLaw, rival: BentLaw | Rival) -> float:
    """Return the most that a rival may gain on a law, in deviance, if the law is to be named."""
    if law.parameters == 1:
        return PRICE + 2 * log(ODDS)
    if law == rival.law if isinstance(rival, BentLaw) else law.name in rival.contains:
        return 2 * log(ODDS)
    return -2 * log(BENT_ODDS if isinstance(rival, BentLaw) or rival.scaled else HALFWAY_ODDS)


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
    fit_p: float  # of a deviance as large, were the law true and the intervals its noise; wide ones make it too large
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
    rival: str  # the bent, offset or saturating law that fits best
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


def compare_laws(
    thresholds: Sequence[Threshold],
    *,
    laws: Sequence[str | GrowthLaw] = LAWS,
    confidence: float = 0.9,
    resamples: int = RESAMPLES,
    smooth: bool = True,
) -> LawVerdict:
    """Every law fitted and ranked, with what the decision rule says, and with its error on the longest contexts.

    `laws` are growth laws or registered names of them; the weights are relative to these laws. `confidence` is that of
    the thresholds' intervals, and is given to the coefficients' too. The errors of the points are known, from their
    intervals, so no law has a variance to estimate. Where the points scatter about even the best law by more than their
    intervals allow, the intervals of the coefficients are wider by that much.
    """
    compared = read_laws(laws)
    points = read_points(thresholds, confidence)
    n = len(points.contexts)
    if not _suffice(points):
        raise DataError(
            f"A law of growth was asked of {n} context lengths with a threshold, {int((points.side == 0).sum())} of "
            f"them in reach and bounded on both sides; use at least {LEAST}, and {LEAST - 1} of them in reach."
        )
    for law in compared:
        check_law(law, points.contexts)
    decision = decide(points, compared, smooth=smooth)
    scatter = max(1.0, min(float(fit.deviance[0]) / max(n - fit.law.parameters, 1) for fit in decision.fits))
    resampled = points.resampled(resamples, scatter, np.random.default_rng(0))
    refits = [fit_law(resampled, law) for law in compared]
    wins = np.argmin([fit.deviance / scatter + PRICE * fit.law.parameters for fit in refits], axis=0)
    scores = decision.scores[:, 0]
    support = np.exp((scores.min() - scores) / 2)
    longest = max(1, min(n // 4, n - 3))  # the longest quarter is held out; at least three contexts come before
    earlier, later = points.subset(np.arange(n - longest)), points.subset(np.arange(n - longest, n))
    fitted = [
        FittedLaw(
            law=law,
            coefficients=_coefficients(decision.fits[i], refits[i], confidence),
            deviance=float(decision.fits[i].deviance[0]),
            score=float(scores[i]),
            weight=float(support[i] / support.sum()),
            fit_p=float(decision.fit_p[i, 0]),
            share=float((wins == i).mean()),
            foretold=_held_out_error(earlier, later, law),
        )
        for i, law in enumerate(compared)
    ]
    ranked = tuple(sorted(fitted, key=lambda law: law.score))
    misfit, named = bool(decision.misfit[0]), bool(decision.named[0])
    place = int(decision.bend_deviances[:, 0].argmin())
    ln_odds = (ranked[0].score - float(decision.bend_deviances[place, 0]) - 3 * PRICE) / 2
    verdict = LawVerdict(
        laws=ranked,
        odds=float(decision.odds[0]),
        status="misfit" if misfit else "named" if named else "undecided",
        scatter=scatter,
        monotone_p=_monotone_p(points),
        rival=decision.bends[place].formula,
        rival_odds=exp(min(ln_odds, 700.0)),
        power=_power(decision, points, smooth=smooth),
        held_out=tuple(int(context) for context in later.contexts),
        warnings=(),
    )
    return replace(verdict, warnings=tuple(_warnings(verdict, decision, points)))


def comparable(thresholds: Sequence[Threshold]) -> bool:
    """Return whether laws can be compared: four thresholds that are bounded at all, three of them on both sides."""
    return _suffice(read_points(thresholds, 0.9))  # the confidence moves errors alone, so any will do


def _suffice(points: Points) -> bool:
    return len(points.contexts) >= LEAST and int((points.side == 0).sum()) >= LEAST - 1


def _held_out_error(earlier: Points, later: Points, law: GrowthLaw) -> float | None:
    """The root mean square of ln(threshold/prediction) at the longest contexts.

    A censored point counts only on the side it excludes. None with fewer than 2 bounded points before them.
    """
    if (earlier.side == 0).sum() < 2:
        return None
    gap = later.values - fit_law(earlier, law).ln_values(later.contexts)[0]
    gap = np.where(later.side == 0, gap, np.maximum(gap * later.side, 0.0))
    return float(np.sqrt(np.mean(gap**2)))


def _coefficients(fit: LawFit, refits: LawFit, confidence: float) -> dict[str, Estimate]:
    """The law's coefficients, with the central interval of those fitted to the resamples."""
    values = fit.law.coefficients(fit.level, fit.ln_ratio, fit.ends)
    spread = fit.law.coefficients(refits.level, refits.ln_ratio, refits.ends)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    return {
        name: Estimate(float(values[name][0]), *(float(end) for end in np.quantile(spread[name], ends)))
        for name in values
    }


def _warnings(verdict: LawVerdict, decision: Decision, points: Points) -> Iterator[str]:
    """Say in what way no law fits, what keeps the rule from naming one, and which law predicts better."""
    first = verdict.laws[0]
    if verdict.status == "misfit":
        if max(law.fit_p for law in verdict.laws) < MISFIT:
            falls = "does not fit either: m* falls, or its intervals are too narrow"
            yield f"No law fits. A free rising curve {'does' if verdict.monotone_p >= MISFIT else falls}."
        if verdict.rival_odds >= ODDS:
            yield f"{verdict.rival} explains the points better, odds {verdict.rival_odds:.2g} to 1."
    elif verdict.status == "undecided":
        yield from _obstacles(verdict, decision, points)
    best = best_forecaster(verdict.laws)
    if best is not None and best.name != first.name:
        yield f"{best.formula} foretold T = {', '.join(map(str, verdict.held_out))} better than {first.formula} did."


def _obstacles(verdict: LawVerdict, decision: Decision, points: Points) -> Iterator[str]:
    """Say what keeps the rule from naming a law, where some law fits."""
    first, (low, high) = verdict.laws[0], points.ends
    if not decision.ranging[0] and first.law.parameters == 1:
        yield f"A rise or fall of m* by a factor of {FLAT:g} is not excluded; use a finer precision."
    elif not decision.ranging[0]:
        yield (
            f"T from {low:.0f} to {high:.0f} is too short a range to name a law that grows: the longest context "
            f"has to be {WIDE:.0f} times the shortest, such as 10 to 3000."
        )
    if not decision.fitting[0]:
        yield f"{first.formula} itself does not fit: probability {first.fit_p:.1g}."
    if not decision.straight[0]:
        yield f"{decision.obstacle} explains the points about as well, and is not one of the laws compared."
    if not decision.clear[0]:
        yield (
            f"A name takes odds of {ODDS:g} to 1. On points like these {first.formula} would be named in "
            f"{percent(verdict.power, 0)} of sweeps if it is true: add contexts or runs."
        )


def _power(decision: Decision, points: Points, *, smooth: bool) -> float:
    """Return how often the rule names the best law on points that are redrawn about it with their errors."""
    best = int(decision.best[0])
    centred = Points(points.contexts, decision.fits[best].ln_values(points.contexts)[0], points.errors, points.side)
    centred = centred if (points.side == 0).all() else centred.subset(np.flatnonzero(points.side == 0))
    redrawn = centred.resampled(POWER_DRAWS, 1.0, np.random.default_rng(0))
    return shares(decide(redrawn, decision.laws, smooth=smooth))[decision.laws[best].name]


def _monotone_p(points: Points) -> float:
    """At most how probable points as far from every rising curve are, were a rising curve the truth.

    Statement  Let D be the weighted sum of squares from the points to the nearest non-decreasing curve. If the truth
               does not decrease, P(D ≥ d) ≤ P(χ² with n − 1 degrees of freedom ≥ d).
    Proof      Non-decreasing curves are a convex cone K. With a truth μ in K and errors ε, μ + K lies in K, so the
               distance of μ + ε from K is at most that of ε, and this is at most its distance from the constants in K.
    Source     Ours; isotonic regression is scipy's.
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415  (imported for a verdict, not with this module)
    from scipy.special import chdtrc  # noqa: PLC0415

    known = points.side == 0
    values, weights = points.values[known], points.errors[known] ** -2.0
    distance = float((weights * (values - isotonic_regression(values, weights=weights).x) ** 2).sum())
    return float(chdtrc(len(values) - 1, distance))
