"""A prior for the width of one context's success curve, pooled from the other contexts of the sweep.

A few dozen runs at one context hardly tell the width of its success curve, and how precise m* is depends on it. The
curves of a learner at several contexts lie at different places, and often have much the same width.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import exp, log, sqrt

import numpy as np

from keyhole.arrays import Float
from keyhole.sweeps.thresholds.psychometric import (
    NARROWEST,
    USUAL,
    WIDEST,
    Counts,
    WidthPrior,
    fit_curves,
    width_likelihood,
)
from keyhole.sweeps.thresholds.threshold import censored_side

WIDTHS = np.geomspace(NARROWEST, WIDEST, 25)  # values of σ, a fifth of its natural logarithm apart
MIDDLES = np.linspace(log(NARROWEST), log(WIDEST), 41)  # values of μ
AGAINST = 1.5  # ignore the pooled prior if the context's own runs favour the usual one by these odds
VAGUE = 0.75  # or if its standard deviation of ln σ exceeds this
SPREADS = np.array([0.1, 0.2, 0.35, 0.6])  # values of τ: a tenth, up to a factor of 1.8


def width_beside(own: Counts, others: Sequence[Counts], quantile: float) -> WidthPrior:
    """Return the prior of this context's width, pooled from the other contexts; those without a rise are skipped.

    The usual prior stays if the pooled one is vague, or if the context's own runs speak against it.
    """
    told = [likelihood for counts in others if (likelihood := _told(counts, quantile)) is not None]
    if not told:
        return USUAL
    expected, seen = width_expected(np.stack(told)), _told(own, quantile)
    against = 0.0 if seen is None else _evidence(seen, USUAL) - _evidence(seen, expected)
    return USUAL if expected.spread > VAGUE or against >= log(AGAINST) else expected


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


def _evidence(likelihood: Float[np.ndarray, "w"], prior: WidthPrior) -> float:
    """The log-probability of runs whose widths have this log-likelihood, by a prior, but for a constant."""
    weights = np.exp(-((np.log(WIDTHS / prior.usual) / prior.spread) ** 2) / 2)
    return float(np.logaddexp.reduce(likelihood + np.log(weights / weights.sum() + np.finfo(float).tiny)))


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
