"""Training inputs as bits, for learners that read nothing else."""

import numpy as np
from jaxtyping import Bool, UInt8

from keyhole.errors import ArgumentError
from keyhole.lab.task import Examples, Instance


def bits_of(instance: Instance, examples: Examples | None, learner: str) -> Bool[np.ndarray, "n T"]:
    """The training inputs as bits; refuses what an exact learner cannot read."""
    require_bits(instance, learner, online=examples is None)
    return as_bits(examples.inputs)  # type: ignore[union-attr]


def require_bits(instance: Instance, learner: str, *, online: bool) -> None:
    """Refuse what an exact learner cannot read: fresh samples, and symbols that are no bits."""
    if online:
        raise ArgumentError(f"{learner} was asked to learn online, but it reads a training set; give sample sizes.")
    if instance.symbols != 2:
        raise ArgumentError(
            f"{learner} reads bits, and this task has {instance.symbols} symbols; use an alphabet of 2."
        )


def as_bits(inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n T"]:
    """Symbols 0 and 1 as bits, without a copy."""
    return inputs.view(np.bool_)
