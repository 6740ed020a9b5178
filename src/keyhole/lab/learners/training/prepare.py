"""What a training run looks at: a padded training set or tables of fresh samples, as arrays of jax, and a probe."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from keyhole.lab.learners.training_memory import padded_size
from keyhole.lab.observation import PROBE, Observation, Observer, SampleSource
from keyhole.lab.task import Examples


class TrainingSet(NamedTuple):
    """A training set, padded."""

    inputs: UInt8[Array, "M T"]
    labels: Float[Array, "M"]
    size: Int[Array, ""]  # without the padding


class FreshSamples(NamedTuple):
    """What is needed to draw fresh samples."""

    ends: Float[Array, "A"]  # cumulative probabilities of the symbols
    letters: Int[Array, "A"]
    positions: Int[Array, "s"]
    weights: Int[Array, "s"]
    offset: Int[Array, ""]
    table: Float[Array, "entries"]
    noise: Float[Array, ""]


def prepare_set(examples: Examples, *, whole: bool) -> TrainingSet:
    """A training set padded to a standard size, so that one compiled program serves many sizes."""
    inputs, labels = examples.inputs, examples.labels
    spare = padded_size(len(labels), whole=whole) - len(labels)
    return TrainingSet(
        inputs=jnp.asarray(np.pad(inputs, ((0, spare), (0, 0)))),
        labels=jnp.asarray(np.pad(labels, (0, spare)), dtype=jnp.float32),
        size=jnp.int32(len(labels)),
    )


def prepare_source(source: SampleSource) -> FreshSamples:
    """The distribution of fresh samples."""
    tables = source.tables()
    return FreshSamples(
        ends=jnp.asarray(tables.ends, dtype=jnp.float32),
        letters=jnp.asarray(tables.letters, dtype=jnp.int32),
        positions=jnp.asarray(tables.positions),
        weights=jnp.asarray(tables.weights),
        offset=jnp.int32(tables.offset),
        table=jnp.asarray(tables.table, dtype=jnp.float32),
        noise=jnp.float32(tables.noise),
    )


def draw_probe(observer: Observer | None, source: SampleSource | None, rng: np.random.Generator) -> Observation | None:
    """The inputs of readings: the observer's; else samples of the source, with nothing that is hidden; else none."""
    if observer is not None:
        return observer.observe(PROBE, rng)
    if source is None:
        return None
    examples = source.draw(PROBE, rng)
    return Observation(examples.inputs, examples.labels, np.zeros(0, dtype=np.int32), np.zeros((PROBE, 1)))
