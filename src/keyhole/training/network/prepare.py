"""The data of a training run: a padded training set or tables of fresh samples, as arrays of jax, and a probe."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from keyhole.arrays import Float, Int, UInt8
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.shapes import padded_size
from keyhole.training.network.attend import PADDING, adds_rows
from keyhole.training.observation import PROBE, SET_PROBE, Observation, Observer, SampleSource
from keyhole.training.task import Examples

Batch = tuple[Array, Array, Array]  # inputs, labels, and the weight of each in the loss
SHORT = 128  # contexts below it are padded to it


class TrainingSet(NamedTuple):
    """A training set, padded: rows beyond its size, and positions beyond its context."""

    inputs: UInt8[Array, "M T"]
    labels: Float[Array, "M"]
    size: Int[Array, ""]  # without the padding

    @staticmethod
    def draw(settings: TransformerSettings, size: Int[Array, ""], key: Array) -> Array:
        """Draw the rows of one batch; of the whole set nothing is drawn."""
        return jax.random.randint(key, (settings.batch,), 0, size) if settings.batch else key

    def batch(self, settings: TransformerSettings, _context: int, rows: Array) -> Batch:
        """Return some rows of the training set, or all of it."""
        if settings.batch:
            return self.inputs[rows], self.labels[rows], jnp.full(settings.batch, 1 / settings.batch)
        present = (jnp.arange(len(self.labels)) < self.size).astype(jnp.float32)
        return self.inputs, self.labels, present / self.size


class FreshSamples(NamedTuple):
    """The distribution of fresh samples."""

    ends: Float[Array, "A"]  # cumulative probabilities of the symbols
    letters: Int[Array, "A"]
    positions: Int[Array, "s"]
    weights: Int[Array, "s"]
    offset: Int[Array, ""]
    table: Float[Array, "entries"]
    noise: Float[Array, ""]

    @property
    def size(self) -> Int[Array, ""]:
        """Return 0: no row is drawn."""
        return jnp.zeros((), dtype=jnp.int32)

    @staticmethod
    def draw(_settings: TransformerSettings, _size: Int[Array, ""], key: Array) -> Array:
        """Return the key itself: fresh inputs are as long as the context, and drawn when the step is made."""
        return key

    def batch(self, settings: TransformerSettings, context: int, key: Array) -> Batch:
        """Draw fresh inputs, and their labels with noise."""
        symbols, noise = jax.random.split(key)
        count = settings.batch
        if len(self.ends) == 2:  # sixteen random bits decide a bit; its probability is off by less than 2⁻¹⁷
            drawn = jax.random.bits(symbols, (count, context), jnp.uint16).astype(jnp.float32)
            inputs = (drawn >= jnp.round(self.ends[0] * 2**16)).astype(jnp.uint8)
        else:
            drawn = jax.random.uniform(symbols, (count, context))
            inputs = (drawn[:, :, None] >= self.ends[:-1]).sum(-1).astype(jnp.uint8)
        bits = self.letters[inputs[:, self.positions]]
        labels = self.table[self.offset + bits @ self.weights]
        flipped = jax.random.bernoulli(noise, self.noise, (count,))
        return inputs, jnp.where(flipped, 1 - labels, labels), jnp.full(count, 1 / count)


Data = TrainingSet | FreshSamples


def padded_context(settings: TransformerSettings, context: int) -> int:
    """The context that training sets are padded to: one for all that are short, so that one program serves them.

    Only where padding changes nothing: attention over plain sums leaves it out, and a path norm looks at all positions.
    """
    pads = adds_rows(settings) and not settings.attention_dropout and not settings.path_penalty
    return SHORT if pads and context < SHORT else context


def prepare_set(examples: Examples, *, whole: bool, context: int | None = None) -> TrainingSet:
    """A training set padded to a standard size and this context, so that one compiled program serves many sizes."""
    inputs, labels = examples.inputs, examples.labels
    spare = padded_size(len(labels), whole=whole) - len(labels)
    beyond = 0 if context is None else context - inputs.shape[1]
    rows = np.pad(inputs, ((0, spare), (0, 0)))  # with symbols: a sequence of padding alone would have no mass
    return TrainingSet(
        inputs=jnp.asarray(np.pad(rows, ((0, 0), (0, beyond)), constant_values=PADDING)),
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


def draw_probe(
    observer: Observer | None, data: Examples | SampleSource, rng: np.random.Generator
) -> Observation | None:
    """The inputs of readings: the observer's; else samples of the source, with nothing that is hidden; else none."""
    if observer is not None:
        return observer.observe(SET_PROBE if isinstance(data, Examples) else PROBE, rng)
    if isinstance(data, Examples):
        return None
    examples = data.draw(PROBE, rng)
    return Observation(examples.inputs, examples.labels, np.zeros(0, dtype=np.int32), np.zeros((PROBE, 0)))
