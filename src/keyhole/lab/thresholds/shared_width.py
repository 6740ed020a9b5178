"""What the contexts of a sweep tell each other: how suddenly success sets in, which is much the same at all of them.

A learner's curves at several contexts lie at different places, and have much the same width. A few dozen runs at one
context hardly tell its width, and how precise m* is depends on it; the runs at the other contexts know more.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import exp, log, sqrt

import numpy as np
from jaxtyping import Float

from keyhole.lab.thresholds.psychometric import (
    NARROWEST,
    USUAL,
    WIDEST,
    Counts,
    WidthPrior,
    fit_curves,
    width_likelihood,
)
from keyhole.lab.thresholds.threshold import censored_side

WIDTHS = np.geomspace(NARROWEST, WIDEST, 25)  # values of σ, a fifth of its natural logarithm apart
MIDDLES = np.linspace(log(NARROWEST), log(WIDEST), 41)  # values of μ
SPREADS = np.array([0.1, 0.2, 0.35, 0.6])  # values of τ: a tenth, up to a factor of 1.8


def width_beside(others: Sequence[Counts], quantile: float) -> WidthPrior:
    """What the runs at the other contexts tell of the width at this one; of contexts that saw no rise, nothing."""
    told = [likelihood for counts in others if (likelihood := _told(counts, quantile)) is not None]
    return width_expected(np.stack(told)) if told else USUAL


def width_expected(likelihoods: Float[np.ndarray, "c w"]) -> WidthPrior:
    """The prior of one more context's width, given the log-likelihoods of the values `WIDTHS` at some contexts.

    Statement  Let ln σ of each context be Gaussian about μ with standard deviation τ, μ Gaussian as `USUAL` says, and τ
               any of `SPREADS` alike. The width of a further context then has the mean E μ and the variance
               Var μ + E τ² in ln σ, given the others' runs. The prior is the Gaussian with these.
    Proof      The law of total variance.
    Source     Ours: the usual model of partial pooling, on a grid.
    """
    values = np.log(WIDTHS)
    mixing = np.exp(-(((values - MIDDLES[:, None, None]) / SPREADS[:, None]) ** 2) / 2)  # μ × τ × σ
    mixing = mixing / mixing.sum(axis=-1, keepdims=True)
    shares = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True))
    evidence = np.log(mixing @ shares.T + np.finfo(float).tiny).sum(axis=-1)
    evidence = evidence - (((MIDDLES - log(USUAL.usual)) / USUAL.spread) ** 2 / 2)[:, None]
    weights = np.exp(evidence - evidence.max())
    weights = weights / weights.sum()
    mean = float(weights.sum(axis=1) @ MIDDLES)
    variance = float(weights.sum(axis=1) @ (MIDDLES - mean) ** 2 + weights.sum(axis=0) @ SPREADS**2)
    return WidthPrior(exp(mean), sqrt(variance))


def _told(counts: Counts, quantile: float) -> Float[np.ndarray, "w"] | None:
    """The log-likelihood of each width; None where the runs do not show where success sets in."""
    return _told_by(tuple(sorted((m, *tally) for m, tally in counts.items())), quantile)


@lru_cache(maxsize=256)  # every context of a sweep asks for all the others
def _told_by(rows: tuple[tuple[int, int, int], ...], quantile: float) -> Float[np.ndarray, "w"] | None:
    if not any(won for _, won, _ in rows) or all(won == trials for _, won, trials in rows):
        return None
    fit = fit_curves({m: (won, trials) for m, won, trials in rows}, quantile)
    if censored_side(fit) != "no":
        return None
    told = width_likelihood(fit, WIDTHS)
    told.setflags(write=False)
    return told
