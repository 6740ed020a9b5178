"""The slope of an error in the length of the context, on logarithmic axes, with an interval."""

from collections.abc import Sequence

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import AssumptionError
from keyhole.estimate import Estimate

CONFIDENCE = 0.95
RESAMPLES = 2000


def slope(sizes: Sequence[int], errors: Float[np.ndarray, "sizes"]) -> float:
    """The least-squares slope of log error against log T.

    >>> round(slope([10, 100, 1000], np.array([1.0, 0.1, 0.01])), 12)
    -1.0
    """
    if len(sizes) < 2 or len(set(sizes)) < len(sizes):
        raise AssumptionError(f"A slope needs at least two different sizes; got {list(sizes)}.")
    if not bool(np.all(errors > 0)):
        raise AssumptionError("A slope on logarithmic axes needs positive errors; an exact estimator has none.")
    logs = np.log(np.asarray(sizes, dtype=np.float64))
    centred = logs - logs.mean()
    return float(centred @ np.log(errors) / (centred @ centred))


def fit_slope(
    sizes: Sequence[int],
    errors: Float[np.ndarray, "repeats sizes"],
    rng: np.random.Generator,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> Estimate:
    """The slope of the mean error over repeats, with a bootstrap interval.

    Whole repeats are resampled, since the sizes of one repeat share their tokens. The interval is the basic one on
    the slope's own scale: twice the slope less the quantiles of the resampled slopes. Resampling n repeats
    understates their spread by √((n − 1)/n), and n few repeats deserve Student's quantile: both are made good.
    """
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415  (imported when asked for)

    repeats = len(errors)
    if repeats < 2:
        raise AssumptionError(f"An interval over repeats needs at least two of them; got {repeats}.")
    if not 0 < confidence < 1:
        raise AssumptionError(f"A confidence lies between 0 and 1; got {confidence}.")
    value = slope(sizes, errors.mean(axis=0))
    logs = np.log(np.asarray(sizes, dtype=np.float64))
    centred = (logs - logs.mean()) / np.square(logs - logs.mean()).sum()
    counts = rng.multinomial(repeats, np.full(repeats, 1 / repeats), size=resamples)
    means = counts @ errors / repeats
    drawn = np.log(means[np.all(means > 0, axis=1)]) @ centred  # an error may be 0 by chance in every repeat drawn
    if len(drawn) == 0:
        raise AssumptionError("An interval for a slope needs positive errors in more repeats; give more of them.")
    upper, lower = np.quantile(drawn, [(1 + confidence) / 2, (1 - confidence) / 2])
    level = (1 + confidence) / 2
    wider = float(stdtrit(repeats - 1, level) / ndtri(level)) * (repeats / (repeats - 1)) ** 0.5
    return Estimate(value, value - wider * float(upper - value), value + wider * float(value - lower))
