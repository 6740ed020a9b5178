"""A task: a sparse function hidden at random positions of a context, and the distribution of what the learner sees."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from keyhole.arrays import Bool, Float32, Int32, UInt8
from keyhole.boolean import UNIFORM, Bernoulli, Levels, SparseFunction, balanced, move, read_function
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
class LookUp:
    """A sparse function as one line: table[offset + Σ_i weight_i·bit(position_i)]."""

    positions: Int32[np.ndarray, "s"]
    weights: Int32[np.ndarray, "s"]
    offset: int
    table: Bool[np.ndarray, "entries"]


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
        look = self.look_up()
        return np.asarray(look.table[look.offset + bits.astype(np.int64) @ look.weights])

    def look_up(self) -> LookUp:
        """The function as a table with one index; a function that counts literals needs only its levels."""
        rule, size = self.function.rule, self.function.sparsity
        positions = np.array(self.function.positions, dtype=np.int32)
        if isinstance(rule, Levels):
            weights = np.where(np.array(rule.negated, dtype=bool), -1, 1).astype(np.int32)
            return LookUp(positions, weights, sum(rule.negated), np.array(rule.levels, dtype=bool))
        return LookUp(positions, (1 << np.arange(size)).astype(np.int32), 0, rule.values)

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
