"""Words by how many of their symbols are of a given kind: an interval of counts is one set.

The least cost of a word with k symbols of the kind is found by sorting: every position has a best symbol of the kind
and a best other one, and the k positions with the smallest difference show the former.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Bool, Float, Int, Int8
from keyhole.errors import ShapeError
from keyhole.languages.automata import Automaton, AutomatonClasses
from keyhole.rigorous import GROW, UNDERFLOW, UNIT, gamma


@dataclass(frozen=True, eq=False)
class CountClasses:
    """For each part the words with `low` to `high` symbols of the kind."""

    length: int
    kind: tuple[bool, ...]  # for each symbol: is it counted?
    low: Int[np.ndarray, "parts"]
    high: Int[np.ndarray, "parts"]

    def __post_init__(self) -> None:
        if all(self.kind) or not any(self.kind):
            raise ShapeError("a count needs a symbol that is counted and one that is not; name some of the alphabet")
        if not ((self.low >= 0) & (self.low <= self.high) & (self.high <= self.length)).all():
            raise ShapeError(f"counts run from 0 to {self.length} here, the lower one first")

    @property
    def count(self) -> int:
        """The number of parts."""
        return len(self.low)

    def best(
        self, cost: Float[np.ndarray, "parts D R A"], mass: Float[np.ndarray, "R A"]
    ) -> tuple[Float[np.ndarray, "parts D"], Float[np.ndarray, "parts D"]]:
        """A certified lower bound of the cost of any word, and the masses of a word near the best.

        Statement  The least sum over words with k symbols of the kind is that of the k smallest differences d; over an
                   interval of counts, that with k the number of negative d, moved into the interval.
        Proof      Exchange a chosen position for one that is not: the sum moves by the difference of their d, ≥ 0. The
                   sum is convex in k, since the sorted d grow. Rounded differences keep the order but for ties, where
                   the true ones differ by 2u|d| at most; at most R positions are exchanged. The sum of R costs rounds
                   by γ_R of their absolute values.
        Source     Standard.
        """
        kind = np.asarray(self.kind)
        inside, outside = _cheapest(cost, np.flatnonzero(kind)), _cheapest(cost, np.flatnonzero(~kind))
        taken, threshold = self._taken(inside[0] - outside[0])
        paid = np.where(taken, inside[0], outside[0])
        place = np.arange(self.length)
        weight = np.where(taken, mass[place, inside[1]], mass[place, outside[1]]).sum(axis=-1)
        doubt = gamma(self.length) * np.abs(paid).sum(axis=-1) + 3 * UNIT * self.length * np.abs(threshold)
        return np.asarray(paid.sum(axis=-1) - doubt * GROW - UNDERFLOW), np.asarray(weight)

    def _taken(self, difference: Float[np.ndarray, "parts D R"]) -> tuple[np.ndarray, np.ndarray]:
        """Return which positions show a symbol of the kind, and the largest difference among them."""
        if not self.length:
            return np.zeros(difference.shape, dtype=bool), np.zeros(difference.shape[:-1])
        low, high = self.low[:, None], self.high[:, None]
        k = np.clip((difference < 0).sum(axis=-1), low, high)
        order = np.sort(difference, axis=-1)
        threshold = np.where(k > 0, np.take_along_axis(order, np.maximum(k - 1, 0)[..., None], axis=-1)[..., 0], 0.0)
        less = (difference < threshold[..., None]) & (k > 0)[..., None]
        tied = (difference == threshold[..., None]) & (k > 0)[..., None]
        wanted = (k - less.sum(axis=-1))[..., None]
        return less | (tied & (np.cumsum(tied, axis=-1) <= wanted)), threshold

    def chosen(self, cost: Float[np.ndarray, "parts R A"]) -> Int[np.ndarray, "parts R"]:
        """A word of each part whose sum of costs is least, up to rounding."""
        kind = np.asarray(self.kind)
        inside, outside = (_cheapest(cost[:, None], np.flatnonzero(some)) for some in (kind, ~kind))
        taken, _ = self._taken(inside[0] - outside[0])
        return np.asarray(np.where(taken, inside[1], outside[1])[:, 0])

    def contains(self, words: Int[np.ndarray, "n R"]) -> Bool[np.ndarray, "parts n"]:
        """Return which words each part contains."""
        counts = np.asarray(self.kind)[words].sum(axis=1)
        return np.asarray((counts >= self.low[:, None]) & (counts <= self.high[:, None]))

    @property
    def size(self) -> float:
        """The number of words in any part; infinite beyond all doubles."""
        return self._counted.size

    def words(self) -> Int8[np.ndarray, "n R"]:
        """Every word in any part."""
        return self._counted.words()

    @property
    def _counted(self) -> AutomatonClasses:
        """The same words by an automaton that counts."""
        counts = np.arange(self.length + 1)
        moves = np.minimum(counts[:, None] + np.asarray(self.kind), self.length)
        final = (counts >= self.low[:, None]) & (counts <= self.high[:, None])
        return AutomatonClasses(self.length, Automaton(moves, 0, np.asarray(final.any(axis=0))), final)

    def halves(self, part: int) -> "CountClasses | None":
        """An interval cut at 1, 3, 7, … counts from an end beyond which others lie; a single count is not cut.

        Beyond such an end the answer changes, so the counts beside it are the hard ones, and are soon alone. With no
        such end, or with two counts, the interval is halved.
        """
        low, high = int(self.low[part]), int(self.high[part])
        if low == high:
            return None
        reach = [2**power - 1 for power in range(1, (high - low + 1).bit_length())]
        up = {low + step for step in reach if low > 0}  # where a piece begins
        down = {high + 1 - step for step in reach if high < self.length}
        middle = (low + high) // 2 + 1
        up, down = ({at for at in up if at <= middle or not down}, {at for at in down if at >= middle or not up})
        cuts = sorted(at for at in up | down if low < at <= high) or [middle]
        return CountClasses(self.length, self.kind, np.array([low, *cuts]), np.array([*cuts, high + 1]) - 1)

    def before(self, symbol: int) -> "CountClasses | None":
        """The words that a last symbol completes to words of the parts; None where there are none."""
        counted, most = int(self.kind[symbol]), self.length - 1
        low, high = np.maximum(self.low - counted, 0), np.minimum(self.high - counted, most)
        kept = low <= high
        return CountClasses(most, self.kind, low[kept], high[kept]) if kept.any() else None

    def take(self, parts: Sequence[int]) -> "CountClasses":
        """Some of the parts."""
        return CountClasses(self.length, self.kind, self.low[list(parts)], self.high[list(parts)])

    def joined(self, others: Sequence["CountClasses"]) -> "CountClasses":
        """These parts and others."""
        low = np.concatenate([self.low, *(other.low for other in others)])
        return CountClasses(self.length, self.kind, low, np.concatenate([self.high, *(other.high for other in others)]))


def _cheapest(
    cost: Float[np.ndarray, "parts D R A"], symbols: Int[np.ndarray, "some"]
) -> tuple[Float[np.ndarray, "parts D R"], Int[np.ndarray, "parts D R"]]:
    """The least cost among some symbols at each position, and which symbol has it."""
    if len(symbols) == 1:
        only = cost[..., symbols[0]]
        return only, np.broadcast_to(symbols[0], only.shape)
    at = cost[..., symbols].argmin(axis=-1)
    cheapest = symbols[at]
    return np.take_along_axis(cost, cheapest[..., None], axis=-1)[..., 0], cheapest
