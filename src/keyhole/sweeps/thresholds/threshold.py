"""m*(T): the sample size at which training succeeds with a given probability, estimated from counts with an interval.

The probability is absolute: if the success rate levels off below it, no sample size reaches it, and the threshold is
censored above.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, log
from statistics import NormalDist
from typing import Literal

import numpy as np

from keyhole.sweeps.thresholds.psychometric import (
    USUAL,
    Counts,
    Fit,
    WidthPrior,
    check_level,
    fit_curves,
    resampled_peaks,
    step_likelihoods,
    width_prior,
)

Censored = Literal["no", "below", "above"]

DRAWS = 200  # bootstrap resamples: the ends of a 90 % interval then move by a tenth of its width
MOST, LEAST = 60, 36  # runs before a narrow interval may end the rounds: with the usual prior, and at least
SELECTED = 30.0  # runs: the square of the spread times this, over all runs, is by how much an interval is widened
SEEDS = 20  # a success fraction counts from so many on


@dataclass(frozen=True)
class Threshold:
    """m*(T) at a quantile of success, with its interval; an end that the runs do not bound is None."""

    context: int
    quantile: float
    m: float | None
    low: float | None
    high: float | None
    censored: Censored
    plateau: float
    slope: float  # σ: ln m needed to move the log-odds of success by one
    trials: int
    unfitted: float | None  # share of runs that failed and did not fit their training set, where that was recorded
    smallest: int
    largest: int
    empirical: int | None  # the smallest m with that success fraction over at least 20 seeds


def estimate_threshold(
    context: int,
    counts: Counts,
    *,
    quantile: float = 0.5,
    confidence: float = 0.9,
    seed: int = 0,
    unfitted: Counts | None = None,
    prior: WidthPrior = USUAL,
    rounds: bool = False,
) -> Threshold:
    """The threshold of these counts, and an interval that covers it with the stated confidence.

    The curve is that of `psychometric`, fitted by penalised maximum likelihood. The interval is the hull of three: the
    central part of the likelihood, integrated over width and plateau; the θ that a likelihood-ratio test accepts,
    without a prior on the width; and a parametric bootstrap. A nonparametric bootstrap has zero spread at sizes where
    all runs agree. If outcomes separate perfectly (all runs fail below a size, all succeed above), only the likelihood
    ratio covers the whole gap. With a `prior` of the width from other contexts, the test uses it, and the bootstrap is
    left out. Rounds stop when the interval is narrow, which favours samples that look steep: a profile likelihood
    instead of the integral then covers less often than the stated confidence. With `rounds` the runs were chosen in
    rounds that stopped so, short of their budget: the interval is then wider (`widening`), and `estimate` gives its
    m*. `unfitted` counts the failures that did not fit their training set among the same trials.
    """
    check_level("confidence", confidence)
    fit = fit_curves(counts, quantile, prior)
    shapes = fit.shapes[fit.best[1]]
    censored = censored_side(fit)
    low, high = threshold_interval(fit, confidence, seed)
    if rounds:
        low, high = widen((low, high), fit)
    stunted = fit.never >= fit.profile.max()
    checked = sum(trials for _, trials in (unfitted or {}).values())
    return Threshold(
        context=context,
        quantile=quantile,
        m=exp(estimate(fit, (low, high)) if rounds else fit.peak) if censored == "no" else None,
        low=None if low is None else exp(low),
        high=None if high is None else exp(high),
        censored=censored,
        plateau=float(fit.successes[-1] / fit.trials[-1] if stunted else shapes[1]),
        slope=float(shapes[0]),
        trials=int(fit.trials.sum()),
        unfitted=sum(failed for failed, _ in (unfitted or {}).values()) / checked if checked else None,
        smallest=int(fit.sizes[0]),
        largest=int(fit.sizes[-1]),
        empirical=empirical_threshold(counts, quantile),
    )


def empirical_threshold(counts: Counts, quantile: float = 0.5) -> int | None:
    """The smallest m run with at least `SEEDS` seeds whose success fraction reaches the quantile.

    >>> empirical_threshold({10: (3, 20), 20: (2, 2), 30: (12, 20), 40: (20, 20)})
    30
    """
    reached = [m for m, (wins, trials) in counts.items() if trials >= SEEDS and wins >= quantile * trials]
    return min(reached, default=None)


def likelihood_interval(fit: Fit, confidence: float) -> tuple[float | None, float | None]:
    """The hull of the central part of the integrated likelihood of θ and of what a likelihood-ratio test accepts.

    Where outcomes separate perfectly the likelihood is flat, and its central part depends more on the grid of θ and on
    the prior of the width than on the runs; the test accepts all of a gap between two sizes. An end is None where
    nothing bounds it: the test still accepts at the edge of the grid, or accepts a curve that never reaches the
    quantile. A prior of the width from other contexts enters the test; the usual one does not.
    """
    drop = NormalDist().inv_cdf((1 + confidence) / 2) ** 2 / 2
    profile = fit.profile
    floor = max(float(profile.max()), fit.never) - drop
    inside = np.flatnonzero(profile >= floor)
    if not len(inside):  # only curves that never reach the quantile are accepted
        return log(fit.sizes[-1]), None
    low, high = central_interval(fit, confidence)
    accepted = float(fit.places[inside[0]]), float(fit.places[inside[-1]])
    least, most = accepted_interval(fit, drop) if fit.prior == USUAL else accepted
    low, high = min(low, least), max(high, most)
    open_above = inside[-1] == len(profile) - 1 or fit.never >= floor or most == inf
    return None if inside[0] == 0 or least == -inf else low, None if open_above else high


def central_interval(fit: Fit, confidence: float) -> tuple[float, float]:
    """The ends of the central part of the likelihood of θ, integrated over widths and plateaus."""
    weights = np.exp(fit.likelihood - fit.likelihood.max()).sum(axis=1)
    mass = weights.cumsum() - weights / 2  # up to each place itself: half of a cell's weight lies on either side of it
    low, high = np.interp([(1 - confidence) / 2, (1 + confidence) / 2], mass / weights.sum(), fit.places)
    return float(low), float(high)


def accepted_interval(fit: Fit, drop: float) -> tuple[float, float]:
    """The hull of all θ with a curve, of any width from 0, whose log-likelihood is within `drop` of the best.

    The width has no prior here: the usual width of one learner must not rule out a sudden rise of another. A curve of
    width 0 has the same likelihood wherever its step lies between two sizes, so a gap is accepted as a whole or not at
    all.
    """
    bare = (fit.likelihood - width_prior(fit.shapes[:, 0], fit.prior)).max(axis=1)
    steps = step_likelihoods(fit)
    floor = max(float(bare.max()), float(steps.max()), fit.never) - drop
    edges = np.concatenate([[-inf], np.log(fit.sizes), [inf]])
    gaps, smooth = np.flatnonzero(steps >= floor), fit.places[bare >= floor]
    ends = [*smooth[:1], *smooth[-1:], *edges[gaps[:1]], *edges[gaps[-1:] + 1]]
    return float(min(ends, default=inf)), float(max(ends, default=-inf))


@lru_cache(maxsize=256)  # a round of a sweep asks for the same interval several times
def threshold_interval(fit: Fit, confidence: float, seed: int) -> tuple[float | None, float | None]:
    """The hull of the two intervals: of the likelihood, and of the bootstrap where there is a fitted threshold.

    With a prior of the width from other contexts, that of the likelihood alone covers often enough
    (`bench/coverage.py`).
    A threshold beyond the sizes tried is bounded by the last of them at best: no run shows how far beyond it lies.
    """
    low, high = likelihood_interval(fit, confidence)
    side = censored_side(fit)
    if side == "above":
        return None if low is None else min(low, log(fit.sizes[-1])), None
    if side == "below":
        return None, None if high is None else max(high, log(fit.sizes[0]))
    if fit.prior != USUAL:
        return low, high
    peaks = resampled_peaks(fit, np.random.default_rng(seed), DRAWS)
    resampled = np.quantile(peaks, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return None if low is None else min(low, resampled[0]), None if high is None else max(high, resampled[1])


def estimate(fit: Fit, ends: tuple[float | None, float | None]) -> float:
    """ln m* after rounds that stop when its interval is narrow: θ of the likeliest curve, or the interval's middle.

    With a prior of the width from other contexts it is the middle of the interval in m, which then lies within
    m*(1 ± p) as soon as its ends are a factor of (1 + p)/(1 − p) apart. That takes the fewest runs. The middle lies a
    little above the likeliest, by some 2 % at ±20 %.
    """
    low, high = ends
    if fit.prior == USUAL or low is None or high is None:
        return fit.peak
    return log(min(max((exp(low) + exp(high)) / 2, fit.sizes[0]), fit.sizes[-1]))  # not beyond what was tried


def widen(ends: tuple[float | None, float | None], fit: Fit) -> tuple[float | None, float | None]:
    """The interval of ln m* after rounds that stop when it looks narrow: wider about the likeliest, on both sides."""
    factor, peak = widening(fit.prior, float(fit.trials.sum())), fit.peak
    low, high = (None if end is None else peak + factor * (end - peak) for end in ends)
    return None if low is None else min(low, ends[0] or low), None if high is None else max(high, ends[1] or high)


def enough_runs(prior: WidthPrior) -> int:
    """The runs before a narrow interval may end the rounds: the first few often look steeper than they are."""
    return MOST if prior == USUAL else round(min(max(MOST * prior.spread, LEAST), MOST))


def widening(prior: WidthPrior, runs: float) -> float:
    """The factor on the interval of ln m* after so many runs, in rounds that end when it looks narrow.

    Runs that happen to look steeper than the learner is give a narrow interval, and end the rounds. So rounds that stop
    early are a selection, and their intervals would cover m* less often than the confidence. The selection is the
    stronger the less the width is known beforehand. With a prior from other contexts the factor is 1 + 30·spread²/runs;
    else it is 1 + (60/runs)², and 1 below 60 runs, which end for their budget alone. The numbers were chosen by
    simulation, so that over several kinds of curves together about 90 % of the third that stops first cover; of single
    kinds more or fewer do (`bench/coverage.py`).
    """
    if prior != USUAL:
        return 1 + SELECTED * prior.spread**2 / runs
    return 1 + (MOST / runs) ** 2 if runs >= MOST else 1.0


def censored_side(fit: Fit) -> Censored:
    """On which side of the sizes tried the best curve has its threshold."""
    if fit.never >= fit.profile.max() or fit.peak > log(fit.sizes[-1]):
        return "above"
    return "below" if fit.peak < log(fit.sizes[0]) else "no"
