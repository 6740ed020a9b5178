"""Words by the state in which a finite automaton ends: some final states are one set.

The least cost is found by going back from the end: the cheapest way on from every state, one position after another.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Bool, Float, Int, Int8
from keyhole.errors import ShapeError
from keyhole.rigorous import UNDERFLOW, gamma


@dataclass(frozen=True, eq=False)
class Automaton:
    """A complete deterministic automaton: where each state goes on each symbol, the start, and what it accepts."""

    moves: Int[np.ndarray, "S A"]
    start: int
    accepting: Bool[np.ndarray, "S"]

    def __post_init__(self) -> None:
        states = len(self.moves)
        if not (0 <= self.start < states and len(self.accepting) == states):
            raise ShapeError(f"an automaton of {states} states needs a start among them and an answer for each")
        if self.moves.size and not ((self.moves >= 0) & (self.moves < states)).all():
            raise ShapeError(f"an automaton of {states} states moves to one of them; states count from 0")

    @property
    def symbols(self) -> int:
        """A, the size of the alphabet."""
        return int(self.moves.shape[1])

    def ends(self, words: Int[np.ndarray, "n R"]) -> Int[np.ndarray, "n"]:
        """The state after each word."""
        state = np.full(len(words), self.start)
        for column in words.T:
            state = self.moves[state, column]
        return state

    def accepts(self, words: Int[np.ndarray, "n R"]) -> Bool[np.ndarray, "n"]:
        """Return whether each word is accepted."""
        return np.asarray(self.accepting[self.ends(words)])

    def reached(self, length: int) -> Bool[np.ndarray, "S"]:
        """The states in which some word of the length ends."""
        here = np.zeros(len(self.moves), dtype=bool)
        here[self.start] = True
        for _ in range(length):
            after = np.zeros_like(here)
            after[self.moves[here].reshape(-1)] = True
            here = after
        return here


def product(first: Automaton, second: Automaton) -> tuple[Automaton, Int[np.ndarray, "S two"]]:
    """The automaton that runs two at once, with the pair of states that each of its own states stands for.

    It accepts what both accept; only states that are reached are kept.
    """
    if first.symbols != second.symbols:
        raise ShapeError(f"automata over {first.symbols} and {second.symbols} symbols do not run together")
    index = {(first.start, second.start): 0}
    pairs, moves, place = [(first.start, second.start)], [], 0
    while place < len(pairs):
        one, two = pairs[place]
        place += 1
        row = []
        for symbol in range(first.symbols):
            after = (int(first.moves[one, symbol]), int(second.moves[two, symbol]))
            if after not in index:
                index[after] = len(pairs)
                pairs.append(after)
            row.append(index[after])
        moves.append(row)
    states = np.array(pairs)
    both = first.accepting[states[:, 0]] & second.accepting[states[:, 1]]
    return Automaton(np.array(moves), 0, both), states


@dataclass(frozen=True, eq=False)
class AutomatonClasses:
    """For each part the words that end in one of some states."""

    length: int
    automaton: Automaton
    final: Bool[np.ndarray, "parts S"]

    @property
    def count(self) -> int:
        """The number of parts."""
        return len(self.final)

    def best(
        self, cost: Float[np.ndarray, "parts D R A"], mass: Float[np.ndarray, "R A"]
    ) -> tuple[Float[np.ndarray, "parts D"], Float[np.ndarray, "parts D"]]:
        """A certified lower bound of the cost of any word, and the masses of a word near the best.

        Statement  With costs lowered by 3γ_R |cost|, the recursion's value is at most the true least sum.
        Proof      Rounding to nearest is monotone, so the computed value is the least, over words, of the sum computed
                   in the order of the recursion; for any word that is below its true sum of lowered costs plus γ_R of
                   their absolute values, and so below its sum of costs.
        Source     Ours.
        """
        cost = cost - 3 * gamma(self.length + 1) * np.abs(cost) - UNDERFLOW
        shape = (*cost.shape[:2], self.final.shape[1])
        value = np.broadcast_to(np.where(self.final, 0.0, np.inf)[:, None], shape)
        weight = np.zeros(shape)
        for place in reversed(range(self.length)):
            paid, carried = [], []
            for symbol in range(self.automaton.symbols):
                on = self.automaton.moves[:, symbol]
                paid.append(cost[:, :, place, symbol, None] + value[:, :, on])
                carried.append(mass[place, symbol] + weight[:, :, on])
            ways = np.stack(paid)
            at = ways.argmin(axis=0)[None]
            value = np.take_along_axis(ways, at, axis=0)[0]
            weight = np.take_along_axis(np.stack(carried), at, axis=0)[0]
        start = self.automaton.start
        return np.asarray(value[:, :, start]), np.asarray(weight[:, :, start])

    def chosen(self, cost: Float[np.ndarray, "parts R A"]) -> Int[np.ndarray, "parts R"]:
        """A word of each part whose sum of costs is least, up to rounding."""
        value = np.where(self.final, 0.0, np.inf)
        ways: list[np.ndarray] = []
        for place in reversed(range(self.length)):
            paid = cost[:, place, None, :] + value[:, self.automaton.moves]
            ways.append(paid.argmin(axis=-1))
            value = paid.min(axis=-1)
        state, words = np.full(self.count, self.automaton.start), np.zeros((self.count, self.length), dtype=np.int64)
        for place, best in enumerate(reversed(ways)):
            words[:, place] = best[np.arange(self.count), state]
            state = self.automaton.moves[state, words[:, place]]
        return words

    def contains(self, words: Int[np.ndarray, "n R"]) -> Bool[np.ndarray, "parts n"]:
        """Return which words each part contains."""
        return np.asarray(self.final[:, self.automaton.ends(words)])

    @property
    def size(self) -> float:
        """The number of words in any part; infinite beyond all doubles."""
        ways = np.zeros(len(self.automaton.moves))
        ways[self.automaton.start] = 1.0
        for _ in range(self.length):
            before, ways = ways, np.zeros(len(ways))
            with np.errstate(over="ignore"):
                for symbol in range(self.automaton.symbols):
                    np.add.at(ways, self.automaton.moves[:, symbol], before)
        return float(ways[np.any(self.final, axis=0)].sum())

    def words(self) -> Int8[np.ndarray, "n R"]:
        """Every word in any part."""
        moves, symbols = self.automaton.moves, self.automaton.symbols
        alive = [
            np.asarray(self.final.any(axis=0))
        ]  # states from which the symbols that are left can lead to a final one
        for _ in range(self.length):
            alive.append(np.asarray(alive[-1][moves].any(axis=1)))
        words, states = np.zeros((1, 0), dtype=np.int8), np.array([self.automaton.start])
        for left in reversed(alive[:-1]):
            states = moves[states].reshape(-1)
            shown = np.tile(np.arange(symbols, dtype=np.int8), len(words))
            words = np.column_stack([np.repeat(words, symbols, axis=0), shown])[left[states]]
            states = states[left[states]]
        return words if alive[-1][self.automaton.start] else words[:0]

    def halves(self, part: int) -> "AutomatonClasses | None":
        """The final states of a part in two halves; a single state is not cut."""
        states = np.flatnonzero(self.final[part])
        if len(states) < 2:
            return None
        final = np.zeros((2, self.final.shape[1]), dtype=bool)
        final[0, states[: len(states) // 2]] = True
        final[1, states[len(states) // 2 :]] = True
        return AutomatonClasses(self.length, self.automaton, final)

    def before(self, symbol: int) -> "AutomatonClasses | None":
        """The words that a last symbol completes to words of the parts; None where there are none."""
        final = self.final[:, self.automaton.moves[:, symbol]] & self.automaton.reached(self.length - 1)
        kept = final.any(axis=1)
        return AutomatonClasses(self.length - 1, self.automaton, final[kept]) if kept.any() else None

    def take(self, parts: Sequence[int]) -> "AutomatonClasses":
        """Some of the parts."""
        return AutomatonClasses(self.length, self.automaton, self.final[list(parts)])

    def joined(self, others: Sequence["AutomatonClasses"]) -> "AutomatonClasses":
        """These parts and others of the same automaton."""
        return AutomatonClasses(
            self.length, self.automaton, np.concatenate([self.final, *(other.final for other in others)])
        )
