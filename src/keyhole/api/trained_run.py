"""A trained run as the prover takes it: its model, its training set, and the law both came from."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from keyhole.attention import Model
from keyhole.boolean import SymbolLaw

if TYPE_CHECKING:
    from keyhole.training import Instance


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A trained model with the data and the law of its run."""

    name: str  # as it was asked for: a beginning of the identity
    identity: str
    model: Model
    sample: tuple[np.ndarray, np.ndarray] | None  # None: it learned from fresh samples
    law: SymbolLaw
    conditioned: bool  # training sets were redrawn until one was balanced
    instance: "Instance"

    @property
    def noise(self) -> str:
        """The noise of its training set: of labels, inputs, or both; empty if there is none."""
        rates = {"label noise": self.instance.label_noise, "feature noise": self.instance.feature_noise}
        return " and ".join(f"{name} {rate:g}" for name, rate in rates.items() if rate)
