"""Sets of words of one length, several at once, and the least sum of costs over each.

A cost is a number for every position and symbol; a word pays the costs of the symbols it shows. One interface serves
every kind of set, so that code that minimises over inputs does not ask which kind it is.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from keyhole.arrays import Bool, Float, Int, Int8


@runtime_checkable
class WordClasses(Protocol):
    """Some sets of words, called parts, all of one length over one alphabet; no part is empty."""

    @property
    def count(self) -> int:
        """The number of parts."""

    @property
    def length(self) -> int:
        """The number of symbols of a word."""

    def best(
        self, cost: Float[np.ndarray, "parts D R A"], mass: Float[np.ndarray, "R A"]
    ) -> tuple[Float[np.ndarray, "parts D"], Float[np.ndarray, "parts D"]]:
        """A certified lower bound of the cost of any word, and the masses of a word near the best."""

    def chosen(self, cost: Float[np.ndarray, "parts R A"]) -> Int[np.ndarray, "parts R"]:
        """A word of each part whose sum of costs is least, up to rounding."""

    def contains(self, words: Int[np.ndarray, "n R"]) -> Bool[np.ndarray, "parts n"]:
        """Return which words each part contains."""

    @property
    def size(self) -> float:
        """The number of words in any part; infinite beyond all doubles."""

    def words(self) -> Int8[np.ndarray, "n R"]:
        """Every word in any part."""

    def halves(self, part: int) -> "WordClasses | None":
        """Two or more parts whose union is the given part; None where it is not cut further."""

    def before(self, symbol: int) -> "WordClasses | None":
        """The words that a last symbol completes to words of the parts; None where there are none."""

    def take(self, parts: Sequence[int]) -> "WordClasses":
        """Some of the parts."""

    def joined(self, others: Sequence[Any]) -> "WordClasses":
        """These parts and others of the same kind."""
