"""A learner: examples in, a predictor out, with what was seen on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, UInt8

from keyhole.lab.task import Examples, Instance

Reading = Mapping[str, float]


@runtime_checkable
class Predictor(Protocol):
    """An answer to every input."""

    def __call__(self, inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        """The predicted labels."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """What learning gave: a predictor, the steps it took, what was read on the way, and weights if there are any."""

    predict: Predictor
    steps: int = 0
    numbers: Mapping[str, float] = field(default_factory=dict)
    readings: tuple[Reading, ...] = ()
    weights: Mapping[str, np.ndarray] | None = None


@runtime_checkable
class Learner(Protocol):
    """Anything that learns from examples. A frozen record: equal fields learn alike."""

    @property
    def name(self) -> str:
        """How a person names it."""

    def record(self) -> dict[str, Any]:
        """Its name and every setting, as plain values."""

    def fit(self, instance: Instance, examples: Examples | None, seed: np.random.SeedSequence) -> Fitted:
        """Learn from these examples, or from fresh ones when there are none.

        The instance tells the size of the problem and lets readings look at the hidden part; a learner that used
        it to predict would be cheating.
        """


@runtime_checkable
class Choosy(Protocol):
    """A learner that cannot learn everything, and says so before anything is run."""

    def refuse(self, instance: Instance, *, online: bool) -> None:
        """Refuse in a sentence what it could not learn, from a training set or from fresh samples."""
