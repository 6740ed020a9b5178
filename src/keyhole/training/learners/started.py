"""The one-layer transformer, started from weights that know the hidden function: does training keep them?

This is no learning: the learner is told the function, and a success means that training did not lose it. The same
network from its usual random start, `started:random`, has to find it. Other starts register themselves, and may live in
packages that this one cannot import: that of compiled weights is `keyhole.api.compiled_start`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from keyhole.boolean import SparseFunction
from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Fitted
from keyhole.training.learners.registry import register_family
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import TransformerLearner
from keyhole.training.observation import SampleSource
from keyhole.training.task import Examples, ProblemSize

Weights = Mapping[str, np.ndarray]
PLAIN = TransformerSettings(norm="none", residual=False, activation="relu")  # units as the constructions have them


@runtime_checkable
class Start(Protocol):
    """Where training starts. A frozen record: equal fields start alike, and pickle."""

    @property
    def name(self) -> str:
        """How a person names it, after `started:`."""

    def record(self) -> dict[str, Any]:
        """Its name and every setting, as plain values."""

    def weights(self, settings: TransformerSettings, function: SparseFunction, usual: Weights) -> Weights:
        """The weights to start from, for this hidden function; `usual` are the random ones."""


@dataclass(frozen=True)
class RandomStart:
    """The usual start; the function is not looked at."""

    name: ClassVar[str] = "random"

    def record(self) -> dict[str, Any]:
        """Its name."""
        return {"name": self.name}

    def weights(self, settings: TransformerSettings, function: SparseFunction, usual: Weights) -> Weights:  # noqa: ARG002
        """The random weights."""
        return usual


@dataclass(frozen=True)
class StartedLearner(TransformerLearner):
    """The transformer from a start of its own."""

    settings: TransformerSettings = PLAIN
    start: Start = field(default_factory=RandomStart)
    target: SparseFunction | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """How a person names it."""
        return f"started:{self.start.name}"

    @property
    def remark(self) -> str:
        """That it is told what others have to find."""
        told = "is told the hidden function and starts from it: success means that training kept it"
        return "" if isinstance(self.start, RandomStart) else f"{self.name} {told}"

    def record(self) -> dict[str, Any]:
        """Its name, its start and every setting."""
        return {"name": self.name, "start": self.start.record(), **self.settings.record()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "StartedLearner":
        """The learner that a record was made of."""
        settings = {name: value for name, value in record.items() if name not in {"name", "start"}}
        kind = dict(record["start"])
        return cls(TransformerSettings(**settings), start=_start_named(kind.pop("name"))(**kind))

    def with_target(self, function: SparseFunction) -> "StartedLearner":
        """The same learner, told the function."""
        return replace(self, target=function)

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:
        """Train on these examples."""
        from keyhole.training.network.loop import train  # noqa: PLC0415  (imports jax)

        return train(self.settings, size, examples, seed, self.observer, begin=self._begin)

    def fit_online(self, size: ProblemSize, source: SampleSource, seed: np.random.SeedSequence) -> Fitted:
        """Train on fresh samples."""
        from keyhole.training.network.loop import train_online  # noqa: PLC0415  (imports jax)

        self.validate(size, online=True)
        return train_online(self.settings, size, source, seed, self.observer, begin=self._begin)

    def _begin(self, usual: Weights) -> Weights:
        """The weights to start from, in single precision."""
        if self.target is None:
            raise ArgumentError(f"{self.name} was asked to train without a function to start from; tell it one.")
        begun = self.start.weights(self.settings, self.target, usual)
        return {name: np.asarray(array, dtype=np.float32) for name, array in begun.items()}


_STARTS: dict[str, Callable[..., Start]] = {}


def register_start(name: str, make: Callable[..., Start]) -> None:
    """Make a start known under a name: `started:NAME`; `make` is given the settings of its record."""
    _STARTS[name] = make


def _start_named(name: str) -> Callable[..., Start]:
    if name not in _STARTS:
        raise ArgumentError(f"There is no start {name!r}; there are {', '.join(sorted(_STARTS))}.")
    return _STARTS[name]


register_start("random", RandomStart)
register_family("started", lambda name: StartedLearner(start=_start_named(name)()), StartedLearner.from_record)
