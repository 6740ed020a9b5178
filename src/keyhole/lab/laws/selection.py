"""Selection of a growth law: which laws the thresholds support, by what odds, and whether one of them may be named.

One decade of T does not separate log T from √T. So a verdict names the runner-up and the odds, and it is "undecided"
unless the contexts span enough and every way of comparing agrees. `_objections` holds those rules.
"""

from collections.abc import Sequence
from math import exp
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from keyhole.errors import DataError
from keyhole.estimate import Estimate
from keyhole.lab.laws.fit import LawFit, Points, fit_law, prediction_error, read_points
from keyhole.lab.laws.growth_laws import LAWS, LOG, SQUARE_ROOT, GrowthLaw, check_law, read_laws
from keyhole.lab.laws.planning import share_named
from keyhole.lab.laws.verdict import FittedLaw, LawVerdict, best_forecaster
from keyhole.lab.thresholds.threshold import Threshold

LEAST = 4  # contexts with a threshold: two coefficients, and two more by which the laws may differ
WIDE = 300.0  # longest over shortest context, as of 10..3000: less does not separate the laws
ODDS, SHARE = 10.0, 0.8  # what a verdict needs at least; below, the data are compatible with the runner-up
SCATTER = 1.5  # times the variance that the intervals allow, above which the scatter is reported
RESAMPLES = 400  # shares are then known to 2.5 %


def compare_laws(
    thresholds: Sequence[Threshold],
    *,
    laws: Sequence[str | GrowthLaw] = LAWS,
    confidence: float = 0.9,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> LawVerdict:
    """Every law fitted, and ranked by AIC, by the share of resamples won and by its error on the longest contexts.

    `laws` are growth laws or registered names of them; the weights are relative to these laws. `confidence` is that of
    the thresholds' intervals, and is given to the coefficients' too. The errors of the points are known, from their
    intervals: AIC, the deviance and 2 for each coefficient, is then unbiased however few the points, and the
    small-sample term of AICc, which pays for a variance estimated from the same points, would only favour the constant
    (by 10 at four contexts). Where the points scatter about even the best law by more than their intervals allow, all
    deviances are divided by the excess (QAIC), one more number that all laws have in common: otherwise narrow
    intervals alone would make the odds look large.
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
    fits = [fit_law(points, law) for law in compared]
    scatter = max(1.0, min(float(fit.deviance[0]) / max(n - fit.law.parameters, 1) for fit in fits))
    resampled = points.resampled(resamples, scatter, np.random.default_rng(seed))
    refits = [fit_law(resampled, law) for law in compared]
    scores = [float(_aic(fit, scatter)[0]) for fit in fits]
    wins = np.argmin([_aic(fit, scatter) for fit in refits], axis=0)
    least = min(scores)
    total = sum(exp((least - score) / 2) for score in scores)
    seen, held_out = _split(n)
    fitted = [
        FittedLaw(
            law=law,
            coefficients=_coefficients(fits[i], refits[i], confidence),
            aic=scores[i],
            weight=exp((least - scores[i]) / 2) / total,
            share=float((wins == i).mean()),
            held_out_error=_held_out_error(points, law, seen, held_out),
        )
        for i, law in enumerate(compared)
    ]
    ranked = tuple(sorted(fitted, key=lambda law: law.aic))
    return _verdict(ranked, points, scatter, tuple(int(context) for context in points.contexts[held_out]))


def comparable(thresholds: Sequence[Threshold]) -> bool:
    """Whether the thresholds suffice to compare laws: four that are bounded at all, three of them on both sides."""
    return _suffice(read_points(thresholds, 0.9))  # the confidence moves errors alone, so any will do


def _suffice(points: Points) -> bool:
    """Whether there are enough points, and enough of them bounded on both sides."""
    return len(points.contexts) >= LEAST and int((points.side == 0).sum()) >= LEAST - 1


def _aic(fit: LawFit, scatter: float) -> Float[np.ndarray, "draws"]:
    """−2 ln of the likelihood, tempered by the scatter, and 2 for each coefficient.

    Statement  With z_i ~ N(μ_i, 1) and a k-dimensional linear law fitted, deviance + 2k − n is an unbiased estimate of
               the squared distance from the fitted law to μ, for every n ≥ k: no n − k − 1 enters.
    Proof      The deviance is |(I − P)z|² with mean |(I − P)μ|² + n − k; the fitted law is Pz, and
               E|Pz − μ|² = |(I − P)μ|² + k. The difference, n − 2k, is what 2k makes up for.
    Source     Mallows' C_p; Akaike. Hurvich and Tsai's further term is for an estimated variance.
    """
    return np.asarray(fit.deviance / scatter + 2 * fit.law.parameters)


def _split(n: int) -> tuple[Int[np.ndarray, "k"], Int[np.ndarray, "l"]]:
    """The contexts seen, and the longest quarter, held out; at least three are seen."""
    held_out = max(1, min(n // 4, n - 3))
    return np.arange(n - held_out), np.arange(n - held_out, n)


def _held_out_error(
    points: Points, law: GrowthLaw, seen: Int[np.ndarray, "k"], held_out: Int[np.ndarray, "l"]
) -> float | None:
    """The error of the law's prediction at the longest contexts; None with fewer than 2 bounded points before them."""
    earlier, later = points.subset(seen), points.subset(held_out)
    if (earlier.side == 0).sum() < 2:
        return None
    return prediction_error(later, fit_law(earlier, law).ln_values(later.contexts)[0])


def _coefficients(fit: LawFit, refits: LawFit, confidence: float) -> dict[str, Estimate]:
    """The law's coefficients, with the central interval of those fitted to the resamples."""
    values = fit.law.coefficients(fit.level, fit.ln_ratio, fit.ends)
    spread = fit.law.coefficients(refits.level, refits.ln_ratio, refits.ends)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    return {
        name: Estimate(float(values[name][0]), *(float(end) for end in np.quantile(spread[name], ends)))
        for name in values
    }


class _Objection(NamedTuple):
    """Something to be said against the winner, and whether it forbids to name it."""

    text: str
    forbids: bool


def _verdict(laws: tuple[FittedLaw, ...], points: Points, scatter: float, held_out: tuple[int, ...]) -> LawVerdict:
    """The ranked laws with what is to be said against the first."""
    odds = exp(min((laws[1].aic - laws[0].aic) / 2, 700.0))
    objections = _objections(laws, odds, points, scatter, held_out)
    return LawVerdict(
        laws=laws,
        odds=odds,
        decided=not any(objection.forbids for objection in objections),
        scatter=scatter,
        held_out=held_out,
        warnings=tuple(objection.text for objection in objections),
    )


def _objections(
    laws: tuple[FittedLaw, ...], odds: float, points: Points, scatter: float, held_out: tuple[int, ...]
) -> list[_Objection]:
    """The rules by which a winner is named: each objection, in the order in which they are reported."""
    first, second = laws[:2]
    objections = []
    if points.ends[1] / points.ends[0] < WIDE:
        objections.append(_Objection(_too_narrow(points), forbids=True))
    if (best := best_forecaster(laws)) is not None and best.name != first.name:
        text = f"{best.formula} foretold T = {', '.join(map(str, held_out))} better than {first.formula} did."
        objections.append(_Objection(text, forbids=True))
    if odds < ODDS or first.share < SHARE:
        text = f"The odds of {first.formula} against {second.formula} are too small to name a law."
        objections.append(_Objection(text, forbids=True))
    if scatter > SCATTER:
        text = f"The points scatter about every law {scatter:.1f} times as much as their intervals allow."
        objections.append(_Objection(text, forbids=False))
    return objections


def _too_narrow(points: Points) -> str:
    """The warning that the span of contexts does not separate the laws."""
    noise = float(np.median(points.errors))
    log_named, root_named = (share_named(truth, points.contexts, noise) for truth in (LOG, SQUARE_ROOT))
    return (
        f"T from {points.ends[0]:.0f} to {points.ends[1]:.0f} does not tell log T from √T; use about 10 to 3000 or "
        f"more. With {noise:.0%} noise a point and m* tripling, least squares names log T on these contexts in "
        f"{log_named:.0%} of runs where it is true, and √T in {root_named:.0%}."
    )
