"""Several layers of attention read at [CLS], trained by gradient descent: beside the one-layer transformer.

jax is imported only when something is trained.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Fitted
from keyhole.training.learners.deep_memory import deep_memory
from keyhole.training.learners.gradient import GradientLearner
from keyhole.training.learners.registry import register_family, register_learner
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.observation import SampleSource
from keyhole.training.task import Examples, ProblemSize

LAYERS = 2  # where their number is not said
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
    """A Transformer encoder of some layers; every token asks every other, and a step costs as much as T²."""

    settings: TransformerSettings = USUAL
    layers: int = LAYERS
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
        """How a person names it."""
        return f"deep:{self.layers}"

    def record(self) -> dict[str, Any]:
        """Its name, its layers and every setting."""
        return {"name": self.name, "layers": self.layers, **self.settings.record()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "DeepLearner":
        """The learner that a record was made of."""
        settings = {name: value for name, value in record.items() if name not in {"name", "layers"}}
        return cls(TransformerSettings(**settings), layers=int(record["layers"]))

    def memory(self, size: ProblemSize, samples: int | None) -> int:
        """Bytes of a run."""
        return deep_memory(self.layers, self.settings, size, samples)

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:
        """Train on these examples."""
        from keyhole.training.network.deep import train_deep  # noqa: PLC0415  (imports jax)

        return train_deep(self.layers, self.settings, size, examples, seed, self.observer)

    def fit_online(self, size: ProblemSize, source: SampleSource, seed: np.random.SeedSequence) -> Fitted:
        """Train on fresh samples, a batch of them for every step."""
        from keyhole.training.network.deep import train_deep_online  # noqa: PLC0415  (imports jax)

        self.validate(size, online=True)
        return train_deep_online(self.layers, self.settings, size, source, seed, self.observer)


def deep_of(layers: str) -> DeepLearner:
    """The deep transformer of so many layers, as a name says it."""
    if not (layers.isascii() and layers.isdigit() and len(layers) < 4):
        raise ArgumentError(f"There is no learner 'deep:{layers}'; name a number of layers, such as deep:2.")
    return DeepLearner(layers=int(layers))


register_learner("deep", DeepLearner, DeepLearner.from_record)
register_family("deep", deep_of, DeepLearner.from_record)
