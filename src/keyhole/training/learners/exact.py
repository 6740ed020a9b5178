"""Learners that search for a function of bits without error in its labels; their names say all their settings."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from keyhole.arrays import Bool, UInt8
from keyhole.errors import ArgumentError
from keyhole.training.learners.base import Learner
from keyhole.training.task import ProblemSize


@dataclass(frozen=True)
class ExactLearner(Learner):
    """A learner that reads bits and takes every label for right."""

    packages: ClassVar[tuple[str, ...]] = ("numpy",)
    bears_noise: ClassVar[bool] = False

    def record(self) -> dict[str, Any]:
        """Return the name."""
        return {"name": self.name}

    def validate(self, size: ProblemSize, *, online: bool) -> None:
        """Refuse fresh samples, and symbols other than bits."""
        super().validate(size, online=online)
        if size.symbols != 2:
            raise ArgumentError(
                f"{self.name} reads bits, and this task has {size.symbols} symbols; use an alphabet of 2."
            )


def as_bits(inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n T"]:
    """Return symbols 0 and 1 as bits, without a copy."""
    return inputs.view(np.bool_)
