"""How inputs are drawn: independent symbols with the same chances at every position."""

from dataclasses import dataclass
from math import fsum, prod

import numpy as np

from keyhole.arrays import Int8
from keyhole.boolean.junta import Junta
from keyhole.errors import AssumptionError

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
        """True if every symbol is equally likely."""
        return len(set(self.chances)) == 1

    def draw(self, count: int, tokens: int, rng: np.random.Generator) -> Int8[np.ndarray, "count tokens"]:
        """So many sequences of so many symbols."""
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
