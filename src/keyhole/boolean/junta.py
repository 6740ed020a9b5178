"""A junta over a finite alphabet: a table of answers to the symbols at a few positions.

Over bits it is a sparse Boolean function and has a formula; over larger alphabets it has its table alone.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Bool, Integer

from keyhole.boolean.function import SparseFunction, from_table
from keyhole.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Junta:
    """Positions, in increasing order, and one answer per cell; the first position is the least significant digit."""

    positions: tuple[int, ...]
    symbols: int
    table: Bool[np.ndarray, "cells"]

    def __post_init__(self) -> None:
        if any(later <= sooner for sooner, later in zip((-1, *self.positions), self.positions, strict=False)):
            raise ShapeError(f"positions {self.positions} must increase from 0; sort them and drop repeats")
        if len(self.table) != self.symbols ** len(self.positions):
            raise ShapeError(
                f"a table of {len(self.table)} answers was given for {len(self.positions)} positions over "
                f"{self.symbols} symbols; it needs {self.symbols ** len(self.positions)}"
            )

    @property
    def sparsity(self) -> int:
        """How many positions it reads."""
        return len(self.positions)

    def cells(self) -> tuple[tuple[int, ...], ...]:
        """The symbols at the positions, cell by cell, in the table's order."""
        return tuple(digits[::-1] for digits in product(range(self.symbols), repeat=self.sparsity))

    def __call__(self, sequences: Integer[np.ndarray, "n T"] | Bool[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        """The answer to each sequence."""
        weights = self.symbols ** np.arange(self.sparsity)
        cells = sequences[:, list(self.positions)].astype(np.int64) @ weights
        return np.asarray(self.table[cells])

    def function(self) -> SparseFunction | None:
        """The Boolean function it is, over bits; None over a larger alphabet."""
        return from_table(self.positions, self.table) if self.symbols == 2 else None
