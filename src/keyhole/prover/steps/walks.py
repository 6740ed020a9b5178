"""The least cost of a word of a class: a shortest path over the columns of the claim."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from keyhole.arrays import Bool, Float, Int
from keyhole.languages import NOWHERE, Columns
from keyhole.prover.steps.tables import View
from keyhole.rigorous import GROW, Ball, exact, gamma


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of one column, sorted by their states; symbols that show equal rows are one edge."""

    source: Int[np.ndarray, "E"]
    target: Int[np.ndarray, "E"]
    answer: Int[np.ndarray, "E"]
    rows: Int[np.ndarray, "E rows"]  # numbers of the rows shown
    symbol: Int[np.ndarray, "E"]  # one of those
    count: Int[np.ndarray, "E"]  # how many they are
    sums: Ball  # (E, K): the features of all rows shown

    def take(self, index: np.ndarray) -> "Edges":
        """Some of the edges."""
        return Edges(
            self.source[index],
            self.target[index],
            self.answer[index],
            self.rows[index],
            self.symbol[index],
            self.count[index],
            self.sums[index],
        )

    def bundles(self) -> list[tuple[int, int, slice]]:
        """Return source, target and place of the edges between the same two states."""
        turns = np.diff(self.source, prepend=-2) | np.diff(self.target, prepend=-2)
        cuts = [*np.flatnonzero(turns).tolist(), len(self.source)]
        return [(int(self.source[a]), int(self.target[a]), slice(a, b)) for a, b in pairwise(cuts)]


@dataclass(frozen=True, eq=False)
class Classes:
    """Sets of words of one step: in each some neighbouring columns are fixed, the last of them the answer's."""

    first: int  # of the fixed columns
    state: Int[np.ndarray, "n"]  # before it
    after: Int[np.ndarray, "n"]  # the last
    answer: Int[np.ndarray, "n"]
    symbols: Int[np.ndarray, "n fixed"]
    count: tuple[int, ...]  # choices of symbols that look the same
    sums: Ball  # (n, K): features of the fixed columns and tokens

    def take(self, index: Int[np.ndarray, "m"]) -> "Classes":
        """Some of the classes."""
        count = tuple(self.count[i] for i in index.tolist())
        return Classes(
            self.first,
            self.state[index],
            self.after[index],
            self.answer[index],
            self.symbols[index],
            count,
            self.sums[index],
        )


@dataclass(frozen=True, eq=False)
class Least:
    """A lower bound of the least cost in each class, and a word near it: one of its features, and its edges."""

    value: Float[np.ndarray, "n"]
    feature: Float[np.ndarray, "n"]
    before: list[Int[np.ndarray, "n Q"]]  # the edge into each state, column by column
    behind: list[Int[np.ndarray, "n Q"]]  # the edge out of each, from the last column back


class Step:
    """One step of a claim, seen from the symbol `last` at the position where its answer is read.

    The features of a word, Σ w v and Σ w of every head, are sums over its columns, so that a linear functional of them
    is a sum of costs of edges. Columns before the step show their answers, too, and the one just before wrote `last`.
    Columns behind are free as far as they lead to a final state; states that lead on alike are one there.
    """

    def __init__(self, claim: Columns, number: int, last: int, view: View, same: Int[np.ndarray, "T V"]) -> None:
        self.claim, self.number, self.last, self.view, self.same = claim, number, last, view, same
        count = len(claim.columns)
        # a product of 2K terms, then a sum over columns, both of rounded numbers: twice what is needed
        self._rounding = gamma(8 * view.features.mid.shape[-1] + 4 * count + 32)
        alive = _alive(claim)
        reached: Bool[np.ndarray, "Q"] = np.arange(len(claim.final)) == claim.start
        self.before: list[Edges] = []
        for place in range(number):
            edges = self._edges(place, reached, alive[place + 1], written=True)
            if place == number - 1:
                edges = edges.take(np.flatnonzero(edges.answer == last))
            self.before.append(edges)
            reached = np.isin(np.arange(len(reached)), edges.target)
        here = self._edges(number, reached, alive[number + 1], written=False)
        self._free = [
            self._edges(place, alive[place], alive[place + 1], written=False) for place in range(number + 1, count)
        ]
        self._labels, self.behind = _merged(self._free, claim.final)
        fixed = exact(np.zeros((1, view.features.mid.shape[-1])))
        for place, token in claim.fixed.items():
            fixed = fixed + view.features[place, token][None]
        symbols, counts = here.symbol[:, None], tuple(here.count.tolist())
        classes = Classes(number, here.source, here.target, here.answer, symbols, counts, here.sums + fixed)
        self.classes = classes.take(np.flatnonzero([words > 0 for words in self.words_in(classes)]))
        self._rows = [self._lowered(edges.sums) for edges in (*self.before, *self.behind)]

    @property
    def place(self) -> int:
        """The position at which the answer is read."""
        return self.claim.prompt + self.number - 1

    def _edges(self, place: int, sources: np.ndarray, targets: np.ndarray, *, written: bool) -> Edges:
        column, prompt = self.claim.columns[place], self.claim.prompt
        right = (column.moves != NOWHERE) & sources[:, None] & targets[column.moves]
        if self.number == 0 and prompt - 1 in column.places:  # the answer is read at a symbol of this column
            right = right & (column.shows[:, column.places.index(prompt - 1)] == self.last)
        source, symbol = np.nonzero(right)
        target, answer = column.moves[source, symbol], column.answers[source, symbol]
        at = [(here, column.shows[symbol, k]) for k, here in enumerate(column.places)]
        if written:
            at.append((prompt + place, answer))
        rows = (
            np.stack([self.same[here, token] for here, token in at], axis=1) if at else np.zeros((len(symbol), 0), int)
        )
        key = np.column_stack([source, target, answer if place <= self.number else 0 * answer, np.sort(rows, axis=1)])
        first, count = np.unique(key, axis=0, return_index=True, return_counts=True)[1:]
        sums = exact(np.zeros((len(first), self.view.features.mid.shape[-1])))
        for here, token in at:
            sums = sums + self.view.features[here, token[first]]
        return Edges(source[first], target[first], answer[first], key[first, 3:], symbol[first], count, sums)

    def _lowered(self, sums: Ball) -> Float[np.ndarray, "E twoK"]:
        """Rows whose product with (u, |u|) is below u·x for every x of the ball, also when it is rounded and summed."""
        return np.hstack([sums.mid, -(sums.rad + self._rounding * (np.abs(sums.mid) + sums.rad)) * GROW])

    def least(self, classes: Classes, index: np.ndarray, u: Float[np.ndarray, "n K"], feature: int = 0) -> Least:
        """Bound u·(features) from below over the words of the class of each row of u.

        Statement  `value` ≤ u·Φ(w) for every word w of the class.
        Proof      Every edge costs at most u·x less γ times the absolute terms, for each x of its ball. Rounding to
                   nearest is monotone, so that the recursion's value is at most the computed sum along the word's own
                   path, and that is off by less than what the edges were lowered.
        Source     Ours; the recursion is textbook.
        """
        both, ar = np.hstack([u, np.abs(u)]), np.arange(len(u))
        states = len(self.claim.final)
        value = np.full((len(u), states), np.inf)
        value[:, self.claim.start] = 0.0
        carried, before, behind = np.zeros_like(value), [], []
        for place in range(classes.first):
            step = self._relax(both, self.before[place], self._rows[place], value, (feature, carried))
            value, carried = step[:2]
            before.append(step[2])
        total = value[ar, classes.state[index]] + np.einsum("nk,nk->n", both, self._lowered(classes.sums)[index])
        summed = carried[ar, classes.state[index]] + classes.sums.mid[index, feature]
        value, carried = np.zeros((len(u), states)), np.zeros((len(u), states))
        for place in reversed(range(len(self.behind))):
            rows = self._rows[self.number + place]
            step = self._relax(both, self.behind[place], rows, value, (feature, carried), back=True)
            value, carried = step[:2]
            behind.append(step[2])
        label = self._labels[0][classes.after[index]]
        return Least(total + value[ar, label], summed + carried[ar, label], before, behind)

    def _relax(
        self,
        both: np.ndarray,
        edges: Edges,
        rows: np.ndarray,
        value: np.ndarray,
        feature: tuple[int, np.ndarray],
        *,
        back: bool = False,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Go over one column: the least value of each state, the feature summed along it, and the edge taken."""
        column, carried = feature
        cost, ar = both @ rows.T, np.arange(len(both))
        least, summed = np.full_like(value, np.inf), np.zeros_like(carried)
        taken = np.zeros(value.shape, dtype=np.int64)
        for source, target, place in edges.bundles():
            come, go = (target, source) if back else (source, target)
            at = cost[:, place].argmin(axis=1) + place.start
            way = cost[ar, at] + value[:, come]
            better = way < least[:, go]
            least[:, go] = np.minimum(way, least[:, go])  # which keeps what is not a number
            summed[:, go] = np.where(better, carried[:, come] + edges.sums.mid[at, column], summed[:, go])
            taken[:, go] = np.where(better, at, taken[:, go])
        return least, summed, taken

    def words(self, classes: Classes, index: np.ndarray, least: Least) -> Int[np.ndarray, "n C"]:
        """Return the words that `least` met, each as its symbols."""
        words = np.zeros((len(index), len(self.claim.columns)), dtype=np.int64)
        words[:, classes.first : self.number + 1] = classes.symbols[index]
        ar, state = np.arange(len(index)), classes.state[index]
        for place in reversed(range(classes.first)):
            edge = least.before[place][ar, state]
            words[:, place], state = self.before[place].symbol[edge], self.before[place].source[edge]
        state = classes.after[index]
        for number, free in enumerate(self._free):
            label, edges = self._labels[number][state], self.behind[number]
            edge = least.behind[len(self._free) - 1 - number][ar, label]
            # the merged edge stands for one of this very state that shows equal rows and leads to the same label
            keys = np.column_stack([edges.target[edge], edges.rows[edge]])
            own = np.column_stack([self._labels[number + 1][free.target], free.rows])
            same = (own[None] == keys[:, None]).all(axis=2) & (free.source[None] == state[:, None])
            edge = same.argmax(axis=1)
            words[:, self.number + 1 + number], state = free.symbol[edge], free.target[edge]
        return words

    def finer(self, classes: Classes, index: Int[np.ndarray, "m"]) -> Classes:
        """Some classes, cut by the edges of one more column."""
        edges, place = self.before[classes.first - 1], classes.first - 1
        pairs = [(i, int(edge)) for i in index.tolist() for edge in np.flatnonzero(edges.target == classes.state[i])]
        parent, edge = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        symbols = np.hstack([edges.symbol[edge][:, None], classes.symbols[parent]])
        count = tuple(classes.count[i] * int(edges.count[e]) for i, e in pairs)
        sums = classes.sums[parent] + edges.sums[edge]
        return Classes(place, edges.source[edge], classes.after[parent], classes.answer[parent], symbols, count, sums)

    def words_in(self, classes: Classes) -> list[int]:
        """Return how many words each class has."""
        before = [int(state == self.claim.start) for state in range(len(self.claim.final))]
        for edges in self.before[: classes.first]:
            before = _counted(edges.source, edges.target, edges.count, before)
        behind = [int(final) for final in self.claim.final]
        for free in reversed(self._free):
            behind = _counted(free.target, free.source, free.count, behind)
        return [
            before[int(state)] * count * behind[int(after)]
            for state, after, count in zip(classes.state, classes.after, classes.count, strict=True)
        ]


def last_symbols(claim: Columns, number: int) -> list[int]:
    """Return the symbols that may stand where the answer of a step is read."""
    place = claim.prompt - 1
    if number == 0:
        column = next((column for column in claim.columns if place in column.places), None)
        return (
            [claim.fixed[place]] if column is None else np.unique(column.shows[:, column.places.index(place)]).tolist()
        )
    alive, reached = _alive(claim), np.arange(len(claim.final)) == claim.start
    answers: np.ndarray = np.zeros(0)
    for at in range(number):
        moves = claim.columns[at].moves
        right = (moves != NOWHERE) & reached[:, None] & alive[at + 1][moves]
        answers = np.unique(claim.columns[at].answers[right])
        reached = np.isin(np.arange(len(reached)), moves[right])
    return [int(answer) for answer in answers]


def _counted(come: np.ndarray, go: np.ndarray, count: np.ndarray, ways: list[int]) -> list[int]:
    """Return the ways to each state over one column, from the ways before it."""
    onward = [0] * len(ways)
    for before, after, number in zip(come.tolist(), go.tolist(), count.tolist(), strict=True):
        onward[after] += ways[before] * number
    return onward


def _alive(claim: Columns) -> list[Bool[np.ndarray, "Q"]]:
    """Return the states before every column from which a final one can be reached."""
    alive = [np.asarray(claim.final)]
    for column in reversed(claim.columns):
        alive.append(((column.moves != NOWHERE) & alive[-1][column.moves]).any(axis=1))
    return alive[::-1]


def _merged(free: list[Edges], final: np.ndarray) -> tuple[list[Int[np.ndarray, "Q"]], list[Edges]]:
    """Return the label of each state before each free column and after the last, and the edges between labels.

    States with equal edges, to states of equal labels, have the same label: what follows them costs the same.
    """
    labels: list[np.ndarray] = [np.where(final, 0, -1)]
    merged: list[Edges] = []
    for edges in reversed(free):
        keys = np.column_stack([labels[0][edges.target], edges.rows])
        seen: dict[bytes, int] = {}
        label, kept = np.full(len(final), -1), []
        for state in np.unique(edges.source).tolist():
            own = np.flatnonzero(edges.source == state)
            rows, first = np.unique(keys[own], axis=0, return_index=True)
            if rows.tobytes() not in seen:
                seen[rows.tobytes()] = len(seen)
                kept.append(own[first])
            label[state] = seen[rows.tobytes()]
        part = edges.take(np.concatenate(kept))
        merged.insert(0, replace(part, source=label[part.source], target=labels[0][part.target]))
        labels.insert(0, label)
    return labels, merged
