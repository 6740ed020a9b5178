"""The longest context held out: what each law, fitted to the others, predicts there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.estimate import Estimate
from keyhole.sweeps.laws import GrowthLaw, fit_law, read_points
from keyhole.sweeps.thresholds import Threshold

DRAWS = 400  # data sets redrawn, each point by its error
CONFIDENCE = 0.9  # of the intervals
LEAST = 3  # points that a law is fitted to, at least


@dataclass(frozen=True)
class Prediction:
    """A law's prediction of the longest context from the others, with its interval."""

    law: str
    formula: str
    context: int
    predicted: Estimate
    off: float  # ln(measured/predicted) in standard errors of both


def predict_longest(thresholds: Sequence[Threshold], laws: Sequence[GrowthLaw]) -> tuple[Prediction, ...]:
    """m* at the longest context as each law predicts it from all shorter ones, nearest first.

    Nothing is predicted where fewer than three shorter contexts, or the longest, are bounded on one side only.
    """
    points = read_points(thresholds, CONFIDENCE)
    last = len(points.contexts) - 1
    if last < LEAST or (points.side[:last] == 0).sum() < LEAST or points.side[last] != 0:
        return ()
    seen, longest = points.subset(np.arange(last)), points.contexts[last:]
    redrawn = seen.resampled(DRAWS, 1.0, np.random.default_rng(0))
    predictions = []
    for law in laws:
        middle = float(fit_law(seen, law).ln_values(longest)[0, 0])
        spread = fit_law(redrawn, law).ln_values(longest)[:, 0]
        low, high = np.quantile(spread, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        error = float(np.hypot(points.errors[last], spread.std()))
        value = Estimate(*(float(np.exp(each)) for each in (middle, min(low, middle), max(high, middle))))
        off = (float(points.values[last]) - middle) / error
        predictions.append(Prediction(law.name, law.formula, int(longest[0]), value, off))
    return tuple(sorted(predictions, key=lambda each: abs(each.off)))
