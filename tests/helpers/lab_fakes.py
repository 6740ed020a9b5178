"""Learners that learn nothing and know everything: runs in no time, with outcomes that a formula decides."""

import os
import time
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.sweeps.thresholds.design import Rounds
from keyhole.training.learners import Fitted, Learner


def told_by(observer):
    """The hidden function, taken from the inside of an observer: a learner that cheats must break in."""
    return observer._instance.truth


@dataclass(frozen=True)
class Coin(Learner):
    """Succeeds with probability 1/(1 + (m₀/m)⁴), m₀ = level · log₂ T; of its failures every other one fits.

    Each run leaves a line in the diary, if there is one: who made it.
    """

    level: float = 10.0
    seconds: float = 0.0
    diary: str = ""
    dies_at: int = 0  # the sample size at which its process ends
    observer: Any = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """How a person names it."""
        return "coin"

    def record(self) -> dict[str, Any]:
        """The settings that decide an outcome."""
        return {"name": self.name, "level": self.level}

    def with_observer(self, observer):
        """The same coin, which an observer tells the function."""
        return replace(self, observer=observer)

    def fit_online(self, size, source, seed):  # noqa: ARG002  (it needs no sample)
        """Toss, as with very many samples."""
        return self.fit(size, None, seed)

    def fit(self, size, examples, seed):
        """Toss."""
        rng = np.random.default_rng(seed)
        m = 10**9 if examples is None else len(examples.labels)
        if m == self.dies_at:
            os._exit(9)
        chance = 1 / (1 + (self.level * np.log2(size.context) / m) ** 4)
        success, fits = rng.random(2) < (chance, 0.5)
        time.sleep(self.seconds)
        if self.diary:
            with Path(self.diary).open("a") as file:
                file.write(f"{os.getpid()} {size.context} {m} {seed.entropy}\n")

        told = told_by(self.observer)

        def predict(inputs):
            truth = told(inputs)
            seen = examples is not None and np.shares_memory(inputs, examples.inputs)
            return truth if success or (seen and fits) else ~truth

        readings = ({"step": 1.0, "loss": float(rng.random())},)
        weights = {"score": rng.random((2, 3))}
        return Fitted(predict, int(rng.integers(1, 100)), {"draw": float(rng.random())}, readings, weights)


@dataclass(frozen=True)
class Climb(Rounds):
    """Rounds of four runs at 8, 16, 32, …, until three of four succeed: a schedule that costs nothing to follow."""

    def next_round(self, tallies):
        """The next size, unless the last one was enough."""
        if tallies and tallies[max(tallies)][0] >= 3:
            return {}
        return {2 * max(tallies, default=4): 4}

    def record(self):
        """Its kind."""
        return {"kind": "climb"}


class Inline(Executor):
    """Runs a task when it is submitted, here."""

    def submit(self, fn, /, *args, **kwargs):
        """Do it now."""
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  (a future carries any)
            future.set_exception(error)
        return future


__all__ = ["Climb", "Coin", "Inline", "told_by"]
