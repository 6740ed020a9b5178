"""Thresholds without runs: success curves with a known m*, and thresholds with given intervals."""

from math import exp, log, tanh

from keyhole.sweeps.thresholds.threshold import Threshold


def logistic(middle, width, plateau=1.0, quantile=0.5):
    """A learner that succeeds with probability `quantile` at `middle` samples, as the model has it."""
    shift = log(quantile / (plateau - quantile))
    return lambda m: plateau * (1 + tanh((log(m / middle) / width + shift) / 2)) / 2


def weibull(middle, steepness, plateau=1.0):
    """A learner that the model does not describe: early and late are not alike."""
    scale = middle / (-log(1 - 0.5 / plateau)) ** (1 / steepness)
    return lambda m: plateau * (1 - exp(-((m / scale) ** steepness)))


def threshold(context, m, *, spread=0.1, censored="no"):
    """A threshold with an interval of ±spread in ln m; a censored one is known to its edge only."""
    return Threshold(
        context=context,
        quantile=0.5,
        m=None if censored != "no" else m,
        low=None if censored == "below" else m * exp(-spread),
        high=None if censored == "above" else m * exp(spread),
        censored=censored,
        plateau=1.0,
        slope=0.2,
        trials=60,
        unfitted=None,
        smallest=max(1, int(m)),
        largest=int(m),
        empirical=None,
    )


__all__ = ["logistic", "threshold", "weibull"]
