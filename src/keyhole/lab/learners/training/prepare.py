"""What a training run looks at, as arrays of jax: a padded training set or tables of fresh samples, and a probe."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from keyhole.lab.learners.training_memory import padded_size
from keyhole.lab.observation import PROBE, Observation, Observer, SampleSource
from keyhole.lab.task import Examples, ProblemSize


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


class Probe(NamedTuple):
    """What readings look at."""

    inputs: UInt8[Array, "P T"]
    labels: Float[Array, "P"]
    positions: Int[Array, "s"]
    characters: Float[Array, "P C"]


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


def prepare_probe(observer: Observer, rng: np.random.Generator) -> Probe:
    """A probe of fresh inputs, with what is hidden about them."""
    return _probe(observer.observe(PROBE, rng))


def blind_probe(size: ProblemSize, rng: np.random.Generator, source: SampleSource | None = None) -> Probe:
    """A probe without an observer: fresh samples of the source, or one input of zeros, and nothing that is hidden."""
    if source is None:
        examples = Examples(np.zeros((1, size.context), dtype=np.uint8), np.zeros(1, dtype=bool))
    else:
        examples = source.draw(PROBE, rng)
    nowhere, nothing = np.zeros(0, dtype=np.int32), np.zeros((len(examples.labels), 1))
    return _probe(Observation(examples.inputs, examples.labels, nowhere, nothing))


def _probe(observation: Observation) -> Probe:
    return Probe(
        inputs=jnp.asarray(observation.inputs),
        labels=jnp.asarray(observation.labels, dtype=jnp.float32),
        positions=jnp.asarray(observation.positions),
        characters=jnp.asarray(observation.characters, dtype=jnp.float32),
    )
