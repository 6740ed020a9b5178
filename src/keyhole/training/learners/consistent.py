"""A random consistent hypothesis: every sparse function is tried, and one that fits is drawn.

It shows what the data alone decide. It gets the number of relevant positions, and nothing else of the function.
"""

from dataclasses import dataclass
from math import comb
from typing import Literal

import numpy as np

from keyhole.arrays import Bool, Int, UInt8
from keyhole.boolean.fitting import ConjunctionSearch, JuntaSearch, draw_fitting_set
from keyhole.errors import ArgumentError
from keyhole.training.learners.base import ExactLearner, Fitted, as_bits, register_learner
from keyhole.training.task import Examples, ProblemSize

MOST = 2e9  # words compared at most: some ten seconds


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
class Consistent(ExactLearner):
    """A random function of s positions that fits every example.

    `and`: a uniformly random monotone conjunction of s positions among those that fit. `junta`: a uniformly random
    pair of s positions and a table of 2^s entries among those that fit; cells no example fell into are fair coins.
    """

    kind: Literal["and", "junta"] = "and"

    @property
    def name(self) -> str:
        """Return the name that a person types."""
        return f"consistent:{self.kind}"

    @property
    def remark(self) -> str:
        """Return what it takes the labels for."""
        what = "the AND of as many bits, none negated," if self.kind == "and" else "a function of as many bits"
        return (
            f"{self.name} assumes that labels are {what} as it is told, without noise; where nothing fits all "
            "examples it answers with the commoner label"
        )

    def fit(self, size: ProblemSize, examples: Examples, seed: np.random.SeedSequence) -> Fitted:
        """Search all sets of positions, and draw; where nothing fits the answer is the commoner label."""
        bits, labels, sparsity = as_bits(examples.inputs), examples.labels, size.sparsity
        rng = np.random.default_rng(seed)
        search = (ConjunctionSearch if self.kind == "and" else JuntaSearch).of(bits, labels)
        words = -(-len(labels) // 64) * (1 if self.kind == "and" else 2 ** (sparsity + 1))
        work = comb(len(search.places), sparsity) * words
        if work > MOST:
            raise ArgumentError(
                f"{self.name} would compare {work:.1e} words: all {sparsity}-subsets of {len(search.places)} "
                f"positions on {len(labels)} samples, and {MOST:.0e} are ten seconds. Use a shorter context or a "
                "sparser function."
            )
        positions = draw_fitting_set(search, sparsity, rng) if sparsity else None
        if positions is None:
            return Fitted(TableOf((), np.array([labels.mean() > 0.5])), numbers={"consistent": 0.0})
        table = rng.integers(0, 2, 2**sparsity).astype(bool)
        if self.kind == "and":
            table[:] = np.arange(2**sparsity) == 2**sparsity - 1
        else:
            table[_cells(bits, positions)] = labels
        return Fitted(TableOf(positions, table), numbers={"consistent": 1.0})


register_learner("consistent:and", Consistent)
register_learner("consistent:junta", lambda: Consistent("junta"))
