"""The exponent of growth: p of the power law a·T^p nearest to the thresholds, with an interval and its power."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import DataError
from keyhole.estimate import Estimate
from keyhole.sweeps.laws import Points, read_points
from keyhole.sweeps.thresholds import Threshold


def growth_exponent(thresholds: Sequence[Threshold], confidence: float = 0.9) -> Estimate:
    """The exponent of the power law nearest to the thresholds that are bounded on both sides, with its interval.

    It says how fast m* grows over the contexts as a whole, whether or not a power law is true: where the points scatter
    about the power law by more than their intervals allow, the interval is wider by that much. `confidence` is that of
    the thresholds' intervals too.
    """
    points = read_points(thresholds, confidence)
    known = points.subset(np.flatnonzero(points.side == 0))
    if len(known.contexts) < 3:
        raise DataError(
            f"An exponent of growth was asked of {len(known.contexts)} thresholds that are bounded on both sides; use "
            "at least 3."
        )
    value, reach = _exponents(known, confidence)
    return Estimate(float(value[0]), float(value[0] - reach[0]), float(value[0] + reach[0]))


def exponent_rates(
    values: Sequence[float] | Float[np.ndarray, "n"],
    contexts: Sequence[float] | Float[np.ndarray, "n"],
    errors: float | Sequence[float] | Float[np.ndarray, "n"],
    limit: float,
    *,
    confidence: float = 0.9,
    draws: int = 2000,
    seed: int = 0,
) -> dict[str, float]:
    """The power by simulation: how often the whole interval of the exponent lies below the limit, above it, or neither.

    m* has these values at these contexts, and ln m* is measured with normal errors of this size.

    >>> exponent_rates([10, 20, 40, 80], [10, 20, 40, 80], 0.1, 0.5)["above"]
    1.0
    """
    places = np.asarray(contexts, dtype=float)
    sizes = np.broadcast_to(np.asarray(errors, dtype=float), places.shape)
    noise = np.random.default_rng(seed).standard_normal((draws, len(places))) * sizes
    drawn = Points(places, np.log(np.asarray(values, dtype=float)) + noise, sizes, np.zeros(len(places), dtype=int))
    value, reach = _exponents(drawn, confidence)
    below, above = float((value + reach < limit).mean()), float((value - reach > limit).mean())
    return {"below": below, "above": above, "open": 1 - below - above}


def _exponents(points: Points, confidence: float) -> tuple[Float[np.ndarray, "draws"], Float[np.ndarray, "draws"]]:
    """The exponent of each row by weighted least squares in ln T, and half of the length of its interval."""
    values, weights, x = np.atleast_2d(points.values), points.errors**-2.0, np.log(points.contexts)
    x = x - x @ weights / weights.sum()
    spread = float(weights @ x**2)
    value = values @ (weights * x) / spread
    middle = values @ weights / weights.sum()
    left = values - middle[:, None] - np.multiply.outer(value, x)
    scatter = np.maximum(1.0, left**2 @ weights / max(len(x) - 2, 1))
    return np.asarray(value), np.asarray(NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(scatter / spread))
