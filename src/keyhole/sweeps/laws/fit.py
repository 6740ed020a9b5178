"""A growth law fitted to thresholds with intervals, to many resamples of them at once.

ln m*(T) is Gaussian about the law, and its interval gives the standard error. A threshold known only to lie beyond the
sizes tried, or whose interval is open at one end, enters by the probability of lying there. If m* has no upper bound,
a law is not penalised for predicting a large value. Thresholds without any bound are dropped.

Beside m* stand the accuracy of the best constant answer, and the information-theoretic lower bound on m*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from statistics import NormalDist

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.boolean import influences, probability
from keyhole.bounds import information_floor
from keyhole.errors import DataError
from keyhole.sweeps.laws.growth_laws import GrowthLaw
from keyhole.sweeps.runs.run import FRESH, SUCCESS
from keyhole.sweeps.thresholds.psychometric import check_level
from keyhole.sweeps.thresholds.threshold import Threshold
from keyhole.training import SparseTask, Task

LEAST_ERROR = 0.01  # m* is a whole number of samples, from some hundred runs: none is known better than to 1 %
MESH, PASSES = 17, 4  # ln ρ is searched on a mesh, and three more times between the neighbours of its best point
STEEP = 4.0  # how far beyond the rise of the data ln ρ is searched
NEWTON = 8  # steps for the level where points are censored: ln Φ is nearly quadratic where it is steep


@dataclass(frozen=True)
class Points:
    """ln m* at each context, its standard error, and on which side of it the truth is known to lie (0: both)."""

    contexts: Float[np.ndarray, "n"]
    values: Float[np.ndarray, "*draws n"]
    errors: Float[np.ndarray, "n"]
    side: Int[np.ndarray, "n"]  # +1: m* is above the value, −1: below

    @property
    def ends(self) -> tuple[float, float]:
        """The shortest and the longest context."""
        return float(self.contexts.min()), float(self.contexts.max())

    def subset(self, chosen: Int[np.ndarray, "k"]) -> "Points":
        """Some of the points."""
        return Points(self.contexts[chosen], self.values[..., chosen], self.errors[chosen], self.side[chosen])

    def resampled(self, draws: int, scatter: float, rng: np.random.Generator) -> "Points":
        """Points redrawn with their errors; a point known on one side only stays where it is."""
        noise = rng.standard_normal((draws, len(self.contexts))) * self.errors * np.sqrt(scatter)
        return Points(self.contexts, self.values + np.where(self.side == 0, noise, 0.0), self.errors, self.side)


@dataclass(frozen=True)
class LawFit:
    """The level and ln ρ of a law, one for each data set, and −2 ln of its likelihood."""

    law: GrowthLaw
    ends: tuple[float, float]
    level: Float[np.ndarray, "draws"]
    ln_ratio: Float[np.ndarray, "draws"]
    deviance: Float[np.ndarray, "draws"]

    def ln_values(self, contexts: Float[np.ndarray, "n"]) -> Float[np.ndarray, "draws n"]:
        """The fitted ln m at each context."""
        return np.asarray(self.level[:, None] + self.law.ln_rise(contexts, self.ends, self.ln_ratio))


def read_points(thresholds: Sequence[Threshold], confidence: float) -> Points:
    """Thresholds as points on the log scale, their intervals as standard errors; those without any bound are dropped.

    With an open end above, m* = e^v is only known to lie above: a law ℓ has likelihood Φ((ℓ − v)/e), which is ½ at the
    estimate, (1 − confidence)/2 at the lower end of the interval, and 1 far above; below, likewise.
    """
    check_level("confidence", confidence)
    width = NormalDist().inv_cdf((1 + confidence) / 2)
    contexts, values, side, errors = [], [], [], []
    for threshold in sorted(thresholds, key=lambda each: each.context):
        low, high = (None if end is None else log(end) for end in (threshold.low, threshold.high))
        ends = [end for end in (low, high) if end is not None]
        if not ends:
            continue
        # without an estimate the edge of the sizes tried is a sharp bound, of error 0 if the interval ends there
        edge = threshold.largest if threshold.censored == "above" else threshold.smallest
        middle = log(edge if threshold.m is None else threshold.m)
        contexts.append(threshold.context)
        values.append(middle)
        side.append(1 if high is None else -1 if low is None else 0)
        errors.append(sum(abs(end - middle) / width for end in ends) / len(ends))
    if len(set(contexts)) < len(contexts):
        raise DataError("A growth law was asked for with two thresholds at one context; give one for each.")
    return Points(
        np.array(contexts, dtype=float),
        np.array(values, dtype=float),
        np.maximum(np.array(errors, dtype=float), LEAST_ERROR),
        np.array(side, dtype=int),
    )


def fit_law(points: Points, law: GrowthLaw) -> LawFit:
    """The most likely level and ln ρ for each row of values."""
    values = np.atleast_2d(points.values)
    reach = float(np.ptp(values)) + STEEP
    mesh = np.linspace(-STEEP, reach, MESH) if law.parameters > 1 else np.zeros(1)
    ratios = np.broadcast_to(mesh, (len(values), len(mesh)))
    rows = np.arange(len(values))
    for turn in range(PASSES):
        rise = law.ln_rise(points.contexts, points.ends, ratios)
        level = _level(values[:, None, :] - rise, points)
        deviance = _deviance(values[:, None, :] - rise - level[..., None], points)
        best = deviance.argmin(axis=1)
        fit = LawFit(law, points.ends, level[rows, best], ratios[rows, best], deviance[rows, best])
        if law.parameters == 1:
            break
        step = (mesh[-1] - mesh[0]) / (MESH - 1) / ((MESH - 1) / 2) ** turn
        ratios = fit.ln_ratio[:, None] + np.linspace(-step, step, MESH)
    return fit


def deviance_at(points: Points, law: GrowthLaw, ln_ratio: float) -> Float[np.ndarray, "draws"]:
    """−2 ln of the likelihood with ln ρ given, at the most likely level."""
    values = np.atleast_2d(points.values)
    residual = (values - law.ln_rise(points.contexts, points.ends, np.array(ln_ratio)))[:, None, :]
    return np.asarray(_deviance(residual - _level(residual, points)[..., None], points)[:, 0])


def _level(residual: Float[np.ndarray, "draws mesh n"], points: Points) -> Float[np.ndarray, "draws mesh"]:
    """The most likely α: a weighted mean, moved by Newton's steps where points are censored."""
    from scipy.special import log_ndtr  # noqa: PLC0415  (imported for a fit, not with this module)

    exact = points.side == 0
    weight = np.where(exact, points.errors**-2.0, 0.0)
    level = np.asarray(residual @ weight / weight.sum())
    if exact.all():
        return level
    beyond = ~exact
    side, error, edge = points.side[beyond], points.errors[beyond], residual[..., beyond]
    middle, total = level, weight.sum()
    for _ in range(NEWTON):
        z = side * (level[..., None] - edge) / error
        hazard = np.exp(-(z**2) / 2 - log_ndtr(z)) / np.sqrt(2 * np.pi)  # φ/Φ, the derivative of ln Φ
        slope = (middle - level) * total + (side * hazard / error).sum(axis=-1)
        level = level + slope / (total + (hazard * (z + hazard) / error**2).sum(axis=-1))
    return level


def _deviance(residual: Float[np.ndarray, "draws mesh n"], points: Points) -> Float[np.ndarray, "draws mesh"]:
    """−2 ln of the likelihood, up to a constant."""
    from scipy.special import log_ndtr  # noqa: PLC0415  (imported for a fit, not with this module)

    z = residual / points.errors
    exact = points.side == 0
    squares = (z[..., exact] ** 2).sum(axis=-1)
    return np.asarray(squares - 2 * log_ndtr(-(points.side * z)[..., ~exact]).sum(axis=-1))


# A predictor with this error passes for a success with probability below 1e-6: five standard errors beyond the line.
TOLERATED = 1 - SUCCESS + 5 * sqrt(SUCCESS * (1 - SUCCESS) / FRESH)


def task_floor(task: Task, context: int, quantile: float = 0.5) -> float | None:
    """Fewest labels with which any learner succeeds this often; None where success does not need the positions.

    Statement  Bits are 1 with probability p, and every relevant position has influence above 2ε / min(p, 1−p). Then
               success (error ≤ ε) with probability ≥ q takes m ≥ log₂ C(T, s) + log₂ q samples.
    Assumes    Inputs are drawn without regard to the hidden set: only labels tell of it. Training sets redrawn until
               they are balanced tell by their inputs too, and have no such floor: None.
    Proof      Let S ≠ S′ be two places of the function and i ∈ S∖S′. Flipping bit i changes f_S with probability
               Inf_i and never f_S′, so of two inputs that differ there the functions disagree on one:
               P(f_S ≠ f_S′) ≥ Inf_i · min(p, 1−p) > 2ε. No predictor is within ε of both: success names the set,
               and `information_floor` applies with δ = 1 − q. Noise only makes it harder.
    Source     Ours; proved above, with the counting of `information_floor`.

    >>> round(task_floor(SparseTask("and:3"), 100), 2)
    16.3
    >>> task_floor(SparseTask("and:8"), 100)  # always answering 0 succeeds
    """
    if not isinstance(task, SparseTask) or task.balanced_sets:
        return None
    function, p = task.parsed, task.bits_law().p
    rarer = min(p, 1 - p)
    # a position that matters to a random table does so on two patterns at least
    least = rarer ** (function.sparsity - 1) if task.is_random else float(influences(function, p).min(initial=1.0))
    if least * rarer <= 2 * TOLERATED:
        return None
    return information_floor(context, function.sparsity, 1 - quantile)


def trivial_accuracy(task: Task) -> float | None:
    """The share of fresh inputs that always answering the same gets right: the larger of P(f = 0) and P(f = 1).

    None where it is not known from the task: a random table is drawn anew for every run, and other tasks tell no law.

    >>> trivial_accuracy(SparseTask("and:3"))
    0.875
    """
    if not isinstance(task, SparseTask) or task.is_random:
        return None
    ones = probability(task.parsed, task.bits_law().p)
    return max(ones, 1 - ones)
