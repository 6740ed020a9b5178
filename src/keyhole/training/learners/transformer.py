"""The learner this laboratory is about, one layer of attention read at [CLS]; and several layers of it beside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Fitted
from keyhole.training.learners.gradient import DEPARTURES, GradientLearner, preset
from keyhole.training.learners.registry import register_learner
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.task import Examples, ProblemSize, SampleSource

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


MOST = 24  # layers; each is compiled by itself
USUAL = TransformerSettings(
    norm="pre",
    final_norm=True,
    rate=1e-3,
    dropout=0.1,
    attention_dropout=0.1,
)  # as encoders are commonly trained; no rule has tuned them


@dataclass(frozen=True)
class DeepLearner(GradientLearner):
    """A Transformer encoder of some layers; every token reads every other, and a step costs as much as T²."""

    settings: TransformerSettings = USUAL
    layers: int = 2
    remark: ClassVar[str] = "the settings of the deep transformer were not tuned"

    def __post_init__(self) -> None:
        if not 1 <= self.layers <= MOST:
            raise ArgumentError(f"A transformer of {self.layers} layers was asked for; use 1 to {MOST}.")
        if self.settings.path_penalty:
            raise ArgumentError(
                "A penalty on the path norm was asked for with several layers; it is one layer's. Use a penalty of 0."
            )

    @property
    def name(self) -> str:
        """Return the name that a person types."""
        return f"deep:{self.layers}"

    def train(self, size: ProblemSize, data: Examples | SampleSource, seed: np.random.SeedSequence) -> Fitted:
        """Train the network."""
        from keyhole.training.network.deep import train_deep  # noqa: PLC0415  (imports jax)

        return train_deep(self.layers, self.settings, size, data, seed, self.observer)


def deep_of(layers: str) -> DeepLearner:
    """Return the deep transformer of so many layers, as a name says it."""
    if not (layers.isascii() and layers.isdigit() and len(layers) < 4):
        raise ArgumentError(f"There is no learner 'deep:{layers}'; name a number of layers, such as deep:2.")
    return DeepLearner(layers=int(layers))


register_learner("deep", DeepLearner, DeepLearner.from_record)
register_learner("deep:", deep_of, DeepLearner.from_record)
