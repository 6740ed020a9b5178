"""The design of a sweep at one context: which sample sizes to train at next, so that few runs suffice to know m*(T).

Runs are chosen in synchronous rounds. A round gives sample sizes (None: fresh samples) and how many new seeds each
gets. It depends on nothing but the counts of the rounds before it, at this context and, with shared widths, at the
others. So a sweep makes the same runs after a kill, and on other workers. `Schedule` has what a person may choose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import ceil, exp, log, log1p
from statistics import NormalDist
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import ArgumentError, require_whole
from keyhole.sweeps.thresholds.psychometric import (
    USUAL,
    Counts,
    Fit,
    WidthPrior,
    check_level,
    fit_curves,
)
from keyhole.sweeps.thresholds.shared_width import width_beside
from keyhole.sweeps.thresholds.threshold import (
    SEEDS,
    censored_side,
    enough_runs,
    estimate,
    likelihood_interval,
    threshold_interval,
    widen,
)

Size = int | None
Tallies = Mapping[Size, tuple[int, int]]  # size → successes, trials
START = 32  # the first round tries 16, 32, 64, 128
LARGEST = 1 << 16  # a threshold beyond it is censored above
BATCH = 12  # runs in a round of one context: three at each size of the first round
BUDGET = 400  # runs at one context, at most
FEWEST = 6  # runs in a round with a prior from the other contexts, unless the budget has less
LOOK = 3  # runs at a size, at least, before its success rate counts as low or high
FAINT = 1e-3  # curves a thousand times less likely than the best do not influence where to run
BOOTSTRAP_SEED = 0
COVERAGE = {  # contexts → intervals that cover, of how many; of the third that stops first; least per cent of a curve
    1: (641, 660, 208, 220, 91),  # as `bench/coverage.py` prints
    2: (620, 660, 202, 220, 91),
    6: (619, 660, 208, 220, 90),
}
SHELF = 63, 120  # the same for curves with a shelf at one half, over sweeps of one and of six contexts


class Rounds:
    """The next runs at one context. Derive a frozen dataclass, and override `next_round` and `record`."""

    shared = False  # whether what is found at the other contexts counts; then a context is finished when all are

    def next_round(self, tallies: Tallies) -> Mapping[Size, int]:
        """Return sizes and how many new seeds each; empty when the schedule is finished."""
        raise NotImplementedError

    def remaining(self, tallies: Tallies) -> int:
        """Return about how many runs are still to come."""
        return sum(self.next_round(tallies).values())

    def record(self) -> dict[str, Any]:
        """Return its kind and every setting, as plain values."""
        raise NotImplementedError

    def beside(self, own: Tallies, others: Sequence[Tallies]) -> "Rounds":  # noqa: ARG002
        """Return the schedule that uses the counts at its own context and at the others."""
        return self


@dataclass(frozen=True)
class Grid(Rounds):
    """The same number of seeds at each of these sizes, in one round."""

    samples: tuple[int, ...]
    seeds: int

    def __post_init__(self) -> None:
        if self.seeds < 1 or not self.samples:
            raise ArgumentError(f"{self.seeds} seeds at {len(self.samples)} sizes were asked for; use at least one.")

    def next_round(self, tallies: Tallies) -> Mapping[Size, int]:
        """Everything at first, then nothing."""
        return {} if tallies else dict.fromkeys(self.samples, self.seeds)

    def record(self) -> dict[str, Any]:
        """Sizes and seeds."""
        return {"kind": "grid", **asdict(self)}


@dataclass(frozen=True)
class Online(Rounds):
    """A number of seeds, each learning from fresh samples for as long as its learner allows."""

    seeds: int

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ArgumentError(f"{self.seeds} seeds were asked for; use at least one.")

    def next_round(self, tallies: Tallies) -> Mapping[Size, int]:
        """Everything at first, then nothing."""
        return {} if tallies else {None: self.seeds}

    def record(self) -> dict[str, Any]:
        """The seeds."""
        return {"kind": "online", **asdict(self)}


@dataclass(frozen=True)
class Design(Rounds):
    """Runs where they are most informative about m*: the quantile that is estimated, its precision, and the limits.

    The rounds end once there are enough runs and the interval of m* lies within m*(1 ± precision), or with the budget.
    `enough_runs` gives how many are enough, and `widening` by how much the interval is widened, since the rounds end
    when it looks narrow. With shared widths both depend on the `prior`, the width of the curve as pooled from the other
    contexts. `bench/coverage.py` prints how often intervals cover, in all and of those that end first.

    >>> Design(start=24, batch=12).next_round({24: (0, 6), 48: (0, 6)})
    {96: 6, 192: 6}
    """

    quantile: float = 0.5  # the success probability at m*
    precision: float = 0.2  # relative
    confidence: float = 0.9
    start: int = START
    largest: int = LARGEST
    batch: int = BATCH
    budget: int = BUDGET
    widths: str = "shared"  # or "apart": whether the width of a context's curve is pooled with the others'
    prior: WidthPrior = USUAL  # not in the record: it is found again from the runs

    def __post_init__(self) -> None:
        check_level("quantile of success", self.quantile)
        check_level("confidence", self.confidence)
        if not 0 < self.precision < 1:
            raise ArgumentError(
                f"A precision of {self.precision} was asked for; it is relative, so use 0 to 1, such as 0.2."
            )
        if not 1 <= self.start <= self.largest:
            raise ArgumentError(
                f"Sizes from {self.start} up to {self.largest} were asked for; use 1 ≤ start ≤ largest."
            )
        if self.batch < 1:
            raise ArgumentError(f"Rounds of {self.batch} runs were asked for; use at least 1.")
        if self.budget < 1:
            raise ArgumentError(f"A budget of {self.budget} runs was asked for; use at least 1.")
        if self.widths not in ("shared", "apart"):
            raise ArgumentError(f"Widths that are {self.widths!r} were asked for; they are shared or apart.")

    def coverage(self, contexts: int) -> str:
        """Say how often intervals of so many contexts cover m*; it was measured for the contexts in `COVERAGE`."""
        measured = max(number for number in COVERAGE if number <= (contexts if self.shared else 1))
        covering, intervals, early, first, least = COVERAGE[measured]
        usual = self == replace(Design(), start=self.start, largest=self.largest, widths=self.widths, prior=self.prior)
        unmeasured = "" if usual else "; with these settings it was not measured"
        return (
            f"intervals are made wider, since rounds stop when they look narrow: in simulated sweeps of {measured} "
            f"contexts with the default settings {covering} of {intervals} ({100 * covering // intervals} %, by the "
            f"kind of curve {least} % or more) cover m*, and {early} of {first} of the third that stops "
            f"first{unmeasured} (bench/coverage.py). Where success rises to one half, stays there and rises again, "
            f"only {SHELF[0]} of {SHELF[1]} do"
        )

    @property
    def shared(self) -> bool:  # type: ignore[override]
        """Return whether the widths of the curves are pooled over contexts."""
        return self.widths == "shared"

    def beside(self, own: Tallies, others: Sequence[Tallies]) -> "Design":
        """Return the same design with the prior of the width from the other contexts, where widths are shared."""
        if not self.shared:
            return self
        counts = [training_counts(tallies) for tallies in others]
        return replace(self, prior=width_beside(training_counts(own), counts, self.quantile))

    def record(self) -> dict[str, Any]:
        """Return the settings; plans from before widths were shared do not name them, and keep them apart."""
        left_out = {"prior"} if self.shared else {"prior", "widths"}
        settings = {name: value for name, value in asdict(self).items() if name not in left_out}
        return {"kind": "adaptive", **settings}

    def next_round(self, tallies: Tallies) -> Mapping[Size, int]:
        """Return the sizes to run next, and how many new seeds each gets; empty when no more runs are needed.

        First the sizes double or halve until the success rate passes from below q/2 to above (1 + q)/2 (¼ and ¾ at the
        median) or the ends of the range are met. Then each round goes where it shrinks the variance of ln m* most.
        """
        counts, prior = training_counts(tallies), self.prior
        unspent = self.budget - sum(trials for _, trials in counts.values())
        if unspent <= 0:
            return {}
        batch = min(self.batch, unspent)
        bracketing = self._bracketing_round(counts, batch)
        if bracketing:
            return dict(bracketing.items())
        fit = fit_curves(counts, self.quantile, prior)
        if self._is_settled(fit):
            return {}
        if prior != USUAL:  # the last rounds have no more runs than are wanted
            wanted = max(self._wanted_by_width(fit), enough_runs(prior) - fit.trials.sum(), FEWEST)
            batch = min(batch, ceil(wanted))
        return dict(sorted(_most_informative(fit, self._candidates(fit), batch).items()))

    def remaining(self, tallies: Tallies) -> int:
        """A forecast of how many more runs the precision takes, without regard to the budget.

        There are two forecasts, and the smaller one is given. Intervals shrink like one over the root of the runs that
        carry information, a run at success probability p counting 4p(1 − p): right near the end, far too many at
        first, when the interval is wide because the curve's width is unknown. And with the curve as fitted, runs at m*
        have to bring the standard error of ln m* to the precision, twice over, since width and plateau are learned
        from the same runs. Before the threshold is bracketed only the next round and the least number of seeds are
        certain.
        """
        counts, prior = training_counts(tallies), self.prior
        bracketing = self._bracketing_round(counts, self.batch)
        trials = sum(n for _, n in counts.values())
        if bracketing:
            return max(SEEDS - trials, 0) + sum(bracketing.values())
        fit = fit_curves(counts, self.quantile, prior)
        if self._is_settled(fit):
            return 0
        width, plateau = fit.shapes[fit.best[1]]
        q = self.quantile
        one_run = q * (1 - q) * (width / (q * (1 - q / plateau))) ** 2  # variance of ln m*
        target = log1p(self.precision) / NormalDist().inv_cdf((1 + self.confidence) / 2)
        by_curve = max(2 * one_run / target**2 - _informative(fit), self.batch)
        return ceil(float(max(min(self._wanted_by_width(fit), by_curve), enough_runs(prior) - trials, 1)))

    def _wanted_by_width(self, fit: Fit) -> float:
        """Return the informative runs that are still wanted: the interval shrinks like one over their root."""
        return _informative(fit) * (self._relative_width(fit) ** 2 - 1)

    def _bracketing_round(self, counts: Counts, batch: int) -> dict[int, int]:
        """Larger sizes while none succeeds often, smaller ones while none fails often; empty once m* is bracketed."""
        rates = {m: wins / trials for m, (wins, trials) in counts.items() if trials >= min(LOOK, batch)}
        if not rates:
            ladder = [self.start, self.start * 2, self.start // 2, self.start * 4]
            return _spread({min(max(m, 1), self.largest) for m in ladder[: max(1, batch // LOOK)]}, batch)
        low, high = min(counts), max(counts)
        sizes = set()
        if min(rates.values()) > self.quantile / 2 and low > 1:
            sizes |= {max(low // 2, 1), max(low // 4, 1)}
        if max(rates.values()) < (1 + self.quantile) / 2 and high < self.largest:
            sizes |= {min(high * 2, self.largest), min(high * 4, self.largest)}
        return _spread(sizes, batch)

    def _is_settled(self, fit: Fit) -> bool:
        """Return whether the rounds may end: the interval is narrow, or m* lies beyond the range."""
        side = censored_side(fit)
        if side == "above":
            return bool(fit.sizes[-1] >= self.largest and fit.trials[-1] >= SEEDS)
        if side == "below":
            return bool(fit.sizes[0] <= 1 and fit.trials[0] >= SEEDS)
        if fit.trials.sum() < enough_runs(fit.prior):
            return False
        cheaper = likelihood_interval(fit, self.confidence)  # lies inside the other, and takes no bootstrap
        return self._relative_width(fit, cheaper) <= 1 and self._relative_width(fit) <= 1

    def _relative_width(self, fit: Fit, ends: tuple[float | None, float | None] | None = None) -> float:
        """Return the width of the interval over the precision, on its worse side; at least 2 if an end is open."""
        ends = threshold_interval(fit, self.confidence, BOOTSTRAP_SEED) if ends is None else ends
        ends = widen(ends, fit)
        low, high = (fit.places[i] if end is None else end for i, end in zip((0, -1), ends, strict=True))
        middle = estimate(fit, ends)
        width = max(1 - exp(low - middle), exp(high - middle) - 1) / self.precision
        return float(width if None not in ends else max(width, 2.0))

    def _candidates(self, fit: Fit) -> Float[np.ndarray, "c"]:
        """Sizes a precision apart, so that runs gather at few of them, around where m* may lie."""
        steps = max(1, ceil(log(2) / self.precision))
        low, high = fit.places[0] - 1, min(fit.places[-1] + 1, log(fit.sizes[-1]) + log(2))
        first, last = (int(np.floor(steps * (end - log(self.start)) / log(2))) for end in (low, high))
        sizes = np.round(self.start * 2 ** (np.arange(first, last + 2) / steps))
        return np.unique(np.clip(sizes, 1, self.largest))


def schedule_from_record(record: Mapping[str, Any]) -> Rounds:
    """The schedule that a record was made of.

    >>> schedule_from_record({"kind": "grid", "samples": [20, 40], "seeds": 3})
    Grid(samples=(20, 40), seeds=3)
    """
    settings = {name: value for name, value in record.items() if name != "kind"}
    if record["kind"] == "adaptive":
        known = [field.name for field in fields(Design) if field.name != "prior"]
        if strange := sorted(settings.keys() - known):
            raise ArgumentError(f"An adaptive schedule has no field {strange[0]!r}; it has {', '.join(known)}.")
        return Design(**{"widths": "apart", **settings})
    if record["kind"] == "grid":
        return Grid(tuple(settings["samples"]), settings["seeds"])
    if record["kind"] == "online":
        return Online(**settings)
    raise ArgumentError(f"A plan has a schedule of kind {record['kind']!r}; use adaptive, grid or online.")


def _informative(fit: Fit) -> float:
    """Count the runs that carry information: one at success probability p counts 4p(1 − p)."""
    place, shape = fit.best
    chance = fit.chances(fit.sizes)[:, place, shape]
    return float(fit.trials @ (4 * chance * (1 - chance)))


def _spread(sizes: set[int], batch: int) -> dict[int, int]:
    """The batch spread evenly over as many of the sizes as get enough runs each."""
    few = sorted(sizes)[: max(1, batch // LOOK)]
    return {m: ceil((batch - i) / len(few)) for i, m in enumerate(few)}


def _most_informative(fit: Fit, sizes: Float[np.ndarray, "c"], batch: int) -> dict[int, int]:
    """Return the sizes at which a batch of runs shrinks the variance of ln m* most, and how many runs each gets.

    Statement  Let p_j = P(success | m_j) and θ be random by the likelihood's weights. The best linear guess of θ from
               one more run at m_j explains Cov(θ, p_j)² / (Var p_j + E p_j(1 − p_j)) of its variance.
    Proof      The outcome y_j has Cov(θ, y_j) = Cov(θ, p_j) and Var y_j = Var p_j + E p_j(1 − p_j).
    Source     Ours; a run at a time, each conditioning the covariances (a Kalman filter over the sizes).
    """
    weights = np.exp(fit.likelihood - fit.likelihood.max()).ravel()
    likely = weights > FAINT
    weights = weights[likely] / weights[likely].sum()
    chance = fit.chances(sizes).reshape(len(sizes), -1)[:, likely]
    place = np.repeat(fit.places, len(fit.shapes))[likely]
    centred = chance - (chance @ weights)[:, None]
    noise = (chance * (1 - chance)) @ weights
    within = (centred * weights) @ centred.T  # Cov(p_i, p_j)
    across = centred @ (weights * (place - place @ weights))  # Cov(θ, p_j)
    chosen: dict[int, int] = {}
    for _ in range(batch):
        total = np.diag(within) + noise
        best = int(np.argmax(across**2 / total))
        column = within[:, best].copy()
        across = across - column * across[best] / total[best]
        within = within - np.outer(column, column) / total[best]
        chosen[int(sizes[best])] = chosen.get(int(sizes[best]), 0) + 1
    return chosen


LEAST_SHARE = 0.01  # of runs that succeed at m*: with fewer, or with all but fewer, hundreds of runs show nothing
GIVEN_SEEDS = 20  # at each size of a fixed grid, and online: as many as the definition of m* asks for
LEAST_PRECISION = 0.001  # of m*; half a million runs would not reach it


@dataclass(frozen=True)
class Schedule:
    """The sizes of training sets, and how many runs each gets.

    Without `samples` the sizes are chosen in rounds, until the interval of m* lies within m*(1 ± precision) or a
    context has had `budget` runs. With `samples` each size gets `seeds` runs; with `online` each context does, on
    fresh samples.

    >>> Schedule(samples=(20, 40), seeds=3).rounds()
    Grid(samples=(20, 40), seeds=3)
    """

    samples: Sequence[int] = ()
    seeds: int | None = None  # 20 if not given
    online: bool = False
    precision: float = 0.2  # half the width of the interval of m*, relative to m*
    budget: int = BUDGET  # runs at a context
    largest: int = LARGEST  # sample size
    quantile: float = 0.5  # m* is where this share of runs succeeds
    confidence: float = 0.9  # of the interval of m*
    first_seed: int = 0

    def __post_init__(self) -> None:
        for size in self.samples:
            require_whole(samples=size)
        require_whole(seeds=self.seeds or 0, budget=self.budget, largest=self.largest, first_seed=self.first_seed)
        if not isinstance(self.online, bool):
            raise ArgumentError(f"{self.online!r} was given as online; it is True or False.")
        if not LEAST_SHARE <= self.quantile <= 1 - LEAST_SHARE:
            raise ArgumentError(f"A quantile of success of {self.quantile:g} was given; use {LEAST_SHARE} to 0.99.")
        if not LEAST_PRECISION <= self.precision < 1:
            raise ArgumentError(
                f"A precision of {self.precision:g} was given; it is relative: {LEAST_PRECISION} or more, below 1."
            )
        if self.online and self.samples:
            raise ArgumentError("Fresh samples (online) and training sets of given sizes were both given; choose one.")
        if self.seeds is not None and not (self.online or self.samples):
            raise ArgumentError(
                f"{self.seeds} seeds were given, and no sizes of training sets; sizes that are chosen in rounds come "
                "with their numbers of runs. Give sizes (samples) too, or limit the runs at a context (budget)."
            )

    def rounds(self) -> Rounds:
        """Return the schedule that a sweep follows."""
        if self.online:
            return Online(GIVEN_SEEDS if self.seeds is None else self.seeds)
        if self.samples:
            return Grid(tuple(sorted(set(self.samples))), GIVEN_SEEDS if self.seeds is None else self.seeds)
        return Design(self.quantile, self.precision, self.confidence, largest=self.largest, budget=self.budget)


def training_counts(tallies: Tallies) -> Counts:
    """The tallies of training sets alone, without those of fresh samples."""
    return {size: tally for size, tally in tallies.items() if size is not None}
