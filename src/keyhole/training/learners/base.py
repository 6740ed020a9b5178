"""A learner: examples in, a predictor out, with what was read on the way.

`Learner` is all that is needed. The other protocols are for what some learners do besides: learn online, train by
steps, take readings of the hidden part, refuse a problem before anything is run, count the memory they need, name the
packages that decide their numbers, say that these numbers changed, say what they take the labels for, or start from the
hidden function itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from keyhole.arrays import Bool, UInt8
from keyhole.boolean import SparseFunction
from keyhole.training.observation import Observer, SampleSource
from keyhole.training.task import Examples, ProblemSize

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
    """Anything that learns from a training set. A frozen record: equal fields learn alike, and pickle."""

    @property
    def name(self) -> str:
        """How a person names it."""

    def record(self) -> dict[str, Any]:
        """Its name and every setting that decides what it learns, as plain values: they seed its runs."""

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:
        """Learn from these examples."""


@runtime_checkable
class OnlineLearner(Protocol):
    """A learner that can also learn from fresh samples; one without this method cannot, and is refused so."""

    def fit_online(self, size: ProblemSize, source: SampleSource, seed: np.random.SeedSequence) -> Fitted:
        """Learn from samples drawn afresh for every step."""


@runtime_checkable
class CountsSteps(Protocol):
    """A learner that trains by steps, of which it takes at most so many."""

    @property
    def steps(self) -> int:
        """At most so many."""

    def with_steps(self, steps: int) -> Learner:
        """The same learner, which may take about so many."""


@runtime_checkable
class Observable(Protocol):
    """A learner that takes readings of the hidden part while it trains."""

    def with_observer(self, observer: Observer) -> Learner:
        """The same learner, taking its readings through this observer; it learns the same without."""


@runtime_checkable
class ToldTarget(Protocol):
    """A learner that is told the hidden function, because it starts from it; its success is no learning."""

    def with_target(self, function: SparseFunction) -> Learner:
        """The same learner, told the function."""


@runtime_checkable
class Validating(Protocol):
    """A learner that cannot learn every problem, and refuses before anything is run."""

    def validate(self, size: ProblemSize, *, online: bool) -> None:
        """Refuse in a sentence a problem that it cannot learn, from a training set or online."""


@runtime_checkable
class StatesMemory(Protocol):
    """A learner that knows what a run of it holds in memory; of any other, its training set is counted."""

    def memory(self, size: ProblemSize, samples: int | None) -> int:
        """Bytes of a run on a training set of so many samples, or (None) on fresh ones."""


@runtime_checkable
class StatesPackages(Protocol):
    """A learner that knows which packages decide its numbers; of any other, all that keyhole records are taken to."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Names of distributions, such as numpy; runs made with other versions of them are pointed out."""


@runtime_checkable
class StatesNumerics(Protocol):
    """A learner whose numbers once changed under the same record; of any other, they are those of numerics 1."""

    @property
    def numerics(self) -> int:
        """Raised by one with every such change: it seeds and names runs, so that none is taken for another."""


@runtime_checkable
class StatesLimits(Protocol):
    """A learner that says with every answer what it assumes or departs from, and whether it bears wrong labels."""

    @property
    def remark(self) -> str:
        """A sentence without its stop, to be printed with every answer; empty if there is nothing to say."""

    @property
    def bears_noise(self) -> bool:
        """Whether it can learn from labels of which some are wrong."""
