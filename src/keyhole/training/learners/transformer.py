"""The learner this laboratory is about: one layer of attention read at [CLS], trained by gradient descent.

jax is imported only when something is trained.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.training.learners.base import Fitted
from keyhole.training.learners.gradient import GradientLearner
from keyhole.training.learners.presets import DEPARTURES, preset
from keyhole.training.learners.registry import register_family, register_learner
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.training_memory import training_memory
from keyhole.training.observation import SampleSource
from keyhole.training.task import Examples, ProblemSize


@dataclass(frozen=True)
class TransformerLearner(GradientLearner):
    """The transformer with these settings."""

    @property
    def name(self) -> str:
        """How a person names it."""
        return "transformer"

    @property
    def remark(self) -> str:
        """Where the preset `paper` departs from the protocol it follows; nothing of other settings."""
        return DEPARTURES if self.settings == preset("paper") else ""

    def record(self) -> dict[str, Any]:
        """Its name and every setting."""
        return {"name": self.name, **self.settings.record()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "TransformerLearner":
        """The learner that a record was made of."""
        return cls(TransformerSettings(**{name: value for name, value in record.items() if name != "name"}))

    def memory(self, size: ProblemSize, samples: int | None) -> int:
        """Bytes of a run."""
        return training_memory(self.settings, size, samples)

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:
        """Train on these examples."""
        from keyhole.training.network.loop import train  # noqa: PLC0415  (imports jax)

        return train(self.settings, size, examples, seed, self.observer)

    def fit_online(self, size: ProblemSize, source: SampleSource, seed: np.random.SeedSequence) -> Fitted:
        """Train on fresh samples, a batch of them for every step."""
        from keyhole.training.network.loop import train_online  # noqa: PLC0415  (imports jax)

        self.validate(size, online=True)
        return train_online(self.settings, size, source, seed, self.observer)


def transformer_with_preset(name: str) -> TransformerLearner:
    """The transformer with the settings of this preset."""
    return TransformerLearner(preset(name))


register_learner("transformer", lambda: transformer_with_preset("default"), TransformerLearner.from_record)
register_family("transformer", transformer_with_preset, TransformerLearner.from_record)
