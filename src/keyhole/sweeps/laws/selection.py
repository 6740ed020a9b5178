"""Selection of a growth law: which laws the thresholds support, by what odds, and whether one of them is named.

One decade of T does not separate log T from √T. So a verdict names the runner-up and the odds, and what stands in the
way of a name; `decision.py` has the rule.
"""

from collections.abc import Sequence
from math import exp, log

import numpy as np

from keyhole.arrays import Int
from keyhole.decimals import percent
from keyhole.errors import DataError
from keyhole.estimate import Estimate
from keyhole.sweeps.laws.decision import BENT_ODDS, FLAT, MISFIT, ODDS, PRICE, WIDE, Decision, decide, shares
from keyhole.sweeps.laws.fit import LawFit, Points, fit_law, prediction_error, read_points
from keyhole.sweeps.laws.growth_laws import LAWS, GrowthLaw, check_law, read_laws
from keyhole.sweeps.laws.verdict import FittedLaw, LawVerdict, best_forecaster
from keyhole.sweeps.thresholds.threshold import Threshold
from keyhole.verdicts import LawStatus

LEAST = 4  # contexts with a threshold: two coefficients, and two more by which the laws may differ
RESAMPLES = 400  # shares are then known to 2.5 %
POWER_DRAWS = 100  # the power is then known to 5 %


def compare_laws(
    thresholds: Sequence[Threshold],
    *,
    laws: Sequence[str | GrowthLaw] = LAWS,
    confidence: float = 0.9,
    resamples: int = RESAMPLES,
    seed: int = 0,
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
    resampled = points.resampled(resamples, scatter, np.random.default_rng(seed))
    refits = [fit_law(resampled, law) for law in compared]
    wins = np.argmin([fit.deviance / scatter + PRICE * fit.law.parameters for fit in refits], axis=0)
    scores = decision.scores[:, 0]
    support = np.exp((scores.min() - scores) / 2)
    seen, held_out = _split(n)
    fitted = [
        FittedLaw(
            law=law,
            coefficients=_coefficients(decision.fits[i], refits[i], confidence),
            deviance=float(decision.fits[i].deviance[0]),
            score=float(scores[i]),
            weight=float(support[i] / support.sum()),
            fit_p=float(decision.fit_p[i, 0]),
            share=float((wins == i).mean()),
            foretold=_held_out_error(points, law, seen, held_out),
        )
        for i, law in enumerate(compared)
    ]
    ranked = tuple(sorted(fitted, key=lambda law: law.score))
    return _verdict(ranked, decision, points, scatter, tuple(int(context) for context in points.contexts[held_out]))


def comparable(thresholds: Sequence[Threshold]) -> bool:
    """Whether the thresholds suffice to compare laws: four that are bounded at all, three of them on both sides."""
    return _suffice(read_points(thresholds, 0.9))  # the confidence moves errors alone, so any will do


def _suffice(points: Points) -> bool:
    """Whether there are enough points, and enough of them bounded on both sides."""
    return len(points.contexts) >= LEAST and int((points.side == 0).sum()) >= LEAST - 1


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


def _verdict(
    laws: tuple[FittedLaw, ...], decision: Decision, points: Points, scatter: float, held_out: tuple[int, ...]
) -> LawVerdict:
    """What the rule says, with everything that stands in the way of a name."""
    misfit, named = bool(decision.misfit[0]), bool(decision.named[0])
    status: LawStatus = "misfit" if misfit else "named" if named else "undecided"
    place = int(decision.bend_deviances[:, 0].argmin())
    rival = decision.bends[place].formula
    ln_odds = (laws[0].score - float(decision.bend_deviances[place, 0]) - 3 * PRICE) / 2
    monotone_p = _monotone_p(points)
    power = _power(decision, points)
    return LawVerdict(
        laws=laws,
        odds=float(decision.odds[0]),
        status=status,
        scatter=scatter,
        monotone_p=monotone_p,
        rival=rival,
        rival_odds=exp(min(ln_odds, 700.0)),
        power=power,
        held_out=held_out,
        warnings=(
            *_misfits(laws, decision, rival, ln_odds, monotone_p),
            *_obstacles(laws, decision, points, rival, power),
            *_poor_forecast(laws, held_out),
        ),
    )


def _power(decision: Decision, points: Points) -> float:
    """How often the best law would be named, were it true as fitted: points redrawn about it, with their errors."""
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


def _misfits(
    laws: tuple[FittedLaw, ...], decision: Decision, rival: str, ln_odds: float, monotone_p: float
) -> list[str]:
    """In what way no law fits, where none does."""
    sentences = []
    if max(law.fit_p for law in laws) < MISFIT:
        nearest = max(laws, key=lambda law: law.fit_p)
        free = (
            "A free rising curve does."
            if monotone_p >= MISFIT
            else "Nor does any rising curve: m* falls, or its intervals are too narrow."
        )
        sentences.append(
            f"No law fits: were {nearest.formula} true, points as far from it had probability {nearest.fit_p:.1g}. "
            f"{free}"
        )
    if decision.misfit[0] and ln_odds >= log(ODDS):
        sentences.append(f"{rival} explains the points better, odds {exp(min(ln_odds, 700.0)):.2g} to 1.")
    return sentences


def _obstacles(laws: tuple[FittedLaw, ...], decision: Decision, points: Points, rival: str, power: float) -> list[str]:
    """What keeps the rule from naming a law, where some law fits."""
    first = laws[0]
    if decision.misfit[0] or decision.named[0]:
        return []
    sentences = []
    if not decision.ranging[0]:
        sentences.append(_too_level(points) if first.law.parameters == 1 else _too_narrow(points))
    if not decision.fitting[0]:
        sentences.append(f"{first.formula} itself does not fit: probability {first.fit_p:.1g}.")
    if not decision.straight[0]:
        sentences.append(f"{rival} explains the points as well (odds of {BENT_ODDS:g} to 1 are asked for).")
    if not decision.clear[0]:
        close = [law.formula for law in laws[1:] if law.score - first.score < 2 * log(ODDS)]
        sentences.append(
            f"A law is named at odds of {ODDS:g} to 1; those of {first.formula} are lower over {', '.join(close)}. "
            f"Were {first.formula} true as fitted, points like these would name it in {percent(power, 0)} of sweeps."
        )
    return sentences


def _poor_forecast(laws: tuple[FittedLaw, ...], held_out: tuple[int, ...]) -> list[str]:
    """A remark where another law predicts the longest contexts better from the others; it forbids nothing."""
    best = best_forecaster(laws)
    if best is None or best.name == laws[0].name:
        return []
    return [f"{best.formula} foretold T = {', '.join(map(str, held_out))} better than {laws[0].formula} did."]


def _too_level(points: Points) -> str:
    """Why the constant is not named."""
    return (
        f"A rise or fall of m* by a factor of {FLAT:g} from T = {points.ends[0]:.0f} to {points.ends[1]:.0f} is not "
        f"excluded at {ODDS:g} to 1; use a finer precision."
    )


def _too_narrow(points: Points) -> str:
    """Why no law that grows is named over a short range, where such laws look alike."""
    return (
        f"T from {points.ends[0]:.0f} to {points.ends[1]:.0f} is too short a range to name a law that grows: for that "
        f"the longest context has to be {WIDE:.0f} times the shortest, such as 10 to 3000."
    )
