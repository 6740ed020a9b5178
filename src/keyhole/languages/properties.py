"""Properties of words of any length: what the answer should be, as values.

For each length, a property names the positions it reads, and the classes of words to be answered true and false. It may
be restricted to the words of a language: then some words are in no class.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from keyhole.arrays import Bool, Int
from keyhole.errors import AssumptionError, ShapeError
from keyhole.languages.automata import Automaton, AutomatonClasses, product
from keyhole.languages.classes import WordClasses
from keyhole.languages.counts import CountClasses

MOST_CELLS = 2**12  # of a function given by a table
RULES = ("majority", "at least half", "at least", "at most", "exactly", "remainder", "levels")


@dataclass(frozen=True, eq=False)
class AtLength:
    """A property at one length: the positions it reads, in order, and its classes with their answers, none empty."""

    length: int
    reads: tuple[int, ...]
    classes: tuple[tuple[bool, WordClasses], ...]

    def answers(self, sequences: Int[np.ndarray, "n T"]) -> tuple[Bool[np.ndarray, "n"], Bool[np.ndarray, "n"]]:
        """The answer to each sequence, and whether the property speaks of it."""
        words = sequences[:, list(self.reads)]
        true = np.zeros(len(words), dtype=bool)
        spoken = np.zeros(len(words), dtype=bool)
        for answer, classes in self.classes:
            inside = classes.contains(words).any(axis=0)
            spoken |= inside
            true |= inside & answer
        return true, spoken


class Property(ABC):
    """The right answer to every word."""

    alphabet: tuple[str, ...]

    def reads(self, length: int) -> tuple[int, ...]:
        """The positions that matter at this length, here all; refuses a length that the property does not fit."""
        return tuple(range(length))

    @abstractmethod
    def automaton(self, length: int) -> Automaton:
        """An automaton over the symbols that are read, which accepts the words to be answered true."""

    def at(self, length: int) -> AtLength:
        """The property at one length."""
        reads, (automaton, inside) = self.reads(length), self._restricted(length)
        inside = inside & automaton.reached(len(reads))
        both = ((answer, inside & (automaton.accepting == answer)) for answer in (True, False))
        classes = tuple(
            (answer, AutomatonClasses(len(reads), automaton, final[None])) for answer, final in both if final.any()
        )
        return AtLength(length, reads, classes)

    def _restricted(self, length: int) -> tuple[Automaton, Bool[np.ndarray, "S"]]:
        """The automaton, and the states in which words end that the property speaks of: here all."""
        automaton = self.automaton(length)
        return automaton, np.ones_like(automaton.accepting)


@dataclass(frozen=True)
class CountProperty(Property):
    """A function of how many symbols are of a kind.

    `rule` is majority (more than half; a tie is false), at least half (a tie is true), at least, at most, exactly
    (`number`), remainder (`number` modulo `modulus`: with modulus 2 and number 1, an odd count), or levels: an answer
    for each count.
    """

    alphabet: tuple[str, ...]
    kind: tuple[bool, ...]
    rule: str = "majority"
    number: int = 0
    modulus: int = 2
    positions: tuple[int, ...] | None = None  # None: all
    levels: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if self.rule not in RULES or self.modulus < 1:
            raise ShapeError(f"a count is judged by {', '.join(RULES)}; got {self.rule!r} and modulus {self.modulus}")
        if self.rule == "levels" and (self.positions is None or len(self.levels) != len(self.positions) + 1):
            raise ShapeError("levels need positions, and an answer for each count from 0 to all of them")

    def reads(self, length: int) -> tuple[int, ...]:
        """All positions, or those named."""
        return tuple(range(length)) if self.positions is None else _fitting(self.positions, length)

    def decide(self, count: int, length: int) -> bool:
        """The answer to so many symbols of the kind among so many."""
        if self.rule == "levels":
            return self.levels[count]
        return {
            "majority": 2 * count > length,
            "at least half": 2 * count >= length,
            "at least": count >= self.number,
            "at most": count <= self.number,
            "exactly": count == self.number,
            "remainder": count % self.modulus == self.number % self.modulus,
        }[self.rule]

    def automaton(self, length: int) -> Automaton:
        """The automaton that counts."""
        read = len(self.reads(length))
        moves = np.array([[min(state + counts, read) for counts in self.kind] for state in range(read + 1)])
        return Automaton(moves, 0, np.array([self.decide(count, read) for count in range(read + 1)]))

    def at(self, length: int) -> AtLength:
        """The property at one length: intervals of counts."""
        reads = self.reads(length)
        runs: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        for answer, run in groupby(range(len(reads) + 1), lambda count: bool(self.decide(count, len(reads)))):
            counts = list(run)
            runs[answer].append((counts[0], counts[-1]))
        both = ((answer, np.array(ends)) for answer, ends in runs.items() if ends)
        classes = tuple((answer, CountClasses(len(reads), self.kind, *ends.T)) for answer, ends in both)
        return AtLength(length, reads, classes)


@dataclass(frozen=True)
class EqualCounts(Property):
    """True where two kinds of symbols are equally many."""

    alphabet: tuple[str, ...]
    first: int
    second: int

    def automaton(self, length: int) -> Automaton:
        """The automaton that keeps the difference."""
        states = 2 * length + 1
        step = np.zeros(len(self.alphabet), dtype=np.int64)
        step[self.first] += 1
        step[self.second] -= 1
        moves = np.clip(np.arange(states)[:, None] + step, 0, states - 1)
        return Automaton(moves, length, np.arange(states) == length)


@dataclass(frozen=True, eq=False)
class RegularProperty(Property):
    """True for the words that an automaton accepts."""

    alphabet: tuple[str, ...]
    accepted: Automaton

    def __post_init__(self) -> None:
        if self.accepted.symbols != len(self.alphabet):
            raise ShapeError(
                f"an automaton over {self.accepted.symbols} symbols was given for an alphabet of {len(self.alphabet)}"
            )

    def automaton(self, length: int) -> Automaton:  # noqa: ARG002  (the same at every length)
        """The automaton as it is."""
        return self.accepted


@dataclass(frozen=True, eq=False)
class TableProperty(Property):
    """A function of a few positions by its table; the first position is the least significant digit."""

    alphabet: tuple[str, ...]
    positions: tuple[int, ...]
    table: Bool[np.ndarray, "cells"]

    def __post_init__(self) -> None:
        cells = len(self.alphabet) ** len(self.positions)
        if cells > MOST_CELLS:
            raise AssumptionError(
                f"A function of {len(self.positions)} positions has {cells} cells, and {MOST_CELLS} at most are gone "
                "through; use fewer positions, or a count."
            )
        if len(self.table) != cells:
            raise ShapeError(f"a table of {len(self.table)} answers was given where {cells} are needed")

    def reads(self, length: int) -> tuple[int, ...]:
        """The positions it names."""
        return _fitting(self.positions, length)

    def automaton(self, length: int) -> Automaton:  # noqa: ARG002  (the same at every length)
        """The tree of all assignments: a state for every beginning."""
        symbols, depth = len(self.alphabet), len(self.positions)
        moves, start, accepting = [], 0, []
        for level in range(depth):
            size, after = symbols**level, start + symbols**level
            # beginning number b at this level goes to b + symbol · A^level at the next one
            moves += [[after + begun + symbol * size for symbol in range(symbols)] for begun in range(size)]
            accepting += [False] * size
            start = after
        moves += [[start + cell] * symbols for cell in range(symbols**depth)]
        return Automaton(np.array(moves), 0, np.append(np.array(accepting, dtype=bool), self.table))


@dataclass(frozen=True)
class Restricted(Property):
    """A property asked only of the words that have another one."""

    stated: Property
    domain: Property

    def __post_init__(self) -> None:
        if self.stated.alphabet != self.domain.alphabet:
            raise ShapeError("A property and the words it is restricted to need the same alphabet")

    @property
    def alphabet(self) -> tuple[str, ...]:  # type: ignore[override]
        """The alphabet of both."""
        return self.stated.alphabet

    def automaton(self, length: int) -> Automaton:
        """The automaton that runs both, and accepts what the property does."""
        return self._restricted(length)[0]

    def _restricted(self, length: int) -> tuple[Automaton, Bool[np.ndarray, "S"]]:
        stated, domain = (_on_all(part, length) for part in (self.stated, self.domain))
        both, pairs = product(stated, domain)
        accepting = stated.accepting[pairs[:, 0]]
        return Automaton(both.moves, both.start, accepting), domain.accepting[pairs[:, 1]]


def with_last(at: AtLength, symbol: int) -> AtLength:
    """The property of the symbols before the last one, where the last one is given."""
    if not at.reads or max(at.reads) < at.length - 1:
        return AtLength(at.length - 1, at.reads, at.classes)
    if at.reads[-1] != at.length - 1:
        raise AssumptionError("The property reads its positions out of order, so that none is the last; sort them.")
    before = ((answer, words.before(symbol)) for answer, words in at.classes)
    classes = tuple((answer, words) for answer, words in before if words is not None)
    return AtLength(at.length - 1, at.reads[:-1], classes)


def _fitting(positions: Sequence[int], length: int) -> tuple[int, ...]:
    if positions and max(positions) >= length:
        raise AssumptionError(
            f"The property reads position {max(positions)}, and words of length {length} end at position {length - 1}; "
            "ask about longer words."
        )
    return tuple(positions)


def _on_all(claimed: Property, length: int) -> Automaton:
    """The automaton over all positions: where the property does not read, its own waits."""
    reads, automaton = claimed.reads(length), claimed.automaton(length)
    if reads == tuple(range(length)):
        return automaton
    if list(reads) != sorted(reads):
        raise AssumptionError("A property that reads positions out of order cannot be restricted; sort its positions.")
    states, symbols = automaton.moves.shape
    moves = np.zeros((length + 1, states, symbols), dtype=np.int64)
    for place in range(length):
        after = automaton.moves if place in reads else np.repeat(np.arange(states)[:, None], symbols, axis=1)
        moves[place] = (place + 1) * states + after
    moves[length] = length * states + np.arange(states)[:, None]
    accepting = np.zeros((length + 1, states), dtype=bool)
    accepting[length] = automaton.accepting
    return Automaton(moves.reshape(-1, symbols), automaton.start, accepting.reshape(-1))
