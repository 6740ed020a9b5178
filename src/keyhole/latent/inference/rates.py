"""The slope of an error in the length of the context, on logarithmic axes, with an interval.

Bandwidths and ridges as functions of the length of the context: a constant, or a power of T.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import require_positive
from keyhole.errors import ArgumentError, AssumptionError
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


FORM = re.compile(r"\s*(?:(?P<factor>[^*TL]+?)\s*(?:\*\s*(?=[TL])|$))?(?:[TL](?:\s*\^\s*(?P<power>.+?))?)?\s*")


@dataclass(frozen=True)
class PowerOfT:
    """c·T^p, T the number of tokens.

    >>> PowerOfT(0.5, -0.5)(100)
    0.05
    """

    factor: float
    power: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.factor < float("inf") or not isfinite(self.power):
            raise AssumptionError(
                f"A bandwidth or a ridge is a positive number times a power of T; got {self.factor} and the power "
                f"{self.power}."
            )

    def __call__(self, tokens: int) -> float:
        """The value at this length."""
        require_positive("a number of tokens", tokens)
        try:
            value = float(self.factor * float(tokens) ** self.power)
        except OverflowError:
            value = float("inf")
        if not 0 < value < float("inf"):
            raise AssumptionError(
                f"The rule {self} leaves the range of double precision at T = {tokens}; give a power nearer to 0."
            )
        return value

    def __str__(self) -> str:
        """As it is typed."""
        if self.power == 0:
            return f"{self.factor:g}"
        return f"{'' if self.factor == 1 else f'{self.factor:g}*'}T^{self.power:.4g}"


def parse_schedule(text: str) -> PowerOfT:
    """A rule as a person types it: 0.5, T^3/4, or 0.5*T^-1/3.

    >>> parse_schedule("0.5"), parse_schedule("T^3/4"), parse_schedule("2*T^-0.5")
    (PowerOfT(factor=0.5, power=0.0), PowerOfT(factor=1.0, power=0.75), PowerOfT(factor=2.0, power=-0.5))
    """
    match = FORM.fullmatch(text)
    if match is None or not text.strip():
        raise ArgumentError(
            f"{text!r} is not a rule; write a number, or a number and a power of T: 0.5, T^3/4, 0.5*T^-1/3."
        )
    grows = bool(re.search("[TL]", text))
    return PowerOfT(_number(match["factor"] or "1", text), _number(match["power"] or "1", text) if grows else 0.0)


def vanishing_bandwidth(dimension: int) -> PowerOfT:
    """γ_T = ½ T^(−2/(d_s + 4)) for keys on the unit sphere of R^d, whose surface has dimension d_s = d − 1.

    Statement  Squared bias of order γ² and variance of order 1/(Tγ^(d_s/2)) balance there: the mean squared error
               of softmax attention falls like T^(−4/(d_s + 4)).
    Assumes    E[v | k] twice differentiable, keys of density bounded below.
    Source     Standard (kernel regression of bandwidth h, h² = γ).

    >>> round(vanishing_rate(3), 3), str(vanishing_bandwidth(3))
    (-0.667, '0.5*T^-0.3333')
    """
    return PowerOfT(0.5, -2 / (_surface(dimension) + 4))


def vanishing_rate(dimension: int) -> float:
    """The exponent −4/(d_s + 4) of the mean squared error under `vanishing_bandwidth`."""
    return -4 / (_surface(dimension) + 4)


def _surface(dimension: int) -> int:
    if dimension < 2:
        raise AssumptionError(f"A sphere of keys needs at least 2 coordinates; got {dimension}.")
    return dimension - 1


def _number(text: str, whole: str) -> float:
    above, slash, below = text.strip().strip("()").partition("/")
    try:
        return float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        raise ArgumentError(
            f"{text!r} in {whole!r} is not a number; write a number, or a number and a power of T, such as 0.5*T^-1/3."
        ) from None
