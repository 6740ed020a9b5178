"""The success rate of training at a sample size: a logistic curve in ln m that rises to a plateau.

The curve is written by the point asked for: with θ = ln m* at success probability q,

    P(success | m) = λ · logistic((ln m − θ)/σ + logit(q/λ)),        q < λ ≤ 1,

so that P(e^θ) = q whatever the width σ and the plateau λ. Curves with a plateau λ ≤ q never reach q; the best of them
competes as θ = ∞. Everything is computed on a grid: the likelihoods of many data sets are then one matrix product.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import ArgumentError, DataError

Counts = Mapping[int, tuple[int, int]]  # m → successes, trials

POINTS = 101  # places of θ on a grid: a tenth of a standard error apart once zoomed
WIDTHS = 9  # values of σ on a grid
NARROWEST, WIDEST = 0.01, 1.28  # the ends of σ: one sample in a hundred, and a factor of 3.6, for a unit of log-odds
PLATEAUS = np.array([1.0, 0.95, 0.88, 0.78, 0.65, 0.5, 0.3, 0.1])  # (λ − q)/(1 − q) for curves that reach q
STUNTED = np.array([0.98, 0.85, 0.65, 0.45, 0.25, 0.08])  # λ/q for curves that do not
PULL = 2.0  # the penalty −2 ln λ: two runs that succeeded on the plateau
STRAY = 1e-3  # every outcome has at least this probability: one stray run must not decide a fit
MARGIN = 2.0  # how far beyond the sizes tried, in ln m, a threshold is looked for
DEEP = 8.0  # log-likelihood units: four standard errors, where a grid ends


class WidthPrior(NamedTuple):
    """A prior of the width: a Gaussian in ln σ."""

    usual: float = 0.25  # σ of small networks on conjunctions
    spread: float = 1.0  # weak: a factor of e either way is one standard deviation


USUAL = WidthPrior()


@dataclass(frozen=True, eq=False)
class Fit:
    """The penalised log-likelihood of the counts over a grid of curves; it is shared, and its arrays are read-only."""

    sizes: Float[np.ndarray, "k"]
    successes: Float[np.ndarray, "k"]
    trials: Float[np.ndarray, "k"]
    quantile: float
    places: Float[np.ndarray, "n"]  # θ
    shapes: Float[np.ndarray, "s 2"]  # σ and λ
    likelihood: Float[np.ndarray, "n s"]
    never: float  # the best log-likelihood of a curve that stays below q
    prior: WidthPrior = USUAL

    @property
    def profile(self) -> Float[np.ndarray, "n"]:
        """The best log-likelihood at each θ."""
        return np.asarray(self.likelihood.max(axis=1))

    @property
    def best(self) -> tuple[int, int]:
        """The indices of θ and of the shape with the largest likelihood."""
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


def fit_curves(counts: Counts, quantile: float, prior: WidthPrior = USUAL) -> Fit:
    """The fit over a grid that ends where the likelihood has fallen by `DEEP`."""
    check_level("quantile of success", quantile)
    rows = tuple(sorted((m, won, trials) for m, (won, trials) in counts.items() if trials > 0))
    if not rows:
        raise DataError("A threshold was asked of no runs; train at least one model.")
    for m, successes, trials in rows:
        if m < 1 or not 0 <= successes <= trials:
            raise DataError(f"{successes} successes in {trials} trials at m = {m} cannot be; counts lie in 0..trials.")
    return _fit(rows, quantile, prior)


@lru_cache(maxsize=256)  # a round of a sweep asks for the same fit several times
def _fit(rows: tuple[tuple[int, int, int], ...], quantile: float, prior: WidthPrior) -> Fit:
    """The fit of sizes with their successes and trials."""
    sizes, successes, trials = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    low, high = float(np.log(sizes[0])) - MARGIN, float(np.log(sizes[-1])) + MARGIN
    widths = np.geomspace(NARROWEST, WIDEST, WIDTHS)
    stunted = _shapes(widths, quantile * STUNTED)
    below = _rising(sizes, np.linspace(low, high, POINTS), stunted, 0.0)
    never = _likelihood(successes, trials, below, stunted, prior).max()
    for _ in range(3):  # the first pass finds where the likelihood is large, the others refine the grid there
        places = np.linspace(low, high, POINTS)
        shapes = _shapes(widths, quantile + (1 - quantile) * PLATEAUS)
        likely = _likelihood(successes, trials, _reaching(sizes, places, shapes, quantile), shapes, prior)
        low, high = _likely_range(places, likely.max(axis=1), 5)
        best = likely.max(axis=0).reshape(len(PLATEAUS), WIDTHS).max(axis=0)
        widths = np.geomspace(*_likely_range(widths, best, 1), WIDTHS)
    for array in (sizes, successes, trials, places, shapes, likely):
        array.setflags(write=False)  # the next caller gets the same arrays
    return Fit(sizes, successes, trials, quantile, places, shapes, likely, float(never), prior)


def width_likelihood(fit: Fit, widths: Float[np.ndarray, "w"]) -> Float[np.ndarray, "w"]:
    """The log-likelihood of each width, but for a constant: integrated over θ and the plateau, without a prior on σ."""
    shapes = _shapes(widths, fit.quantile + (1 - fit.quantile) * PLATEAUS)
    chance = _reaching(fit.sizes, fit.places, shapes, fit.quantile)
    likely = _likelihood(fit.successes, fit.trials, chance, shapes, fit.prior)
    likely = (likely - width_prior(shapes[:, 0], fit.prior)).reshape(len(fit.places), len(PLATEAUS), len(widths))
    return np.asarray(np.logaddexp.reduce(likely, axis=(0, 1)))


def resampled_peaks(fit: Fit, rng: np.random.Generator, draws: int) -> Float[np.ndarray, "draws"]:
    """θ fitted to data drawn from the best curve at the sizes and trials that were run."""
    table = fit.chances(fit.sizes)
    place, shape = fit.best
    drawn = rng.binomial(fit.trials.astype(np.int64), table[:, place, shape], (draws, len(fit.sizes)))
    flat = table.reshape(len(fit.sizes), -1)
    likely = drawn @ np.log(flat / (1 - flat)) + fit.trials @ np.log(1 - flat)
    likely = likely.reshape(draws, *fit.likelihood.shape) + _penalty(fit.shapes, fit.prior)
    return np.asarray(fit.places[likely.max(axis=2).argmax(axis=1)])


def step_likelihoods(fit: Fit) -> Float[np.ndarray, "gaps"]:
    """The best log-likelihood of a step (σ = 0) at each place: below all sizes, in each gap, above all."""
    plateaus = fit.quantile + (1 - fit.quantile) * PLATEAUS
    chances = np.full(len(plateaus), STRAY), np.clip(plateaus, STRAY, 1 - STRAY)  # below the step, and above
    fails, none = fit.trials - fit.successes, np.zeros((1, len(plateaus)))
    failing, rising = (
        np.outer(fit.successes, np.log(chance)) + np.outer(fails, np.log1p(-chance)) for chance in chances
    )
    below = np.concatenate([none, failing.cumsum(axis=0)])
    above = np.concatenate([rising[::-1].cumsum(axis=0)[::-1], none])
    return np.asarray((below + above + PULL * np.log(plateaus)).max(axis=1))


def check_level(name: str, level: float) -> None:
    """Refuse a probability outside (0, 1)."""
    if not 0 < level < 1:
        raise ArgumentError(f"A {name} of {level} was asked for; it lies strictly between 0 and 1, such as 0.5.")


def _likely_range(grid: Float[np.ndarray, "n"], likely: Float[np.ndarray, "n"], beyond: int) -> tuple[float, float]:
    """The part of a grid where the likelihood is within `DEEP` of its best, and some steps more.

    The best point of a coarse grid may lie a few steps off: a width between two of the grid's moves θ.
    """
    inside = np.flatnonzero(likely > likely.max() - DEEP)
    return float(grid[max(inside[0] - beyond, 0)]), float(grid[min(inside[-1] + beyond, len(grid) - 1)])


def _shapes(widths: Float[np.ndarray, "w"], plateaus: Float[np.ndarray, "p"]) -> Float[np.ndarray, "s 2"]:
    """Every pair of a width and a plateau."""
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
    """The success probability of each curve at each size, kept away from 0 and 1."""
    x = (np.log(sizes)[:, None, None] - places[None, :, None]) / shapes[:, 0] + offset
    chance = shapes[:, 1] / (1 + np.exp(-np.clip(x, -40, 40)))
    return np.asarray(np.clip(chance, STRAY, 1 - STRAY))


def _likelihood(
    successes: Float[np.ndarray, "k"],
    trials: Float[np.ndarray, "k"],
    chance: Float[np.ndarray, "k n s"],
    shapes: Float[np.ndarray, "s 2"],
    prior: WidthPrior,
) -> Float[np.ndarray, "n s"]:
    """The penalised log-likelihood of every curve."""
    won, lost = np.tensordot(successes, np.log(chance), 1), np.tensordot(trials - successes, np.log1p(-chance), 1)
    return np.asarray(won + lost + _penalty(shapes, prior))


def _penalty(shapes: Float[np.ndarray, "s 2"], prior: WidthPrior) -> Float[np.ndarray, "s"]:
    """The log-priors of plateau and width."""
    return np.asarray(PULL * np.log(shapes[:, 1]) + width_prior(shapes[:, 0], prior))


def width_prior(widths: Float[np.ndarray, "s"], prior: WidthPrior) -> Float[np.ndarray, "s"]:
    """The log-prior of the width: Gaussian in ln σ."""
    return np.asarray(-((np.log(widths / prior.usual) / prior.spread) ** 2) / 2)
