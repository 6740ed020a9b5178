"""Learners that train a network by gradient descent: settings, steps, readings. jax is imported when one trains."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Fitted, Learner
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.observation import Observer, SampleSource
from keyhole.training.task import Examples, ProblemSize


@dataclass(frozen=True)
class GradientLearner(Learner):
    """Settings of a network and of its training; it takes readings of the hidden part where there is an observer."""

    settings: TransformerSettings = field(default_factory=TransformerSettings)
    observer: Observer | None = field(default=None, compare=False, repr=False)
    packages: ClassVar[tuple[str, ...]] = ("jax", "jaxlib", "optax", "numpy")

    @property
    def numerics(self) -> int:
        """Return 2 where weights of attention are dropped, since they were drawn by other bits before; else 1."""
        return 2 if self.settings.attention_dropout else 1

    @property
    def steps(self) -> int:
        """Return the most steps of gradient descent."""
        return self.settings.steps

    def record(self) -> dict[str, Any]:
        """Return the name and every setting, side by side."""
        record = super().record()
        del record["settings"]
        return record | self.settings.record()

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "GradientLearner":
        """Make the learner of a record."""
        names = {each.name for each in fields(TransformerSettings)}
        settings = {name: value for name, value in record.items() if name in names}
        others = {name: value for name, value in record.items() if name not in {*names, "name"}}
        return cls(TransformerSettings(**settings), **others)

    def with_steps(self, steps: int) -> "GradientLearner":
        """Return the learner with so many steps, rounded up to whole stretches between readings."""
        stretches = max(1, -(-steps // self.settings.every))
        return replace(self, settings=replace(self.settings, steps=stretches * self.settings.every))

    def with_observer(self, observer: Observer) -> "GradientLearner":
        """Return the learner with readings on a probe: accuracy, Fourier weight, of one layer attention too."""
        return replace(self, observer=observer)

    def validate(self, size: ProblemSize, *, online: bool) -> None:  # noqa: ARG002  (any size will do)
        """Refuse fresh samples that are to come all at once."""
        if online and not self.settings.batch:
            raise ArgumentError(
                "Fresh samples were asked for with a batch of 0, the whole training set; there is none. Give sample "
                "sizes, or choose settings with a batch of at least 1."
            )

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:
        """Train on these examples."""
        return self.train(size, examples, seed)

    def fit_online(self, size: ProblemSize, source: SampleSource, seed: np.random.SeedSequence) -> Fitted:
        """Train on fresh samples, a batch of them for every step."""
        self.validate(size, online=True)
        return self.train(size, source, seed)

    def train(self, size: ProblemSize, data: Examples | SampleSource, seed: np.random.SeedSequence) -> Fitted:
        """Train the network."""
        raise NotImplementedError
