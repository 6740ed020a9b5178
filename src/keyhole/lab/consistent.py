"""A random consistent hypothesis: every sparse function is tried, and one that fits is drawn.

It shows what the data alone decide. The number of relevant positions is told to it; nothing else is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8, UInt64

from keyhole.errors import ArgumentError
from keyhole.lab.bitsets import Words, as_bits, bits_of, pack
from keyhole.lab.learner import Fitted
from keyhole.lab.task import Examples, Instance

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

    def grow(self, state: Words, place: int) -> Words:
        """Those at which this bit is 0 are denied."""
        return np.asarray(state & self.negatives[place])

    def weights(self, state: Words, first: int) -> Float[np.ndarray, "k"]:
        """1 where every negative example is denied."""
        return np.asarray(~(state & self.negatives[first:]).any(axis=1), dtype=float)


@dataclass(frozen=True)
class JuntaSearch:
    """Any functions: the state is which positive and which negative examples lie in each cell of the positions."""

    places: Int[np.ndarray, "c"]
    columns: UInt64[np.ndarray, "words c"]
    examples: UInt64[np.ndarray, "words 2"]  # one cell: the positive and the negative ones

    def start(self) -> Words:
        """One cell with all examples."""
        return self.examples

    def grow(self, state: Words, place: int) -> Words:
        """Every cell cut in two by this bit; positive and negative examples of a cell stay neighbours."""
        column = self.columns[:, place, None]
        return np.concatenate([state & column, state & ~column], axis=1)

    def weights(self, state: Words, first: int) -> Float[np.ndarray, "k"]:
        """How many tables fit: a cell seen leaves one answer, an unseen one two, and one with both labels none."""
        halves = np.zeros((2, state.shape[1], self.columns.shape[1] - first), dtype=np.uint64)
        for cells, column in zip(state, self.columns[:, first:], strict=True):
            inside = cells[:, None] & column
            halves[0] |= inside
            halves[1] |= inside ^ cells[:, None]
        there = (halves != 0).reshape(-1, 2, halves.shape[2])
        unseen = np.count_nonzero(~(there[:, 0] | there[:, 1]), axis=0)
        return np.where((there[:, 0] & there[:, 1]).any(axis=0), 0.0, 2.0**unseen)


Search = AndSearch | JuntaSearch


def draw(search: Search, size: int, rng: np.random.Generator) -> tuple[int, ...] | None:
    """A set of candidates with probability proportional to its number of fitting hypotheses; None if none fits."""
    prefixes, totals = [], []
    for prefix, weights in _sets(search, size):
        prefixes.append(prefix)
        totals.append(weights.sum())
    if not sum(totals):
        return None
    prefix = prefixes[int(rng.choice(len(totals), p=np.array(totals) / sum(totals)))]
    state = search.start()
    for place in prefix:
        state = search.grow(state, place)
    first = prefix[-1] + 1 if prefix else 0
    weights = search.weights(state, first)
    last = first + int(rng.choice(len(weights), p=weights / weights.sum()))
    return tuple(int(search.places[i]) for i in (*prefix, last))


def _sets(search: Search, size: int) -> Iterator[tuple[tuple[int, ...], Float[np.ndarray, "k"]]]:
    """Every choice of all positions but the last, with the weights of the last."""

    def beyond(prefix: tuple[int, ...], state: Words) -> Iterator[tuple[tuple[int, ...], Float[np.ndarray, "k"]]]:
        first = prefix[-1] + 1 if prefix else 0
        if len(prefix) == size - 1:
            yield prefix, search.weights(state, first)
            return
        left = size - 1 - len(prefix)  # positions still to be chosen after this one
        for place in range(first, len(search.places) - left):
            yield from beyond((*prefix, place), search.grow(state, place))

    return beyond((), search.start())


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

    @property
    def name(self) -> str:
        """How a person names it."""
        return f"consistent:{self.kind}"

    def record(self) -> dict[str, Any]:
        """Its name."""
        return {"name": self.name}

    def fit(self, instance: Instance, examples: Examples | None, seed: np.random.SeedSequence) -> Fitted:
        """Search all sets of positions, and draw; where nothing fits the answer is the commoner label."""
        bits = bits_of(instance, examples, self.name)
        labels = examples.labels  # type: ignore[union-attr]
        size = instance.function.sparsity
        rng = np.random.default_rng(seed)
        search = _and_search(bits, labels) if self.kind == "and" else _junta_search(bits, labels)
        _affordable(search, size, bits.shape, self.name)
        found = draw(search, size, rng) if size else None
        if found is None:
            return Fitted(TableOf((), np.array([labels.mean() > 0.5])), numbers={"consistent": 0.0})
        table = rng.integers(0, 2, 2**size).astype(bool)
        if self.kind == "and":
            table[:] = np.arange(2**size) == 2**size - 1
        else:
            table[_cells(bits, found)] = labels
        return Fitted(TableOf(found, table), numbers={"consistent": 1.0})


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


def _affordable(search: Search, size: int, shape: tuple[int, ...], name: str) -> None:
    """Refuse a search that would not end soon."""
    words = -(-shape[0] // 64) * (1 if isinstance(search, AndSearch) else 2 ** (size + 1))
    work = comb(len(search.places), size) * words
    if work > MOST:
        raise ArgumentError(
            f"{name} would compare {work:.1e} words: all {size}-subsets of {len(search.places)} positions on "
            f"{shape[0]} samples, and {MOST:.0e} are some seconds. Use a shorter context or a sparser function."
        )
