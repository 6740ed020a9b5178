"""A prior for the width of one context's success curve, pooled from the other contexts of the sweep.

A few dozen runs at one context hardly show the width of its success curve, and the precision of m* depends on it. The
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

WIDTHS = np.geomspace(NARROWEST, WIDEST, 25)  # grid of σ, a fifth of its natural logarithm apart
MEANS = np.linspace(log(NARROWEST), log(WIDEST), 41)  # grid of μ, the mean of ln σ over contexts
SPREADS = np.array([0.1, 0.2, 0.35, 0.6])  # grid of τ, the deviation of ln σ between contexts: up to a factor of 1.8
AGAINST = 1.5  # ignore the pooled prior if the context's own runs favour the usual one by these odds
VAGUE = 0.75  # or if its standard deviation of ln σ exceeds this


def width_beside(own: Counts, others: Sequence[Counts], quantile: float) -> WidthPrior:
    """Return the prior of this context's width, pooled from the other contexts. Contexts without a rise are skipped.

    Return the usual prior if the pooled one is vague, or if the context's own runs speak against it.
    """
    likelihoods = [_likelihood(tuple(sorted(counts.items())), quantile) for counts in others]
    rising = [likelihood for likelihood in likelihoods if likelihood is not None]
    if not rising:
        return USUAL
    pooled = width_expected(np.stack(rising))
    if pooled.spread > VAGUE:
        return USUAL
    likelihood = _likelihood(tuple(sorted(own.items())), quantile)
    if likelihood is None:
        return pooled
    return USUAL if _evidence(likelihood, USUAL) - _evidence(likelihood, pooled) >= log(AGAINST) else pooled


def width_expected(likelihoods: Float[np.ndarray, "c w"]) -> WidthPrior:
    """The prior of one more context's width, given the log-likelihoods of the values `WIDTHS` at some contexts.

    Statement  Let ln σ of each context be Gaussian about μ with standard deviation τ, μ Gaussian as `USUAL` says, and τ
               any of `SPREADS` alike. The width of a further context then has the mean E μ and the variance
               Var μ + E τ² in ln σ, given the others' runs. The prior is the Gaussian with these.
    Proof      The law of total variance.
    Source     Ours: the usual model of partial pooling, on a grid.
    """
    of_width = np.exp(-(((np.log(WIDTHS) - MEANS[:, None, None]) / SPREADS[:, None]) ** 2) / 2)  # μ × τ × σ
    of_width = of_width / of_width.sum(axis=-1, keepdims=True)
    of_runs = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True))  # context × σ
    evidence = np.log(of_width @ of_runs.T + np.finfo(float).tiny).sum(axis=-1)
    evidence = evidence - (((MEANS - log(USUAL.usual)) / USUAL.spread) ** 2 / 2)[:, None]
    posterior = np.exp(evidence - evidence.max())  # μ × τ
    posterior = posterior / posterior.sum()
    of_mean, of_spread = posterior.sum(axis=1), posterior.sum(axis=0)
    mean = float(of_mean @ MEANS)
    variance = float(of_mean @ (MEANS - mean) ** 2 + of_spread @ SPREADS**2)
    return WidthPrior(exp(mean), sqrt(variance))


def _evidence(likelihood: Float[np.ndarray, "w"], prior: WidthPrior) -> float:
    """The log-probability of runs under a prior of the width, but for a constant, from their log-likelihoods."""
    weights = np.exp(-((np.log(WIDTHS / prior.usual) / prior.spread) ** 2) / 2)
    return float(np.logaddexp.reduce(likelihood + np.log(weights / weights.sum() + np.finfo(float).tiny)))


@lru_cache(maxsize=256)  # every context of a sweep looks at all the others
def _likelihood(counts: tuple[tuple[int, tuple[int, int]], ...], quantile: float) -> Float[np.ndarray, "w"] | None:
    """The log-likelihood of each of `WIDTHS`; None where the runs do not show where success sets in."""
    if not any(won for _, (won, _) in counts) or all(won == trials for _, (won, trials) in counts):
        return None
    fit = fit_curves(dict(counts), quantile)
    if censored_side(fit) != "no":
        return None
    likelihood = width_likelihood(fit, WIDTHS)
    likelihood.setflags(write=False)
    return likelihood
