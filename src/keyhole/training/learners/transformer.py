"""The learner this laboratory is about: one layer of attention read at [CLS], trained by gradient descent."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from keyhole.training.learners.base import Fitted
from keyhole.training.learners.gradient import GradientLearner
from keyhole.training.learners.presets import DEPARTURES, preset
from keyhole.training.learners.registry import register_learner
from keyhole.training.observation import SampleSource
from keyhole.training.task import Examples, ProblemSize

Weights = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class TransformerLearner(GradientLearner):
    """The transformer with these settings."""

    @property
    def name(self) -> str:
        """Return the name that a person types."""
        return "transformer"

    @property
    def remark(self) -> str:
        """Return where the preset `paper` departs from the protocol it follows; nothing of other settings."""
        return DEPARTURES if self.settings == preset("paper") else ""

    def starting_weights(self, usual: Weights) -> Weights:
        """Return the weights to start from, given the usual random ones."""
        return usual

    def train(self, size: ProblemSize, data: Examples | SampleSource, seed: np.random.SeedSequence) -> Fitted:
        """Train the network."""
        from keyhole.training.network.loop import train  # noqa: PLC0415  (imports jax)

        return train(self.settings, size, data, seed, self.observer, self.starting_weights)


def transformer_with_preset(name: str = "default") -> TransformerLearner:
    """Return the transformer with the settings of this preset."""
    return TransformerLearner(preset(name))


register_learner("transformer", transformer_with_preset, TransformerLearner.from_record)
register_learner("transformer:", transformer_with_preset, TransformerLearner.from_record)
