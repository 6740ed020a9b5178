"""Selection of a growth law: which laws the thresholds support, by what odds, and whether one of them is named.

One decade of T does not separate log T from √T. So a verdict names the runner-up and the odds, and what stands in the
way of a name; `decision.py` has the rule.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import exp

import numpy as np

from keyhole.decimals import percent
from keyhole.errors import DataError
from keyhole.estimate import Estimate
from keyhole.sweeps.laws.decision import (
    BENT_ODDS,
    FLAT,
    MISFIT,
    ODDS,
    PRICE,
    WIDE,
    Decision,
    FittedLaw,
    LawVerdict,
    best_forecaster,
    decide,
    shares,
)
from keyhole.sweeps.laws.fit import LawFit, Points, fit_law, read_points
from keyhole.sweeps.laws.growth_laws import LAWS, GrowthLaw, check_law, read_laws
from keyhole.sweeps.thresholds.threshold import Threshold

LEAST = 4  # contexts with a threshold: two coefficients, and two more by which the laws may differ
RESAMPLES = 400  # shares are then known to 2.5 %
POWER_DRAWS = 100  # the power is then known to 5 %


def compare_laws(
    thresholds: Sequence[Threshold],
    *,
    laws: Sequence[str | GrowthLaw] = LAWS,
    confidence: float = 0.9,
    resamples: int = RESAMPLES,
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
    decision = decide(points, compared)
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
        power=_power(decision, points),
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
        yield f"{verdict.rival} explains the points as well (a name takes odds of {BENT_ODDS:g} to 1)."
    if not decision.clear[0]:
        yield (
            f"A name takes odds of {ODDS:g} to 1. On points like these {first.formula} would be named in "
            f"{percent(verdict.power, 0)} of sweeps if it is true: add contexts or runs."
        )


def _power(decision: Decision, points: Points) -> float:
    """Return how often the rule names the best law on points that are redrawn about it with their errors."""
    best = int(decision.best[0])
    centred = Points(points.contexts, decision.fits[best].ln_values(points.contexts)[0], points.errors, points.side)
    centred = centred if (points.side == 0).all() else centred.subset(np.flatnonzero(points.side == 0))
    redrawn = centred.resampled(POWER_DRAWS, 1.0, np.random.default_rng(0))
    return shares(decide(redrawn, decision.laws))[decision.laws[best].name]


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
