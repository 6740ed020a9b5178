"""How often training succeeds at a sample size: a logistic curve in ln m that rises to a plateau.

The curve is written by the point asked for: with θ = ln m* at success probability q,

    P(success | m) = λ · logistic((ln m − θ)/σ + logit(q/λ)),        q < λ ≤ 1,

so that P(e^θ) = q whatever the width σ and the plateau λ. Plateaus λ ≤ q never reach q; they are kept as one rival
with θ = ∞. All of it lives on a grid: likelihoods of many data sets at once are then one matrix product.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from keyhole.errors import DataError

Counts = Mapping[int, tuple[int, int]]  # m → successes, trials

POINTS = 101  # places of θ on a grid: a tenth of a standard error apart once zoomed
WIDTHS = 9  # values of σ on a grid
SUDDEN, SLOW = 0.01, 1.28  # the ends of σ: from one sample in a hundred to a factor of 3.6 for a unit of log-odds
USUAL_WIDTH, WIDTH_SPREAD = 0.25, 1.0  # σ of small networks on conjunctions, and e-folds either way: weak
PLATEAUS = np.array([1.0, 0.95, 0.88, 0.78, 0.65, 0.5, 0.3, 0.1])  # (λ − q)/(1 − q) for curves that reach q
STUNTED = np.array([0.98, 0.85, 0.65, 0.45, 0.25, 0.08])  # λ/q for curves that do not
PULL = 2.0  # the penalty −2 ln λ: two runs that succeeded on the plateau
STRAY = 1e-3  # no outcome is ever impossible: one stray run must not decide a fit
MARGIN = 2.0  # how far beyond the sizes tried, in ln m, a threshold is looked for
DEEP = 8.0  # log-likelihood units: four standard errors, where a grid ends


@dataclass(frozen=True)
class Fit:
    """The penalised log-likelihood of the counts over a grid of curves."""

    sizes: Float[np.ndarray, "k"]
    successes: Float[np.ndarray, "k"]
    trials: Float[np.ndarray, "k"]
    quantile: float
    places: Float[np.ndarray, "n"]  # θ
    shapes: Float[np.ndarray, "s 2"]  # σ and λ
    likelihood: Float[np.ndarray, "n s"]
    never: float  # the best that a curve below q can do

    @property
    def profile(self) -> Float[np.ndarray, "n"]:
        """The best log-likelihood at each θ."""
        best: Float[np.ndarray, "n"] = self.likelihood.max(axis=1)
        return best

    @property
    def widths_alike(self) -> Float[np.ndarray, "n"]:
        """The best log-likelihood at each θ when no width is more usual than another."""
        best: Float[np.ndarray, "n"] = (self.likelihood - _unusual(self.shapes[:, 0])).max(axis=1)
        return best

    @property
    def best(self) -> tuple[int, int]:
        """Where the likelihood is largest: index of θ, index of shape."""
        place, shape = np.unravel_index(int(self.likelihood.argmax()), self.likelihood.shape)
        return int(place), int(shape)

    @property
    def peak(self) -> float:
        """θ of the largest likelihood, between grid points by the parabola through three of them."""
        place = self.best[0]
        step = self.places[1] - self.places[0]
        if not 0 < place < len(self.places) - 1:
            return float(self.places[place])
        before, here, after = self.profile[place - 1 : place + 2]
        bend = before - 2 * here + after
        return float(self.places[place] + (step * (before - after) / (2 * bend) if bend < 0 else 0.0))

    def chances(self, sizes: Float[np.ndarray, "k"]) -> Float[np.ndarray, "k n s"]:
        """P(success | m) of every curve of the grid."""
        return _reaching(sizes, self.places, self.shapes, self.quantile)


def fit_curves(counts: Counts, quantile: float) -> Fit:
    """The fit over a grid that ends where the likelihood has fallen by `DEEP`."""
    data = _columns(counts)
    if not 0 < quantile < 1:
        raise DataError(f"A quantile of success lies strictly between 0 and 1; got {quantile}.")
    low, high = float(np.log(data.sizes[0])) - MARGIN, float(np.log(data.sizes[-1])) + MARGIN
    widths = np.geomspace(SUDDEN, SLOW, WIDTHS)
    stunted = _shapes(widths, quantile * STUNTED)
    never = _likelihood(data, _rising(data.sizes, np.linspace(low, high, POINTS), stunted, 0.0), stunted).max()
    for _ in range(3):  # the first pass finds where the likelihood lives, the others look there closely
        places = np.linspace(low, high, POINTS)
        shapes = _shapes(widths, quantile + (1 - quantile) * PLATEAUS)
        likely = _likelihood(data, _reaching(data.sizes, places, shapes, quantile), shapes)
        low, high = _alive(places, likely.max(axis=1), 5)
        best = likely.max(axis=0).reshape(len(PLATEAUS), WIDTHS).max(axis=0)
        widths = np.geomspace(*_alive(widths, best, 1), WIDTHS)
    return Fit(*data, quantile, places, shapes, likely, float(never))


def resample(fit: Fit, rng: np.random.Generator, draws: int) -> Float[np.ndarray, "draws"]:
    """θ fitted to data drawn from the best curve at the sizes and trials that were run."""
    table = fit.chances(fit.sizes)
    place, shape = fit.best
    drawn = rng.binomial(fit.trials.astype(np.int64), table[:, place, shape], (draws, len(fit.sizes)))
    flat = table.reshape(len(fit.sizes), -1)
    likely = drawn @ np.log(flat / (1 - flat)) + fit.trials @ np.log(1 - flat)
    likely = likely.reshape(draws, *fit.likelihood.shape) + _penalty(fit.shapes)
    fitted: Float[np.ndarray, "draws"] = fit.places[likely.max(axis=2).argmax(axis=1)]
    return fitted


def sudden(fit: Fit) -> Float[np.ndarray, "gaps"]:
    """The best log-likelihood of a step, by where it lies: below all sizes, in each gap, above all."""
    plateaus = fit.quantile + (1 - fit.quantile) * PLATEAUS
    failing = np.full(len(plateaus), STRAY)
    rising = np.clip(plateaus, STRAY, 1 - STRAY)
    fails = fit.trials - fit.successes

    def share(chance: Float[np.ndarray, "p"]) -> Float[np.ndarray, "k p"]:
        return np.asarray(np.outer(fit.successes, np.log(chance)) + np.outer(fails, np.log1p(-chance)))

    none = np.zeros((1, len(plateaus)))
    below = np.concatenate([none, share(failing).cumsum(axis=0)])
    above = np.concatenate([share(rising)[::-1].cumsum(axis=0)[::-1], none])
    return np.asarray((below + above + PULL * np.log(plateaus)).max(axis=1))


class _Data(NamedTuple):
    sizes: Float[np.ndarray, "k"]
    successes: Float[np.ndarray, "k"]
    trials: Float[np.ndarray, "k"]


def _columns(counts: Counts) -> _Data:
    rows = sorted((m, *pair) for m, pair in counts.items() if pair[1] > 0)
    if not rows:
        raise DataError("A threshold was asked of no runs; train at least one model.")
    for m, successes, trials in rows:
        if m < 1 or not 0 <= successes <= trials:
            raise DataError(f"{successes} successes in {trials} trials at m = {m} cannot be; counts lie in 0..trials.")
    return _Data(*(np.array(column, dtype=float) for column in zip(*rows, strict=True)))


def _alive(grid: Float[np.ndarray, "n"], likely: Float[np.ndarray, "n"], beyond: int) -> tuple[float, float]:
    """The part of a grid where the likelihood is within `DEEP` of its best, and some steps more.

    The best on a coarse grid may stand a few steps off: a width between two of the grid's moves θ.
    """
    inside = np.flatnonzero(likely > likely.max() - DEEP)
    return float(grid[max(inside[0] - beyond, 0)]), float(grid[min(inside[-1] + beyond, len(grid) - 1)])


def _shapes(widths: Float[np.ndarray, "w"], plateaus: Float[np.ndarray, "p"]) -> Float[np.ndarray, "s 2"]:
    return np.stack([part.ravel() for part in np.meshgrid(widths, plateaus)], axis=1)


def _reaching(
    sizes: Float[np.ndarray, "k"], places: Float[np.ndarray, "n"], shapes: Float[np.ndarray, "s 2"], quantile: float
) -> Float[np.ndarray, "k n s"]:
    """Curves that pass the quantile at e^θ: logit(q/λ) = ln(q/(λ − q))."""
    return _rising(sizes, places, shapes, np.log(quantile / (shapes[:, 1] - quantile)))


def _rising(
    sizes: Float[np.ndarray, "k"],
    places: Float[np.ndarray, "n"],
    shapes: Float[np.ndarray, "s 2"],
    offset: Float[np.ndarray, "s"] | float,
) -> Float[np.ndarray, "k n s"]:
    x = (np.log(sizes)[:, None, None] - places[None, :, None]) / shapes[:, 0] + offset
    chance = shapes[:, 1] / (1 + np.exp(-np.clip(x, -40, 40)))
    return np.asarray(np.clip(chance, STRAY, 1 - STRAY))


def _likelihood(
    data: _Data, chance: Float[np.ndarray, "k n s"], shapes: Float[np.ndarray, "s 2"]
) -> Float[np.ndarray, "n s"]:
    won = np.tensordot(data.successes, np.log(chance), 1)
    return np.asarray(won + np.tensordot(data.trials - data.successes, np.log1p(-chance), 1) + _penalty(shapes))


def _penalty(shapes: Float[np.ndarray, "s 2"]) -> Float[np.ndarray, "s"]:
    return np.asarray(PULL * np.log(shapes[:, 1]) + _unusual(shapes[:, 0]))


def _unusual(widths: Float[np.ndarray, "s"]) -> Float[np.ndarray, "s"]:
    return np.asarray(-((np.log(widths / USUAL_WIDTH) / WIDTH_SPREAD) ** 2) / 2)
