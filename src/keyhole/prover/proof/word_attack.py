"""Search for a word of a class that the model answers wrongly: exchanges that lower sign·f the most.

A move shows another symbol at one position, or exchanges the symbols of two. Moves are ranked by what they do to f at
first order; the best are tried, and the best of those that stay in the class is made.
"""

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.languages import WordClasses
from keyhole.prover.proof.after_attention import Tail
from keyhole.prover.proof.attack import excesses, signed_outputs
from keyhole.prover.proof.tables import Tables

STEPS = 40
TRIED = 96  # moves evaluated in a step


def exchange(
    tables: Tables,
    tail: Tail,
    reads: tuple[int, ...],
    words: WordClasses,
    point: Int[np.ndarray, "rows A"],
    sign: float,
) -> Int[np.ndarray, "rows A"]:
    """The point after moves that keep it in the only part of `words`, until sign·f < 0 or no move tried helps."""
    value = signed_outputs(tables, tail, point[None], sign)[0]
    for _ in range(STEPS):
        if value < 0:
            break
        moved = _moves(tables, tail, reads, words, point, sign)
        if not len(moved):
            break
        heights = signed_outputs(tables, tail, moved, sign)
        best = int(np.argmin(heights))
        if not heights[best] < value:
            break
        point, value = moved[best], heights[best]
    return point


def _moves(
    tables: Tables, tail: Tail, reads: tuple[int, ...], words: WordClasses, point: np.ndarray, sign: float
) -> Int[np.ndarray, "n rows A"]:
    """The moves of the word that promise most, of free rows too, each made."""
    effect = _effects(tables, tail, point, sign)  # of each row and symbol, less that of the symbol shown
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
    made = np.repeat(word[None], len(candidates), axis=0)
    for row, (_, changes) in zip(made, candidates, strict=True):
        for place, symbol in changes:
            row[place] = symbol
    made = made[words.contains(made)[0]][:TRIED]
    shown = np.repeat(point[None], len(made), axis=0)
    shown[:, rows] = np.eye(symbols, dtype=np.int64)[made]
    free = np.setdiff1d(np.arange(len(point)), rows)
    moved = []
    for row in free[np.argsort(effect[free].min(axis=1))][:8]:  # all copies of a free row to its best symbol
        copy = point.copy()
        copy[row] = 0
        copy[row, int(effect[row].argmin())] = tables.counts[row]
        moved.append(copy)
    return np.concatenate([shown, np.array(moved).reshape(-1, *point.shape).astype(np.int64)])


def _effects(tables: Tables, tail: Tail, point: np.ndarray, sign: float) -> Float[np.ndarray, "rows A"]:
    """Return the change of sign·f, to first order, when a row shows another symbol."""
    total = np.zeros(point.shape)
    for _, excess, mass in excesses(tables, tail, point, sign):
        now = (excess * point).sum(axis=1, keepdims=True) / np.maximum(point.sum(axis=1, keepdims=True), 1)
        total += (excess - now) / mass
    return total
