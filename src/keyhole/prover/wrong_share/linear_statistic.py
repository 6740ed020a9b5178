"""A sum of one whole number per token: its law by convolution, rounded outwards, and draws given that it is small."""

from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.boolean import SymbolLaw
from keyhole.rigorous import UNIT, gamma

SMALLEST = 2.0**-1074


@dataclass(frozen=True, eq=False)
class LinearStatistic:
    """L(b) = Σ_t weights[t, b_t] over independent tokens of one law; the weights are whole numbers, none below 0."""

    weights: Int[np.ndarray, "n A"]
    law: SymbolLaw

    @property
    def most(self) -> int:
        """The largest value of L."""
        return int(self.weights.max(axis=1).sum())

    @cached_property
    def laws(self) -> Float[np.ndarray, "n_and_one values"]:
        """The law of L over the first 0, 1, …, n tokens, as computed in double precision."""
        table = np.zeros((len(self.weights) + 1, self.most + 1))
        table[0, 0] = 1.0
        for index, row in enumerate(self.weights.tolist()):
            for weight, chance in zip(row, self.law.chances, strict=True):
                table[index + 1, weight:] += chance * table[index, : table.shape[1] - weight]
        return table

    def below(self, limit: int) -> tuple[float, float]:
        """The probability of L < limit, between two ends."""
        return self._ends(float(self.laws[-1, :limit].sum())) if limit > 0 else (0.0, 0.0)

    def from_on(self, limit: int) -> tuple[float, float]:
        """The probability of L ≥ limit, between two ends."""
        return self._ends(float(self.laws[-1, max(limit, 0) :].sum())) if limit <= self.most else (0.0, 0.0)

    def _ends(self, computed: float) -> tuple[float, float]:
        """Return two bounds of the true probability.

        Statement  A computed probability is off by a relative γ of all its roundings, by n times what the chances miss
                   of adding up to 1, and by what underflows.
        Proof      Every entry is a sum of products of numbers that are not negative, n deep, A terms each; the last sum
                   has at most `most` + 1 terms. A product that underflows loses at most 2^−1075, and every later factor
                   is at most 1; there are n A (most + 1) products.
        Source     Standard.
        """
        n, symbols = self.weights.shape
        missing = n * (abs(fsum(self.law.chances) - 1) + UNIT)
        relative = 2 * (gamma((n + 1) * (symbols + 2) + self.most + 1) + missing)
        lost = (n + 1) * symbols * (self.most + 1) * SMALLEST
        return max(0.0, computed * (1 - relative) - lost), min(1.0, computed * (1 + relative) + lost)

    def draw_below(self, limit: int, count: int, rng: np.random.Generator) -> Int[np.ndarray, "count n"]:
        """Inputs drawn from the law given L < limit, the last token first."""
        last = self.laws[-1, :limit]
        sums = rng.choice(limit, size=count, p=last / last.sum())
        drawn = np.empty((count, len(self.weights)), dtype=np.int64)
        for index in range(len(self.weights) - 1, -1, -1):
            before = self.laws[index]
            left = sums[:, None] - self.weights[index]
            odds = np.where(left >= 0, before[np.maximum(left, 0)], 0.0) * np.asarray(self.law.chances)
            steps = np.cumsum(odds, axis=1)
            shown = (steps < (rng.random(count) * steps[:, -1])[:, None]).sum(axis=1)
            drawn[:, index] = np.minimum(shown, odds.shape[1] - 1)
            sums = sums - self.weights[index, drawn[:, index]]
        return drawn
