"""A random consistent hypothesis: every sparse function is tried, and one that fits is drawn.

It shows what the data alone decide. The number of relevant positions is told to it; nothing else is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8, UInt64

from keyhole.errors import ArgumentError
from keyhole.lab.learners.base import Fitted
from keyhole.lab.learners.bitsets import Words, as_bits, bits_of, pack, require_bits
from keyhole.lab.learners.registry import register_learner
from keyhole.lab.task import Examples, ProblemSize

MOST = 2e9  # words compared at most: some ten seconds


@dataclass(frozen=True)
class AndSearch:
    """Monotone conjunctions: the state is which negative examples none of the positions denies."""

    places: Int[np.ndarray, "c"]  # those that are 1 in every positive example
    negatives: Words  # their bits in the negative examples
    unmet: Words

    def start(self) -> Words:
        """No negative example is denied yet."""
        return self.unmet

    def grow(self, state: Words, places: Int[np.ndarray, "b"]) -> Words:
        """For each new position, the examples it leaves: those at which its bit is 1."""
        return np.asarray(state & self.negatives[places])

    def weights(self, states: Words, first: int) -> Float[np.ndarray, "b k"]:
        """1 where the last position, from `first` on, denies all that is left."""
        unmet = np.zeros((len(states), len(self.negatives) - first), dtype=bool)
        for left, column in zip(states.T, self.negatives[first:].T, strict=True):
            unmet |= left[:, None] & column != 0
        return np.asarray(~unmet, dtype=float)


@dataclass(frozen=True)
class JuntaSearch:
    """Any functions: the state is which positive and which negative examples lie in each cell of the positions."""

    places: Int[np.ndarray, "c"]
    columns: UInt64[np.ndarray, "words c"]
    examples: UInt64[np.ndarray, "words 2"]  # one cell: the positive and the negative ones

    def start(self) -> Words:
        """One cell with all examples."""
        return self.examples

    def grow(self, state: Words, places: Int[np.ndarray, "b"]) -> Words:
        """For each new position, every cell cut in two; positive and negative examples of a cell stay neighbours."""
        inside = state & self.columns[:, places].T[:, :, None]
        return np.concatenate([inside, inside ^ state], axis=2)

    def weights(self, states: Words, first: int) -> Float[np.ndarray, "b k"]:
        """How many tables fit: a cell seen leaves one answer, an unseen one two, and one with both labels none."""
        there = np.zeros((2, len(states), states.shape[2], self.columns.shape[1] - first), dtype=np.uint64)
        for word, column in enumerate(self.columns[:, first:]):
            cells = states[:, word, :, None]
            inside = cells & column
            there[0] |= inside
            there[1] |= inside ^ cells
        seen = (there != 0).reshape(
            2, len(states), states.shape[2] // 2, 2, there.shape[3]
        )  # half, prefix, cell, label, last position
        none, both = ~seen.any(axis=3), seen.all(axis=3)
        return np.where(both.any(axis=(0, 2)), 0.0, 2.0 ** none.sum(axis=(0, 2)))


Search = AndSearch | JuntaSearch


class Block(NamedTuple):
    """All sets that share their first positions: the last but one along the rows, the last along the columns."""

    prefix: tuple[int, ...]
    places: Int[np.ndarray, "b"]  # of the last position but one; −1 where sets have one position only
    first: int
    weights: Float[np.ndarray, "b k"]


def draw(search: Search, size: int, rng: np.random.Generator) -> tuple[int, ...] | None:
    """A set of candidates with probability proportional to its number of fitting hypotheses; None if none fits."""
    totals = np.array([block.weights.sum() for block in _blocks(search, size)])
    if not totals.sum():
        return None
    target = int(rng.choice(len(totals), p=totals / totals.sum()))
    block = next(_blocks(search, size, only=target))
    flat = block.weights.ravel() / block.weights.sum()
    row, column = divmod(int(rng.choice(len(flat), p=flat)), block.weights.shape[1])
    chosen = [*block.prefix, *(block.places[[row]] if size > 1 else ()), block.first + column]
    return tuple(int(search.places[i]) for i in chosen)


def _blocks(search: Search, size: int, only: int | None = None) -> Iterator[Block]:
    """Every choice of all positions but the last two, with the weights of these; or one such choice."""
    count = len(search.places)
    for turn, prefix in enumerate(combinations(range(count), max(size - 2, 0))):
        if only is not None and turn != only:
            continue
        state, first = search.start(), prefix[-1] + 1 if prefix else 0
        for place in prefix:
            state = search.grow(state, np.array([place]))[0]
        places = np.arange(first, count) if size > 1 else np.array([-1])
        states = search.grow(state, places) if size > 1 else state[None]
        later = np.arange(first, count) > places[:, None]
        yield Block(prefix, places, first, np.where(later, search.weights(states, first), 0.0))


@dataclass(frozen=True)
class TableOf:
    """A table indexed by the bits at some positions, the first the least significant."""

    positions: tuple[int, ...]
    table: Bool[np.ndarray, "cells"]

    def __call__(self, inputs: UInt8[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        """The entry each input points to."""
        return np.asarray(self.table[_cells(as_bits(inputs), self.positions)])


def _cells(bits: Bool[np.ndarray, "n T"], positions: tuple[int, ...]) -> Int[np.ndarray, "n"]:
    return np.asarray(bits[:, list(positions)] @ (1 << np.arange(len(positions))))


@dataclass(frozen=True)
class Consistent:
    """A random function of s positions that fits every example.

    `and`: a uniformly random monotone conjunction of s positions among those that fit. `junta`: a uniformly random
    pair of s positions and a table of 2^s entries among those that fit; cells no example fell into are fair coins.
    """

    kind: Literal["and", "junta"] = "and"

    packages: ClassVar[tuple[str, ...]] = ("numpy",)

    @property
    def name(self) -> str:
        """How a person names it."""
        return f"consistent:{self.kind}"

    def record(self) -> dict[str, Any]:
        """Its name."""
        return {"name": self.name}

    def validate(self, size: ProblemSize, *, online: bool) -> None:  # noqa: ARG002  (bits, wherever they come from)
        """Refuse symbols that are no bits."""
        require_bits(size, self.name)

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:
        """Search all sets of positions, and draw; where nothing fits the answer is the commoner label."""
        bits, labels, sparsity = bits_of(size, examples, self.name), examples.labels, size.sparsity
        rng = np.random.default_rng(seed)
        search = _and_search(bits, labels) if self.kind == "and" else _junta_search(bits, labels)
        _require_affordable(search, sparsity, bits.shape, self.name)
        positions = draw(search, sparsity, rng) if sparsity else None
        if positions is None:
            return Fitted(TableOf((), np.array([labels.mean() > 0.5])), numbers={"consistent": 0.0})
        table = rng.integers(0, 2, 2**sparsity).astype(bool)
        if self.kind == "and":
            table[:] = np.arange(2**sparsity) == 2**sparsity - 1
        else:
            table[_cells(bits, positions)] = labels
        return Fitted(TableOf(positions, table), numbers={"consistent": 1.0})


register_learner("consistent:and", Consistent, lambda _record: Consistent())
register_learner("consistent:junta", lambda: Consistent("junta"), lambda _record: Consistent("junta"))


def _and_search(bits: Bool[np.ndarray, "n T"], labels: Bool[np.ndarray, "n"]) -> AndSearch:
    places = np.flatnonzero(bits[labels].all(axis=0))
    negative = bits[~labels]
    unmet = pack(np.ones((1, max(len(negative), 1)), dtype=bool))[0]
    if not len(negative):
        return AndSearch(places, np.zeros((len(places), 1), dtype=np.uint64), np.zeros_like(unmet))
    return AndSearch(places, pack(negative[:, places].T), unmet)


def _junta_search(bits: Bool[np.ndarray, "n T"], labels: Bool[np.ndarray, "n"]) -> JuntaSearch:
    kinds = pack(np.stack([labels, ~labels]))
    return JuntaSearch(np.arange(bits.shape[1]), pack(bits.T).T.copy(), kinds.T.copy())


def _require_affordable(search: Search, size: int, shape: tuple[int, ...], name: str) -> None:
    """Refuse a search that would not end soon."""
    words = -(-shape[0] // 64) * (1 if isinstance(search, AndSearch) else 2 ** (size + 1))
    work = comb(len(search.places), size) * words
    if work > MOST:
        raise ArgumentError(
            f"{name} would compare {work:.1e} words: all {size}-subsets of {len(search.places)} positions on "
            f"{shape[0]} samples, and {MOST:.0e} are ten seconds. Use a shorter context or a sparser function."
        )
