"""Access to a hidden function: a probe for readings, and a source of fresh samples.

A learner never holds the function itself. One that takes readings is given an `Observer`, which draws a probe: inputs,
labels, relevant positions and characters, as arrays. One that learns online is given a `SampleSource`. Neither is
there to predict with: success is judged on inputs that the learner does not see.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Bool, Float, Int32, UInt8
from keyhole.boolean import UNIFORM, sign_spectrum
from keyhole.training.task import Examples, Instance

PROBE = 1024  # fresh inputs on which readings are taken, of training on fresh samples: they say when it stops
SET_PROBE = 512  # the same, of training on a set
CHARACTERS = 6  # the Fourier weight looks at all sets of at most this many relevant positions


@dataclass(frozen=True, eq=False)
class Observation:
    """A probe: clean inputs and labels on which readings are taken, and where to look."""

    inputs: UInt8[np.ndarray, "n T"]
    labels: Bool[np.ndarray, "n"]
    positions: Int32[np.ndarray, "s"]  # the relevant ones
    characters: Float[np.ndarray, "n C"]  # an orthonormal basis of the target's own characters on the inputs

    @property
    def shows_target(self) -> bool:
        """Return whether it has the target's characters; a probe that is drawn from samples alone has none."""
        return bool(self.characters.shape[1])


# of a reading, and the weights it was taken of; before the first step the weights come with step 0 alone
Notice = Callable[[Mapping[str, float], Mapping[str, np.ndarray]], None]


class Observer:
    """Draws probes of one hidden function, for readings taken while a learner trains; `notice` hears of each."""

    def __init__(self, instance: Instance, notice: Notice | None = None) -> None:
        self._instance = instance
        self.notice = notice

    def observe(self, count: int, rng: np.random.Generator) -> Observation:
        """A probe of this many fresh inputs."""
        inputs = self._instance.inputs(count, rng)
        labels = self._instance.truth(inputs)
        return Observation(
            inputs, labels, self._instance.look_up().positions, target_characters(self._instance, inputs)
        )


@dataclass(frozen=True, eq=False)
class SamplingTables:
    """The distribution of fresh samples as arrays, for a program that draws them itself.

    A symbol is the number of `ends` that a uniform number in [0, 1) reaches; a label is
    table[offset + Σ_i weight_i·bit(position_i)], flipped with probability `noise`.
    """

    ends: Float[np.ndarray, "A"]  # cumulative probabilities of the symbols
    letters: Bool[np.ndarray, "A"]  # the bit behind each symbol
    positions: Int32[np.ndarray, "s"]
    weights: Int32[np.ndarray, "s"]
    offset: int
    table: Bool[np.ndarray, "entries"]
    noise: float


class SampleSource:
    """Fresh samples of one hidden function, for learning online."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def draw(self, count: int, rng: np.random.Generator) -> Examples:
        """Draw so many fresh examples, with the label noise of the task."""
        return self._instance.examples(count, rng)

    def tables(self) -> SamplingTables:
        """The distribution that `draw` follows, as arrays."""
        instance, look = self._instance, self._instance.look_up()
        ones = instance.letters
        shares = np.where(ones, instance.law.p / ones.sum(), 0.0)
        shares = np.where(ones, shares, (1 - instance.law.p) / (~ones).sum())
        return SamplingTables(
            np.cumsum(shares), ones, look.positions, look.weights, look.offset, look.table, instance.label_noise
        )


def target_characters(instance: Instance, inputs: UInt8[np.ndarray, "n T"]) -> Float[np.ndarray, "n C"]:
    """An orthonormal basis, on these inputs, of the characters on which the target's own Fourier weight lies.

    The constant is left out. On fair bits the characters are the sets with a coefficient; on biased ones every set of
    relevant positions. A target of more than six positions is its own character.
    """
    size, p = instance.function.sparsity, instance.law.p
    bits = instance.letters[inputs[:, list(instance.function.positions)]].astype(np.float64)
    if size > CHARACTERS:
        columns = [instance.truth(inputs).astype(np.float64)]
    else:
        coefficients = sign_spectrum(instance.function)
        sets = [mask for mask in range(1, 1 << size) if instance.law != UNIFORM or coefficients[mask] != 0]
        columns = [np.prod(bits[:, [i for i in range(size) if mask >> i & 1]] - p, axis=1) for mask in sets]
    if not columns:  # a constant target has no character of its own
        return np.zeros((len(inputs), 1))
    table = np.stack(columns, axis=1)
    basis, scales, _ = np.linalg.svd(table - table.mean(axis=0), full_matrices=False)
    return np.asarray(basis * (scales > 1e-9 * max(scales[0], 1e-300)))
