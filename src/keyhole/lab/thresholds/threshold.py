"""m*(T): the sample size at which training succeeds with a given probability, and how surely it is known.

The probability is absolute: if runs level off at a plateau below it, no sample size reaches it, and that is said.
"""

from dataclasses import dataclass
from math import exp, inf, log
from statistics import NormalDist
from typing import Literal

import numpy as np

from keyhole.lab.thresholds.psychometric import Counts as Counts
from keyhole.lab.thresholds.psychometric import Fit, fit_curves, resample, sudden

Censored = Literal["no", "below", "above"]

DRAWS = 200  # bootstrap resamples: the ends of a 90 % interval then move by a tenth of its width
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

    def __str__(self) -> str:
        asked = f"m* at T = {self.context}, success {self.quantile:g}"
        if self.censored == "below":
            return f"{asked}: below {self.smallest}, the smallest size tried"
        if self.censored == "above" and self.plateau < self.quantile:
            return f"{asked}: not reached; runs level off at {self.plateau:.2g} by m = {self.largest}"
        if self.censored == "above":
            return f"{asked}: above {self.largest}, the largest size tried"
        low = "?" if self.low is None else f"{self.low:.4g}"
        high = "?" if self.high is None else f"{self.high:.4g}"
        return f"{asked}: {self.m:.4g} ({low} to {high})"


def estimate(
    context: int,
    counts: Counts,
    *,
    quantile: float = 0.5,
    confidence: float = 0.9,
    seed: int = 0,
    unfitted: Counts | None = None,
) -> Threshold:
    """The threshold of these counts, and an interval that covers it with the stated confidence.

    The curve is `psychometric`'s, fitted by penalised maximum likelihood. The interval is the hull of three: the middle
    of the likelihood, integrated over what else the curve may be; the θ that a likelihood ratio passes, all widths
    alike; and a bootstrap from the fitted curve. Resampling seeds instead would see no spread at sizes that were run
    three times with one outcome; and where outcomes separate (all fail below, all succeed above) every resample is
    alike, and the likelihood ratio alone knows that m* may lie anywhere between. Rounds stop when the interval is
    narrow, which favours samples that look steep: profiling instead of integrating then covers less often than was
    asked for. `unfitted` counts the failures that did not fit their training set among the same trials.
    """
    fit = fit_curves(counts, quantile)
    shapes = fit.shapes[fit.best[1]]
    censored = censoring(fit)
    low, high = interval(fit, confidence, seed)
    stunted = fit.never >= fit.profile.max()
    return Threshold(
        context=context,
        quantile=quantile,
        m=exp(fit.peak) if censored == "no" else None,
        low=None if low is None else exp(low),
        high=None if high is None else exp(high),
        censored=censored,
        plateau=float(fit.successes[-1] / fit.trials[-1] if stunted else shapes[1]),
        slope=float(shapes[0]),
        trials=int(fit.trials.sum()),
        unfitted=_share(unfitted),
        smallest=int(fit.sizes[0]),
        largest=int(fit.sizes[-1]),
        empirical=empirical(counts, quantile),
    )


def empirical(counts: Counts, quantile: float = 0.5, seeds: int = SEEDS) -> int | None:
    """The smallest m run with at least so many seeds whose success fraction reaches the quantile.

    >>> empirical({10: (3, 20), 20: (2, 2), 30: (12, 20), 40: (20, 20)})
    30
    """
    reached = [m for m, (wins, trials) in counts.items() if trials >= seeds and wins >= quantile * trials]
    return min(reached, default=None)


def likely_interval(fit: Fit, confidence: float) -> tuple[float | None, float | None]:
    """The middle share of the likelihood of θ, integrated over widths and plateaus, and what a likelihood ratio passes.

    Where outcomes separate the likelihood is flat, and its middle share says more about the grid of θ and the usual
    width than about the runs; the likelihood ratio holds all of a gap between two sizes. An end is None where nothing
    bounds it: the ratio still passes at the edge of the grid, or a curve that never reaches the quantile passes.
    """
    drop = NormalDist().inv_cdf((1 + confidence) / 2) ** 2 / 2
    profile = fit.profile
    floor = max(float(profile.max()), fit.never) - drop
    inside = np.flatnonzero(profile >= floor)
    if not len(inside):  # only curves that never reach the quantile pass
        return log(fit.sizes[-1]), None
    (low, high), (least, most) = middle_share(fit, confidence), passing(fit, drop)
    low, high = min(low, least), max(high, most)
    open_above = inside[-1] == len(profile) - 1 or fit.never >= floor or most == inf
    return None if inside[0] == 0 or least == -inf else low, None if open_above else high


def middle_share(fit: Fit, confidence: float) -> tuple[float, float]:
    """The ends of the middle share of the likelihood of θ, integrated over widths and plateaus."""
    weights = np.exp(fit.likelihood - fit.likelihood.max()).sum(axis=1)
    mass = weights.cumsum() - weights / 2  # up to each place itself: a cell's weight lies half on either side of it
    low, high = np.interp([(1 - confidence) / 2, (1 + confidence) / 2], mass / weights.sum(), fit.places)
    return float(low), float(high)


def passing(fit: Fit, drop: float) -> tuple[float, float]:
    """The hull of all θ with a curve, however sudden, whose log-likelihood is within `drop` of the best.

    Widths are not weighed here: what is usual for one learner must not rule out a sudden rise of another. A curve of
    width 0 fits alike wherever its step lies between two sizes, so such a gap passes as a whole or not at all.
    """
    bare, steps = fit.widths_alike, sudden(fit)
    floor = max(float(bare.max()), float(steps.max()), fit.never) - drop
    edges = np.concatenate([[-inf], np.log(fit.sizes), [inf]])
    gaps, smooth = np.flatnonzero(steps >= floor), fit.places[bare >= floor]
    ends = [*smooth[:1], *smooth[-1:], *edges[gaps[:1]], *edges[gaps[-1:] + 1]]
    return float(min(ends, default=inf)), float(max(ends, default=-inf))


def resampled_interval(fit: Fit, confidence: float, seed: int) -> tuple[float, float]:
    """The middle share of θ refitted to data drawn from the fitted curve."""
    drawn = resample(fit, np.random.default_rng(seed), DRAWS)
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def interval(fit: Fit, confidence: float, seed: int) -> tuple[float | None, float | None]:
    """The hull of the two intervals: of the likelihood, and of the bootstrap where there is a fitted threshold.

    A threshold beyond the sizes tried is bounded by the last of them at best: how far beyond it lies, no run tells.
    """
    low, high = likely_interval(fit, confidence)
    side = censoring(fit)
    if side == "above":
        return None if low is None else min(low, log(fit.sizes[-1])), None
    if side == "below":
        return None, None if high is None else max(high, log(fit.sizes[0]))
    drawn = resampled_interval(fit, confidence, seed)
    return None if low is None else min(low, drawn[0]), None if high is None else max(high, drawn[1])


def censoring(fit: Fit) -> Censored:
    """On which side of the sizes tried the best curve has its threshold."""
    if fit.never >= fit.profile.max() or fit.peak > log(fit.sizes[-1]):
        return "above"
    return "below" if fit.peak < log(fit.sizes[0]) else "no"


def _share(counts: Counts | None) -> float | None:
    """The share of all trials, where there are any."""
    trials = sum(n for _, n in (counts or {}).values())
    return sum(k for k, _ in (counts or {}).values()) / trials if trials else None
