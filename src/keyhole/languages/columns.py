"""Claims column by column: what a model should write, symbol by symbol, as the path of an automaton.

Column j shows some tokens of the prompt and has one answer, the j-th symbol to be written. The automaton's state before
a column (a carry, a borrow) and the column's symbol (two digits) give the answer and the next state. A word is a choice
of symbols along which the automaton moves from its start to a final state.
"""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Bool, Int
from keyhole.errors import ShapeError

NOWHERE = -1  # a move that does not exist


@dataclass(frozen=True, eq=False)
class Column:
    """The tokens that each symbol shows at `places` of the prompt, where it moves each state, and the answers."""

    places: tuple[int, ...]
    shows: Int[np.ndarray, "S k"]
    moves: Int[np.ndarray, "Q S"]  # NOWHERE: no word has this symbol in this state
    answers: Int[np.ndarray, "Q S"]


@dataclass(frozen=True, eq=False)
class Columns:
    """All words of a claim: a column for each answer, fixed tokens at the other places of the prompt."""

    columns: tuple[Column, ...]
    start: int
    final: Bool[np.ndarray, "Q"]
    fixed: dict[int, int]  # position → token
    prompt: int  # its length

    def __post_init__(self) -> None:
        places = sorted([*self.fixed, *(place for column in self.columns for place in column.places)])
        if places != list(range(self.prompt)):
            raise ShapeError(
                f"a prompt of {self.prompt} positions needs each of them in one column, or fixed; got {places}"
            )
        states = len(self.final)
        for number, column in enumerate(self.columns):
            symbols, shown = column.shows.shape
            right = column.moves.shape == column.answers.shape == (states, symbols) and shown == len(column.places)
            if not right or not ((column.moves >= NOWHERE) & (column.moves < states)).all():
                raise ShapeError(
                    f"column {number} needs {len(column.places)} tokens a symbol, and a move and an answer for each of "
                    f"{states} states and each symbol"
                )

    @property
    def tokens(self) -> int:
        """One more than the largest token."""
        every = [*self.fixed.values()]
        for column in self.columns:
            every += [int(column.answers.max(initial=0)), int(column.shows.max(initial=0))]
        return max(every) + 1

    @property
    def count(self) -> int:
        """The number of words."""
        ways = [int(final) for final in self.final]
        for column in reversed(self.columns):
            ways = [sum(ways[after] for after in row if after != NOWHERE) for row in column.moves.tolist()]
        return ways[self.start]

    def draw(self, rng: np.random.Generator, number: int) -> Int[np.ndarray, "n C"]:
        """Return uniform random words, each as its symbols."""
        ways = self.final.astype(float)
        onward = []
        for column in reversed(self.columns):
            each = np.where(column.moves == NOWHERE, 0.0, ways[column.moves])
            ways = each.sum(axis=1)
            onward.append(np.cumsum(each, axis=1))
            ways = ways / ways.max()
        state = np.full(number, self.start)
        words = np.empty((number, len(self.columns)), dtype=np.int64)
        for place, (column, summed) in enumerate(zip(self.columns, reversed(onward), strict=True)):
            threshold = rng.random(number) * summed[state, -1]
            words[:, place] = (summed[state] <= threshold[:, None]).sum(axis=1)
            state = column.moves[state, words[:, place]]
        return words

    def every_word(self) -> Int[np.ndarray, "n C"]:
        """Return all words, each as its symbols; for small claims."""
        words, states = np.zeros((1, 0), dtype=np.int64), np.array([self.start])
        for column in self.columns:
            after = column.moves[states]
            row, symbol = np.nonzero(after != NOWHERE)
            words, states = np.concatenate([words[row], symbol[:, None]], axis=1), after[row, symbol]
        every: np.ndarray = words[self.final[states]]
        return every

    def contains(self, words: Int[np.ndarray, "n C"]) -> Bool[np.ndarray, "n"]:
        """Return which choices of symbols are words."""
        state, whole = np.full(len(words), self.start), np.ones(len(words), dtype=bool)
        for column, symbol in zip(self.columns, words.T, strict=True):
            state = column.moves[state, symbol]
            whole &= state != NOWHERE  # a state −1 reads the last row, and stays out
        return np.asarray(whole & self.final[state])

    def shown(self, words: Int[np.ndarray, "n C"]) -> tuple[Int[np.ndarray, "n L"], Int[np.ndarray, "n C"]]:
        """Return the prompts and the right answers of words."""
        prompts = np.zeros((len(words), self.prompt), dtype=np.int64)
        for place, token in self.fixed.items():
            prompts[:, place] = token
        answers, state = np.zeros_like(words), np.full(len(words), self.start)
        for number, column in enumerate(self.columns):
            symbol = words[:, number]
            prompts[:, list(column.places)] = column.shows[symbol]
            answers[:, number] = column.answers[state, symbol]
            state = column.moves[state, symbol]
        return prompts, answers
