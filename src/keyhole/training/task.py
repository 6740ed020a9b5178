"""A task: a sparse function hidden at random positions of a context, and the distribution of what the learner sees.

A learner never gets the function itself. One that takes readings has an `Observer`, which draws a probe: inputs,
labels, relevant positions and characters, as arrays. One that learns online has a `SampleSource`. Neither is there to
predict with: success is judged on inputs that the learner does not see.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from keyhole.arrays import Bool, Float, Float32, Int32, UInt8
from keyhole.boolean import UNIFORM, Bernoulli, Levels, SparseFunction, balanced, move, read_function, sign_spectrum
from keyhole.errors import ArgumentError, FormulaError

BLOCK = 1 << 24  # symbols drawn at once
REDRAWS = 200  # training sets drawn at most under the balancing rule
MOST_SYMBOLS = 255  # a symbol is a byte, and 255 of them leave the padding its own


@dataclass(frozen=True)
class ProblemSize:
    """The size of a problem, which a learner gets beside its examples; nothing of it is hidden."""

    context: int  # T, positions of an input
    symbols: int  # A, the size of the alphabet
    sparsity: int  # s, how many positions matter; not which


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs, one row of symbols each, and their labels."""

    inputs: UInt8[np.ndarray, "n T"]
    labels: Bool[np.ndarray, "n"]
    redraws: int = 0  # how often the balancing rule threw a set away
    accepted: bool = True  # whether the set meets that rule, where there is one


@dataclass(frozen=True, eq=False)
class Instance:
    """One task with its hidden part drawn: which positions matter, and which symbols stand for 1."""

    context: int
    function: SparseFunction
    law: Bernoulli
    letters: Bool[np.ndarray, "A"]  # the bit behind each symbol
    label_noise: float = 0.0
    feature_noise: float = 0.0
    balanced_sets: bool = False

    @property
    def symbols(self) -> int:
        """A, the size of the alphabet."""
        return len(self.letters)

    @property
    def size(self) -> ProblemSize:
        """Return the size, which a learner may use."""
        return ProblemSize(self.context, self.symbols, self.function.sparsity)

    def truth(self, inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        """The labels without noise."""
        relevant = inputs[:, list(self.function.positions)]
        return self.function_of_relevant(self.letters[relevant])

    def function_of_relevant(self, bits: Bool[np.ndarray, "n s"]) -> Bool[np.ndarray, "n"]:
        """The function's value on the bits at its own positions."""
        weights, offset, table = self.look_up()
        return np.asarray(table[offset + bits.astype(np.int64) @ weights])

    def look_up(self) -> tuple[Int32[np.ndarray, "s"], int, Bool[np.ndarray, "entries"]]:
        """Weights, an offset and a table, such that the function is table[offset + Σ_i weight_i·bit(position_i)].

        A function that counts literals needs only its levels.
        """
        rule, size = self.function.rule, self.function.sparsity
        if isinstance(rule, Levels):
            weights = np.where(np.array(rule.negated, dtype=bool), -1, 1).astype(np.int32)
            return weights, sum(rule.negated), np.array(rule.levels, dtype=bool)
        return (1 << np.arange(size)).astype(np.int32), 0, rule.values

    def inputs(self, n: int, rng: np.random.Generator) -> UInt8[np.ndarray, "n T"]:
        """Fresh inputs."""
        if n * self.context <= BLOCK:
            return self._spelt(_bits(self.law.p, (n, self.context), rng), rng)
        drawn = np.empty((n, self.context), dtype=np.uint8)
        for start, stop in self._blocks(n):
            drawn[start:stop] = self._spelt(_bits(self.law.p, (stop - start, self.context), rng), rng)
        return drawn

    def training_set(self, n: int, rng: np.random.Generator) -> Examples:
        """A training set of n examples, with noise; redrawn under the balancing rule where that is asked for."""
        for redraws in range(REDRAWS):
            examples = self.examples(n, rng)
            if not self.balanced_sets or self.is_balanced(examples):
                return Examples(examples.inputs, examples.labels, redraws)
        return Examples(examples.inputs, examples.labels, REDRAWS, accepted=False)

    def is_balanced(self, examples: Examples) -> bool:
        """Check that 40 to 60 % of the labels are 1 and that no irrelevant column repeats a relevant one."""
        if not 0.4 <= examples.labels.mean() <= 0.6:
            return False
        bits = self.letters[examples.inputs]
        relevant = list(self.function.positions)
        return all((bits == bits[:, [place]]).all(axis=0).sum() == 1 for place in relevant)

    def examples(self, n: int, rng: np.random.Generator) -> Examples:
        """Fresh inputs with their labels, both with the noise of the task."""
        inputs = self.inputs(n, rng)
        labels = self.truth(inputs)
        if self.label_noise:
            labels = labels ^ (rng.random(n) < self.label_noise)
        if self.feature_noise:
            for start, stop in self._blocks(n):
                part = inputs[start:stop]
                flipped = rng.random(part.shape, dtype=np.float32) < self.feature_noise
                inputs[start:stop] = np.where(flipped, self._spelt(~self.letters[part], rng), part)
        return Examples(inputs, labels)

    def _spelt(self, bits: Bool[np.ndarray, "n T"], rng: np.random.Generator) -> UInt8[np.ndarray, "n T"]:
        """Each bit as one of the symbols that stand for it, at random."""
        if self.symbols == 2:
            return (~bits if self.letters[0] else bits).view(np.uint8)
        groups = [np.flatnonzero(self.letters == bit).astype(np.uint8) for bit in (False, True)]
        drawn = [group[rng.integers(0, len(group), size=bits.shape)] for group in groups]
        return np.where(bits, drawn[1], drawn[0])

    def _blocks(self, n: int) -> Iterator[tuple[int, int]]:
        step = max(1, BLOCK // self.context)
        return ((start, min(start + step, n)) for start in range(0, n, step))


@runtime_checkable
class Task(Protocol):
    """A task draws its hidden part for a context length."""

    @property
    def name(self) -> str:
        """Return the name that a person types."""

    def record(self) -> dict[str, Any]:
        """Every field as plain values."""

    def instance(self, context: int, rng: np.random.Generator) -> Instance:
        """One drawing of the hidden part."""


@dataclass(frozen=True)
class SparseTask:
    """A sparse Boolean function of a context, by family or formula; its positions are drawn anew for every run.

    `law` is "uniform", "balanced" or a probability. Noise is in the training set only: success is judged on clean
    inputs. Over more than two symbols a random half of them stands for 1.
    """

    function: str
    law: str = "uniform"
    label_noise: float = 0.0
    feature_noise: float = 0.0
    symbols: int = 2
    balanced_sets: bool = False

    def __post_init__(self) -> None:
        _ = self.parsed  # refuses what is neither a family nor a formula
        self.bits_law()
        for name, rate in (("label noise", self.label_noise), ("feature noise", self.feature_noise)):
            if not 0 <= rate < 0.5:
                raise ArgumentError(
                    f"A {name} of {rate} was asked for; at one half nothing is left. Use 0 or more, below 0.5."
                )
        if not 2 <= self.symbols <= MOST_SYMBOLS:
            raise ArgumentError(f"An alphabet of {self.symbols} symbols was asked for; use 2 to {MOST_SYMBOLS}.")

    @property
    def name(self) -> str:
        """The function as it was asked for."""
        return self.function

    def record(self) -> dict[str, Any]:
        """Every field as plain values."""
        return asdict(self)

    @cached_property
    def parsed(self) -> SparseFunction:
        """The function that the text names, read once; of a random family, one table."""
        return read_function(self.function)

    @property
    def is_random(self) -> bool:
        """Return whether every run draws a table of its own."""
        return self.function.strip().startswith("random")

    def bits_law(self) -> Bernoulli:
        """The distribution of the bits behind the symbols."""
        if self.law == "uniform":
            return UNIFORM
        if self.law == "balanced":
            return balanced(self.parsed)
        try:
            return Bernoulli(float(self.law))
        except ValueError as error:
            raise ArgumentError(
                f"The law {self.law!r} is not known; use uniform, balanced, or a probability such as 0.3."
            ) from error

    def instance(self, context: int, rng: np.random.Generator) -> Instance:
        """The function at random distinct positions; a random table is drawn anew as well."""
        table_seed = int(rng.integers(2**31))  # drawn for every function, so that all share one stream
        function = read_function(self.function, table_seed) if self.is_random else self.parsed
        if function.sparsity > context:
            raise FormulaError(
                f"{self.function!r} reads {function.sparsity} positions, and a context of {context} has fewer. "
                f"Use a context of at least {function.sparsity}."
            )
        places = rng.choice(context, size=function.sparsity, replace=False)
        letters = np.array([False, True])
        if self.symbols > 2:
            letters = rng.permutation(np.arange(self.symbols) < self.symbols // 2)
        return Instance(
            context,
            move(function, tuple(int(place) for place in places)),
            self.bits_law(),
            letters,
            self.label_noise,
            self.feature_noise,
            self.balanced_sets,
        )


def task_from_record(record: Mapping[str, Any]) -> Task:
    """Make the task of a record; refuse one of pretraining, which has no hidden function."""
    if "pretraining" in record:
        raise ArgumentError(
            f"The run is one of pretraining ({record['pretraining']}), which hides no function of a context: "
            "there is nothing to certify or bound. Give a run that `keyhole learn` made."
        )
    return SparseTask(**record)


def _bits(p: float, shape: tuple[int, int], rng: np.random.Generator) -> Bool[np.ndarray, "n T"]:
    """Independent bits; fair ones from bytes, eight at a time."""
    if p == 0.5:
        count = shape[0] * shape[1]
        flat = np.unpackbits(np.frombuffer(rng.bytes(-(-count // 8)), dtype=np.uint8), count=count)
        return flat.view(bool).reshape(shape)
    drawn: Float32[np.ndarray, "n T"] = rng.random(shape, dtype=np.float32)
    return np.asarray(drawn < p)


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


# gets a reading and the weights it was taken of; before the first step the weights come with step 0 alone
Notice = Callable[[Mapping[str, float], Mapping[str, np.ndarray]], None]


class Observer:
    """Draws probes of one hidden function, for readings taken while a learner trains; `notice` gets each."""

    def __init__(self, instance: Instance, notice: Notice | None = None) -> None:
        self._instance = instance
        self.notice = notice

    def observe(self, count: int, rng: np.random.Generator) -> Observation:
        """A probe of this many fresh inputs."""
        inputs = self._instance.inputs(count, rng)
        labels = self._instance.truth(inputs)
        positions = np.array(self._instance.function.positions, dtype=np.int32)
        return Observation(inputs, labels, positions, target_characters(self._instance, inputs))


class SampleSource:
    """Fresh samples of one hidden function, for learning online."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def draw(self, count: int, rng: np.random.Generator) -> Examples:
        """Draw so many fresh examples, with the label noise of the task."""
        return self._instance.examples(count, rng)

    def tables(self) -> dict[str, Any]:
        """Return the distribution that `draw` follows as arrays, for a program that draws them itself.

        A symbol is the number of `ends` that a uniform number in [0, 1) reaches; `letters` has the bit behind each. A
        label is table[offset + Σ_i weight_i·bit(position_i)], flipped with probability `noise`.
        """
        instance, (weights, offset, table) = self._instance, self._instance.look_up()
        ones = instance.letters
        shares = np.where(ones, instance.law.p / ones.sum(), (1 - instance.law.p) / (~ones).sum())
        return {
            "ends": np.cumsum(shares).astype(np.float32),
            "letters": ones.astype(np.int32),
            "positions": np.array(instance.function.positions, dtype=np.int32),
            "weights": weights,
            "offset": np.int32(offset),
            "table": table.astype(np.float32),
            "noise": np.float32(instance.label_noise),
        }


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
