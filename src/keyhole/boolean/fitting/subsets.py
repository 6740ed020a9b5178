"""Every set of s positions of a sample of bits, drawn in proportion to the number of hypotheses on it that fit.

A search keeps a state for the positions chosen so far; the last two positions are gone through together, as a block.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from keyhole.arrays import Bool, Float, Int, UInt64
from keyhole.boolean.fitting.bitsets import Words, pack


@dataclass(frozen=True)
class ConjunctionSearch:
    """Monotone conjunctions: the state is which negative examples none of the positions denies."""

    places: Int[np.ndarray, "c"]  # those that are 1 in every positive example
    negatives: Words  # their bits in the negative examples
    start: Words  # none is denied yet

    @classmethod
    def of(cls, bits: Bool[np.ndarray, "n T"], labels: Bool[np.ndarray, "n"]) -> "ConjunctionSearch":
        """The search on a sample of bits."""
        places = np.flatnonzero(bits[labels].all(axis=0))
        negative = bits[~labels]
        unmet = pack(np.ones((1, max(len(negative), 1)), dtype=bool))[0]
        if not len(negative):
            return cls(places, np.zeros((len(places), 1), dtype=np.uint64), np.zeros_like(unmet))
        return cls(places, pack(negative[:, places].T), unmet)

    def grow(self, state: Words, places: Int[np.ndarray, "b"]) -> Words:
        """The examples that each new position leaves: those at which its bit is 1."""
        return np.asarray(state & self.negatives[places])

    def weights(self, states: Words, first: int) -> Float[np.ndarray, "b k"]:
        """1 where the last position, from `first` on, denies all that is left."""
        unmet = np.zeros((len(states), len(self.negatives) - first), dtype=bool)
        for left, column in zip(states.T, self.negatives[first:].T, strict=True):
            unmet |= left[:, None] & column != 0
        return np.asarray(~unmet, dtype=float)


@dataclass(frozen=True)
class JuntaSearch:
    """Any function: the state is which positive and which negative examples lie in each cell of the positions."""

    places: Int[np.ndarray, "c"]
    columns: UInt64[np.ndarray, "words c"]
    start: UInt64[np.ndarray, "words 2"]  # one cell: the positive and the negative examples

    @classmethod
    def of(cls, bits: Bool[np.ndarray, "n T"], labels: Bool[np.ndarray, "n"]) -> "JuntaSearch":
        """The search on a sample of bits."""
        kinds = pack(np.stack([labels, ~labels]))
        return cls(np.arange(bits.shape[1]), pack(bits.T).T.copy(), kinds.T.copy())

    def grow(self, state: Words, places: Int[np.ndarray, "b"]) -> Words:
        """Every cell, cut in two by each new position; positive and negative examples of a cell stay neighbours."""
        inside = state & self.columns[:, places].T[:, :, None]
        return np.concatenate([inside, inside ^ state], axis=2)

    def weights(self, states: Words, first: int) -> Float[np.ndarray, "b k"]:
        """The number of tables that fit: a cell of one label leaves one answer, an empty one two, of both none."""
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


Search = ConjunctionSearch | JuntaSearch


class Block(NamedTuple):
    """All sets that share their first positions: the last but one along the rows, the last along the columns."""

    prefix: tuple[int, ...]
    places: Int[np.ndarray, "b"]  # of the last position but one; −1 where sets have one position only
    first: int
    weights: Float[np.ndarray, "b k"]


def draw_fitting_set(search: Search, size: int, rng: np.random.Generator) -> tuple[int, ...] | None:
    """A set of `size` ≥ 1 positions, drawn in proportion to its number of fitting hypotheses; None if none fits."""
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
        state, first = search.start, prefix[-1] + 1 if prefix else 0
        for place in prefix:
            state = search.grow(state, np.array([place]))[0]
        places = np.arange(first, count) if size > 1 else np.array([-1])
        states = search.grow(state, places) if size > 1 else state[None]
        later = np.arange(first, count) > places[:, None]
        yield Block(prefix, places, first, np.where(later, search.weights(states, first), 0.0))
