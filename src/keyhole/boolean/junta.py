"""A junta over a finite alphabet: a table of answers to the symbols at a few positions.

Over bits it is a sparse Boolean function and has a formula; over larger alphabets it has its table alone.

How inputs are drawn: independent symbols with the same chances at every position.
"""

from dataclasses import dataclass
from itertools import product
from math import fsum, prod

import numpy as np

from keyhole.arrays import Bool, Int, Int8, Integer, Shaped
from keyhole.boolean.function import SparseFunction, from_table
from keyhole.errors import AssumptionError, ShapeError

LISTED = 8  # cells that are printed


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
        """The number of positions it reads."""
        return len(self.positions)

    def cells(self) -> tuple[tuple[int, ...], ...]:
        """The symbols at the positions, cell by cell, in the table's order."""
        return tuple(digits[::-1] for digits in product(range(self.symbols), repeat=self.sparsity))

    def __call__(self, sequences: Integer[np.ndarray, "n T"] | Bool[np.ndarray, "n T"]) -> Bool[np.ndarray, "n"]:
        """The answer to each sequence."""
        return np.asarray(self.table[cells_of(sequences, self.symbols, self.positions)])

    def function(self) -> SparseFunction | None:
        """The Boolean function it is, over bits; None over a larger alphabet."""
        return from_table(self.positions, self.table) if self.symbols == 2 else None

    def __str__(self) -> str:
        """The formula over bits; over more symbols, the cells that answer true."""
        function = self.function()
        if function is not None:
            return str(function)
        if self.table.all() or not self.table.any():
            return str(int(self.table[0]))
        names = ", ".join(f"x{place}" for place in self.positions)
        cells = [cell for cell, answer in zip(self.cells(), self.table.tolist(), strict=True) if answer]
        listed = ", ".join(str(cell) if len(cell) > 1 else f"({cell[0]})" for cell in cells[:LISTED])
        return f"({names}) in {{{listed}{f', … {len(cells) - LISTED} more' if len(cells) > LISTED else ''}}}"


def cells_of(inputs: Shaped[np.ndarray, "m T"], symbols: int, positions: tuple[int, ...]) -> Int[np.ndarray, "m"]:
    """The cell each input falls into; the first position is the least significant digit.

    >>> cells_of(np.array([[0, 1, 0], [1, 0, 1]]), 2, (1, 2)).tolist()
    [1, 2]
    """
    return inputs[:, list(positions)].astype(np.int64) @ symbols ** np.arange(len(positions))


def without_ignored(junta: Junta) -> Junta:
    """The same function without the positions its table does not depend on.

    >>> without_ignored(Junta((2, 5), 2, np.array([False, True, False, True]))).positions
    (2,)
    """
    table, places = junta.table, list(junta.positions)
    for index in reversed(range(len(places))):
        split = table.reshape(-1, junta.symbols, junta.symbols**index)  # the first position varies fastest
        if (split == split[:, :1]).all():
            table = split[:, 0].reshape(-1)
            del places[index]
    return Junta(tuple(places), junta.symbols, table)


LARGEST_ALPHABET = 64  # symbols are drawn as small numbers, and tables have A^s cells


@dataclass(frozen=True)
class SymbolLaw:
    """Symbol a appears at each position with probability `chances[a]`, independently of the others."""

    chances: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.chances) <= LARGEST_ALPHABET or not all(chance > 0 for chance in self.chances):
            raise AssumptionError(
                f"A law of symbols needs 2 to {LARGEST_ALPHABET} chances above 0; got {len(self.chances)}, the least "
                f"of them {min(self.chances, default=0):g}."
            )
        if abs(fsum(self.chances) - 1) > 1e-9:  # chances typed with nine digits or more
            raise AssumptionError(f"The chances of all symbols add up to 1; these add up to {fsum(self.chances):g}.")

    @property
    def symbols(self) -> int:
        """A, the size of the alphabet."""
        return len(self.chances)

    @property
    def uniform(self) -> bool:
        """Return True if every symbol is equally likely."""
        return len(set(self.chances)) == 1

    def draw(self, count: int, tokens: int, rng: np.random.Generator) -> Int8[np.ndarray, "count tokens"]:
        """Draw `count` sequences of `tokens` symbols."""
        if self.uniform:
            return rng.integers(0, self.symbols, (count, tokens), dtype=np.int8)
        thresholds = np.cumsum(self.chances)[:-1]
        return np.searchsorted(thresholds, rng.random((count, tokens)), side="right").astype(np.int8)

    def trivial_error(self, junta: Junta) -> float:
        """The error of the better constant, where the junta is the truth."""
        weights = [prod(self.chances[symbol] for symbol in cell) for cell in junta.cells()]
        true = fsum(weight for weight, answer in zip(weights, junta.table.tolist(), strict=True) if answer)
        return min(true, max(0.0, 1 - true))

    def __str__(self) -> str:
        if self.uniform:
            return "uniform bits" if self.symbols == 2 else f"uniform symbols, {self.symbols} of them"
        if self.symbols == 2:
            return f"independent bits, 1 with probability {self.chances[1]:g}"
        return f"independent symbols with chances {', '.join(f'{chance:g}' for chance in self.chances)}"


def uniform_law(symbols: int) -> SymbolLaw:
    """Every symbol equally likely.

    >>> print(uniform_law(2))
    uniform bits
    """
    return SymbolLaw((1 / symbols,) * symbols)


def biased_bits(bias: float) -> SymbolLaw:
    """Bits that are 1 with this probability."""
    if not 0 < bias < 1:
        raise AssumptionError(f"A bit is 1 with a probability between 0 and 1; got {bias}.")
    return SymbolLaw((1 - bias, bias))
