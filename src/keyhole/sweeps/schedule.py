"""The runs of a sweep at each context: a fixed grid, fresh samples, or rounds until m* is known well enough."""

from collections.abc import Sequence
from dataclasses import dataclass

from keyhole.errors import ArgumentError, require_whole
from keyhole.sweeps.thresholds import BUDGET, LARGEST, Design, Grid, Online, Rounds

LEAST_SHARE = 0.01  # of runs that succeed at m*: with fewer, or with all but fewer, hundreds of runs show nothing
LEAST_PRECISION = 0.001  # of m*; half a million runs would not reach it
SEEDS = 20  # at each size of a fixed grid, and online: as many as the definition of m* asks for


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
            return Online(SEEDS if self.seeds is None else self.seeds)
        if self.samples:
            return Grid(tuple(sorted(set(self.samples))), SEEDS if self.seeds is None else self.seeds)
        return Design(self.quantile, self.precision, self.confidence, largest=self.largest, budget=self.budget)
