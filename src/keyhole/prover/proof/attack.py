"""Search for an input that the model answers wrongly: moves that lower sign·f the most, ranked by its own slope.

In a cell of a function, free copies of rows move to other symbols. In a class of words, a position shows another
symbol or two positions exchange theirs. The best moves are tried, and the best of those is made.
"""

import operator
from collections.abc import Callable, Iterator

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.languages import WordClasses
from keyhole.prover.proof.after_attention import Tail, trace
from keyhole.prover.proof.tables import HeadTable, Tables, outputs, slices_of
from keyhole.rigorous import Ball

STEPS, WORD_STEPS = 12, 40
TRIED = 96  # moves of a word evaluated in a step
DIFFERENCE = 1e-6  # of a head's output, in units of its largest value: where f's slope is taken


def descend(
    tables: Tables, tail: Tail, point: Int[np.ndarray, "rows A"], fixed: Int[np.ndarray, "rows A"], sign: float
) -> Int[np.ndarray, "rows A"]:
    """The point after moves of free copies to other symbols, until sign·f ≤ 0 or nothing found helps.

    Each step ranks the rows by what moving them does to f at first order, and moves as many of the best as help most.
    """

    def moves(point: Int[np.ndarray, "rows A"]) -> Int[np.ndarray, "n rows A"]:
        """The points in which the best 1, 2, 4, … of the rows that help are moved, each by its best move."""
        free = (point - fixed)[:, :, None]
        total = np.zeros((*point.shape, point.shape[1]))
        for head, excess, mass in _excesses(tables, tail, point, sign):
            change = free * (excess[:, None, :] - excess[:, :, None])
            total += change / (mass + free * (head.mass[:, None, :] - head.mass[:, :, None]))
        rows, symbols = point.shape
        effects = np.where(free > 0, total, 0.0).reshape(rows, -1)
        best = effects.argmin(axis=1)
        effect = effects[np.arange(rows), best]
        order = np.argsort(effect)[: int((effect < 0).sum())]
        sizes = sorted({*(2 ** np.arange(len(order).bit_length())).tolist(), len(order)} - {0})
        moved = np.repeat(point[None], len(sizes), axis=0)
        for copy, size in zip(moved, sizes, strict=True):
            some = order[:size]
            old, new = best[some] // symbols, best[some] % symbols
            count = (point - fixed)[some, old]
            copy[some, old] -= count
            copy[some, new] += count
        return moved

    return _lowered(tables, tail, point, sign, moves, STEPS, operator.le)


def exchange(
    tables: Tables,
    tail: Tail,
    reads: tuple[int, ...],
    words: WordClasses,
    point: Int[np.ndarray, "rows A"],
    sign: float,
) -> Int[np.ndarray, "rows A"]:
    """The point after moves that keep it in the only part of `words`, until sign·f < 0 or no move tried helps."""

    def moves(point: Int[np.ndarray, "rows A"]) -> Int[np.ndarray, "n rows A"]:
        """The moves of the word that promise most, of free rows too, each as the point it leads to."""
        effect = np.zeros(point.shape)  # of each row and symbol, less that of the symbol shown
        for _, excess, mass in _excesses(tables, tail, point, sign):
            now = (excess * point).sum(axis=1, keepdims=True) / np.maximum(point.sum(axis=1, keepdims=True), 1)
            effect += (excess - now) / mass
        rows, symbols = list(reads), tables.symbols
        word = point[rows].argmax(axis=1)
        single = effect[rows]
        candidates: list[tuple[float, tuple[tuple[int, int], ...]]] = [
            (float(single[place, symbol]), ((place, symbol),))
            for place in range(len(rows))
            for symbol in range(symbols)
            if symbol != word[place]
        ]
        for one in range(symbols):
            for other in range(one + 1, symbols):
                first, second = np.flatnonzero(word == one), np.flatnonzero(word == other)
                first = first[np.argsort(single[first, other])][:24]
                second = second[np.argsort(single[second, one])][:24]
                candidates += [
                    (float(single[i, other] + single[j, one]), ((int(i), other), (int(j), one)))
                    for i in first
                    for j in second
                ]
        candidates.sort(key=lambda pair: pair[0])
        tried = np.repeat(word[None], len(candidates), axis=0)
        for row, (_, changes) in zip(tried, candidates, strict=True):
            for place, symbol in changes:
                row[place] = symbol
        tried = tried[words.contains(tried)[0]][:TRIED]
        shown = np.repeat(point[None], len(tried), axis=0)
        shown[:, rows] = np.eye(symbols, dtype=np.int64)[tried]
        free = np.setdiff1d(np.arange(len(point)), rows)
        moved = []
        for row in free[np.argsort(effect[free].min(axis=1))][:8]:  # all copies of a free row to its best symbol
            copy = point.copy()
            copy[row] = 0
            copy[row, int(effect[row].argmin())] = tables.counts[row]
            moved.append(copy)
        return np.concatenate([shown, np.array(moved).reshape(-1, *point.shape).astype(np.int64)])

    return _lowered(tables, tail, point, sign, moves, WORD_STEPS, operator.lt)


def _lowered(
    tables: Tables,
    tail: Tail,
    point: Int[np.ndarray, "rows A"],
    sign: float,
    moves: Callable[[np.ndarray], np.ndarray],
    steps: int,
    ends: Callable[[float, float], bool],
) -> Int[np.ndarray, "rows A"]:
    """The point after the best move of each step, until sign·f `ends` at 0 or no move lowers it."""

    def heights(shown: np.ndarray) -> Float[np.ndarray, "n"]:
        return np.asarray(sign * trace(tail, outputs(tables, shown)).output.mid)

    value = heights(point[None])[0]
    for _ in range(steps):
        if ends(value, 0.0):
            break
        moved = moves(point)
        if not len(moved):
            break
        tried = heights(moved)
        best = int(np.argmin(tried))
        if not tried[best] < value:
            break
        point, value = moved[best], tried[best]
    return point


def _excesses(
    tables: Tables, tail: Tail, point: Int[np.ndarray, "rows A"], sign: float
) -> Iterator[tuple[HeadTable, Float[np.ndarray, "rows A"], float]]:
    """Yield each head, the slope of sign·f by a copy of each row and symbol times the head's mass, and that mass."""
    here = outputs(tables, point[None]).mid[0]
    reach = np.concatenate([head.reach for head in tables.heads])
    size = DIFFERENCE * np.where(reach > 0, reach, 1.0)
    around = np.concatenate([here[None], here + np.diag(size)])
    values = sign * trace(tail, Ball(around, np.zeros_like(around))).output.mid
    slope = np.asarray((values[1:] - values[0]) / size)
    for head, part in zip(tables.heads, slices_of(tables.heads), strict=True):
        excess = head.mass * (head.values @ slope[part] - here[part] @ slope[part])
        yield head, excess, float((point * head.mass).sum() + head.cls_mass)
