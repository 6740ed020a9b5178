"""Training inputs as bits, for learners that read nothing else."""

import numpy as np

from keyhole.arrays import Bool, UInt8
from keyhole.errors import ArgumentError
from keyhole.training.task import Examples, ProblemSize


def bits_of(size: ProblemSize, examples: Examples, learner: str) -> Bool[np.ndarray, "n T"]:
    """The training inputs as bits; refuses what an exact learner cannot read."""
    require_bits(size, learner)
    return as_bits(examples.inputs)


def require_bits(size: ProblemSize, learner: str) -> None:
    """Refuse symbols that are no bits."""
    if size.symbols != 2:
        raise ArgumentError(f"{learner} reads bits, and this task has {size.symbols} symbols; use an alphabet of 2.")


def as_bits(inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n T"]:
    """Symbols 0 and 1 as bits, without a copy."""
    return inputs.view(np.bool_)
