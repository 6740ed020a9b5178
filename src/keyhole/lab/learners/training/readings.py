"""Readings: the network on its training set and on the probe, its attention and its norms, every few steps."""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from keyhole.lab.learners.base import Reading
from keyhole.lab.learners.settings import TransformerSettings
from keyhole.lab.learners.training.network import Parameters, attention_mass, exponentials, tables
from keyhole.lab.learners.training.prepare import Probe
from keyhole.lab.learners.training.step import cross_entropy, present_rows

READINGS = (
    "step",
    "loss",
    "train_accuracy",
    "accuracy",
    "mass",
    "mass_best",
    "fourier",
    "spread",
    "norm",
    "movement",
)
OF_THE_SET = {"train_accuracy"}  # what is not read online
OF_THE_PROBE = {"accuracy", "mass", "mass_best", "fourier"}  # what is not read without an observer


class Shape(NamedTuple):
    """What is read of the scores, and of attention on the probe."""

    mass: Float[Array, ""]  # the share of attention on the relevant positions, on average over the heads
    mass_best: Float[Array, ""]  # that of the head with the largest
    spread: Float[Array, ""]
    movement: Float[Array, ""]  # the largest change of a score since the first reading
    scores: Float[Array, "A T1 H"]


def read_shape(settings: TransformerSettings, parameters: Parameters, probe: Probe, first_scores: Array) -> Shape:
    """The scores and the attention of a network; `first_scores` are those before training."""
    scores = tables(settings, parameters)[0]
    mass = attention_mass(settings, parameters, probe.inputs, probe.positions).mean(axis=0)
    return Shape(
        mass.mean(),
        mass.max(),
        exponentials(scores)[1],
        jnp.abs(scores - first_scores).max(),
        scores,
    )


def squares(arrays: Parameters) -> dict[str, Float[Array, ""]]:
    """The sum of the squares of each array."""
    return {name: (array**2).sum() for name, array in arrays.items()}


def root_of_sum(parts: dict[str, Float[Array, ""]]) -> Float[Array, ""]:
    """The root of the sum, added in the order of the names."""
    return jnp.sqrt(sum(parts[name] for name in sorted(parts)))


def read_probe(
    labels: Float[Array, "P"], characters: Float[Array, "P C"], outputs: Float[Array, "P"]
) -> dict[str, Array]:
    """How the probe is answered: the share of right answers, and of Fourier weight on the target's own characters."""
    centred = outputs - outputs.mean()
    weight = ((centred @ characters) ** 2).sum()
    return {
        "accuracy": ((outputs > 0) == (labels > 0)).astype(jnp.float32).mean(),
        "fourier": weight / jnp.maximum((centred**2).sum(), 1e-30),
    }


def read_set(labels: Float[Array, "M"], size: Array, outputs: Float[Array, "M"]) -> dict[str, Array]:
    """The loss and the share of right answers on the training set."""
    present = present_rows(len(labels), size)
    loss = (present / size * cross_entropy(outputs, labels)).sum()
    # a sum of 1/m over m rows need not be 1 in floating point; the number of rows wrong is exact
    wrong = (((outputs > 0) != (labels > 0)) * present).sum()
    return {"loss": loss, "train_accuracy": 1 - wrong / size}


def as_numbers(row: dict[str, np.ndarray], left_out: set[str]) -> Reading:
    """One reading as plain numbers; what was not read, or is no number, is left out."""
    named = {name: float(row[name]) for name in READINGS if name in row and name not in left_out}
    return {name: value for name, value in named.items() if math.isfinite(value)}
