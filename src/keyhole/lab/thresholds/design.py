"""Which sample sizes to train at next, so that m*(T) is known from as few runs as will do.

Runs are chosen in synchronous rounds. A round is a pure function of the counts of finished runs: after a kill, or on
another engine, the same counts ask for the same runs.
"""

from math import ceil, exp, log, log1p
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

from keyhole.errors import ArgumentError
from keyhole.lab.thresholds.psychometric import Counts as Counts
from keyhole.lab.thresholds.psychometric import Fit, fit_curves
from keyhole.lab.thresholds.threshold import SEEDS, censoring, interval, likely_interval
from keyhole.lab.thresholds.threshold import Threshold as Threshold
from keyhole.lab.thresholds.threshold import empirical as empirical
from keyhole.lab.thresholds.threshold import estimate as estimate

LOOK = 3  # runs at a size, at least, before its fraction is believed to be low or high
FAINT = 1e-3  # curves a thousand times less likely than the best do not steer where to run
ENOUGH = 60  # runs before an interval is believed to be narrow: the first few often look steeper than they are
FAR = 10_000  # runs beyond which a forecast only says "many"


def next_round(
    counts: Counts,
    *,
    quantile: float = 0.5,
    precision: float = 0.2,
    confidence: float = 0.9,
    start: int,
    largest: int,
    batch: int,
    budget: int = 400,
    seed: int = 0,
) -> dict[int, int]:
    """Which sizes to run next and with how many new seeds each; empty when nothing more is worth running.

    First the sizes double or halve until the success fraction passes from below q/2 to above (1 + q)/2 (¼ and ¾ at
    the median) or the ends of the range are met. Then each round goes where it shrinks the variance of ln m* most.
    It ends once there are 60 runs and the interval lies within m*(1 ± precision), or with the budget.

    The intervals' confidence is marginal: over all sweeps, however long each was. Sweeps end when they look precise, so
    those that end early cover less often than asked and those that go on cover more; the fewer runs may end a sweep,
    the wider these two lie apart.
    """
    check_levels(quantile, confidence)
    _check(precision, start, largest, batch, budget)
    left = budget - sum(trials for _, trials in counts.values())
    if left <= 0:
        return {}
    batch = min(batch, left)
    wider = _doubling(counts, quantile, start, largest, batch)
    if wider:
        return wider
    fit = fit_curves(counts, quantile)
    if fit.trials.sum() >= SEEDS and _settled(fit, largest, precision, confidence, seed):
        return {}
    chosen = _Design(fit, _lattice(fit, start, largest, precision)).place(batch)
    return dict(sorted(chosen.items()))


def remaining(
    counts: Counts,
    *,
    quantile: float = 0.5,
    precision: float = 0.2,
    confidence: float = 0.9,
    start: int,
    largest: int,
    batch: int,
    seed: int = 0,
) -> int:
    """An honest guess how many more runs the precision takes, were there no budget.

    Two guesses, of which the smaller is given. Intervals shrink like one over the root of the runs that tell
    something, a run at success probability p counting 4p(1 − p): right near the end, far too many at first, when the
    interval is wide because the curve's width is unknown. And with the curve as fitted, runs at m* have to bring the
    standard error of ln m* to the precision, twice over, since width and plateau are learned from the same runs.
    Before the threshold is bracketed only the next round and the least number of seeds are certain.
    """
    options = {"quantile": quantile, "precision": precision, "confidence": confidence, "start": start}
    ahead = next_round(counts, **options, largest=largest, batch=batch, budget=FAR, seed=seed)  # type: ignore[arg-type]
    if not ahead:
        return 0
    trials = sum(n for _, n in counts.values())
    if not trials or _doubling(counts, quantile, start, largest, batch):
        return max(SEEDS - trials, 0) + sum(ahead.values())
    fit = fit_curves(counts, quantile)
    place, shape = fit.best
    chance = fit.chances(fit.sizes)[:, place, shape]
    telling = float(fit.trials @ (4 * chance * (1 - chance)))
    by_width = telling * (_excess(fit, precision, confidence, seed) ** 2 - 1)
    width, plateau = fit.shapes[shape]
    one_run = quantile * (1 - quantile) * (width / (quantile * (1 - quantile / plateau))) ** 2  # variance of ln m*
    aim = log1p(precision) / NormalDist().inv_cdf((1 + confidence) / 2)
    by_curve = 2 * one_run / aim**2 - telling
    return ceil(float(max(min(by_width, max(by_curve, sum(ahead.values()))), ENOUGH - trials, 1)))


def _doubling(counts: Counts, quantile: float, start: int, largest: int, batch: int) -> dict[int, int]:
    """Larger sizes while none succeeds often, smaller ones while none fails often."""
    rates = {m: wins / trials for m, (wins, trials) in counts.items() if trials >= min(LOOK, batch)}
    if not rates:
        ladder = [start, start * 2, start // 2, start * 4]
        return _share({min(max(m, 1), largest) for m in ladder[: max(1, batch // LOOK)]}, batch)
    low, high = min(counts), max(counts)
    wanted = set()
    if min(rates.values()) > quantile / 2 and low > 1:
        wanted |= {max(low // 2, 1), max(low // 4, 1)}
    if max(rates.values()) < (1 + quantile) / 2 and high < largest:
        wanted |= {min(high * 2, largest), min(high * 4, largest)}
    return _share(wanted, batch)


def _share(sizes: set[int], batch: int) -> dict[int, int]:
    """The batch spread evenly over as many of the sizes as get a fair look."""
    few = sorted(sizes)[: max(1, batch // LOOK)]
    return {m: ceil((batch - i) / len(few)) for i, m in enumerate(few)}


def _settled(fit: Fit, largest: int, precision: float, confidence: float, seed: int) -> bool:
    """Whether more runs would tell nothing worth having: the interval is narrow, or the range ends first."""
    side = censoring(fit)
    if side == "above":
        return bool(fit.sizes[-1] >= largest and fit.trials[-1] >= SEEDS)
    if side == "below":
        return bool(fit.sizes[0] <= 1 and fit.trials[0] >= SEEDS)
    if fit.trials.sum() < ENOUGH:
        return False
    if _overshoot(fit, likely_interval(fit, confidence), precision) > 1:  # the cheaper interval, inside the other
        return False
    return _excess(fit, precision, confidence, seed) <= 1


def _excess(fit: Fit, precision: float, confidence: float, seed: int) -> float:
    """How many times wider than asked the interval is, on its worse side."""
    return _overshoot(fit, interval(fit, confidence, seed), precision)


def _overshoot(fit: Fit, ends: tuple[float | None, float | None], precision: float) -> float:
    low, high = (fit.places[i] if end is None else end for i, end in zip((0, -1), ends, strict=True))
    wide = max((1 - exp(low - fit.peak)) / precision, (exp(high - fit.peak) - 1) / precision)
    return float(wide if None not in ends else max(wide, 2.0))


def _lattice(fit: Fit, start: int, largest: int, precision: float) -> Float[np.ndarray, "c"]:
    """Sizes a precision apart, so that runs gather at few of them, around where m* may lie."""
    steps = max(1, ceil(log(2) / precision))
    low, high = fit.places[0] - 1, min(fit.places[-1] + 1, log(fit.sizes[-1]) + log(2))
    first, last = (int(np.floor(steps * (end - log(start)) / log(2))) for end in (low, high))
    sizes = np.round(start * 2 ** (np.arange(first, last + 2) / steps))
    return np.unique(np.clip(sizes, 1, largest))


class _Design:
    """Where further runs shrink the variance of ln m* most.

    Statement  Let p_j = P(success | m_j) and θ be random by the likelihood's weights. The best linear guess of θ from
               one more run at m_j explains Cov(θ, p_j)² / (Var p_j + E p_j(1 − p_j)) of its variance.
    Proof      The outcome y_j has Cov(θ, y_j) = Cov(θ, p_j) and Var y_j = Var p_j + E p_j(1 − p_j).
    Source     Ours; a run at a time, each conditioning the covariances (a Kalman filter over the sizes).
    """

    def __init__(self, fit: Fit, sizes: Float[np.ndarray, "c"]) -> None:
        weights = np.exp(fit.likelihood - fit.likelihood.max()).ravel()
        alive = weights > FAINT
        weights = weights[alive] / weights[alive].sum()
        chance = fit.chances(sizes).reshape(len(sizes), -1)[:, alive]
        place = np.repeat(fit.places, len(fit.shapes))[alive]
        centred = chance - (chance @ weights)[:, None]
        away = place - place @ weights
        self.sizes = sizes
        self.noise = (chance * (1 - chance)) @ weights
        self.within = (centred * weights) @ centred.T
        self.across = centred @ (weights * away)
        self.variance = float(weights @ away**2)

    def step(self) -> int:
        """Condition on one more run at the best size, and name that size."""
        total = np.diag(self.within) + self.noise
        best = int(np.argmax(self.across**2 / total))
        column = self.within[:, best].copy()
        self.variance -= float(self.across[best] ** 2 / total[best])
        self.across = self.across - column * self.across[best] / total[best]
        self.within = self.within - np.outer(column, column) / total[best]
        return int(self.sizes[best])

    def place(self, batch: int) -> dict[int, int]:
        """A batch of runs, each where the ones before it leave most to learn."""
        chosen: dict[int, int] = {}
        for _ in range(batch):
            size = self.step()
            chosen[size] = chosen.get(size, 0) + 1
        return chosen


def check_levels(quantile: float, confidence: float) -> None:
    """Refuse a quantile of success or a confidence that no runs could have."""
    for name, level in (("quantile of success", quantile), ("confidence", confidence)):
        if not 0 < level < 1:
            raise ArgumentError(f"A {name} of {level} was asked for; it lies strictly between 0 and 1, such as 0.5.")


def _check(precision: float, start: int, largest: int, batch: int, budget: int) -> None:
    if not 0 < precision < 1:
        raise ArgumentError(f"A precision of {precision} was asked for; it is relative, so use 0 to 1, such as 0.2.")
    if not 1 <= start <= largest:
        raise ArgumentError(f"Sizes from {start} up to {largest} were asked for; use 1 ≤ start ≤ largest.")
    if batch < 1:
        raise ArgumentError(f"Rounds of {batch} runs were asked for; use at least 1.")
    if budget < 1:
        raise ArgumentError(f"A budget of {budget} runs was asked for; use at least 1.")
