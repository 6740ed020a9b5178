"""Looking for an input on which model and junta differ: from a bad point downhill, one symbol at a time."""

import numpy as np
from jaxtyping import Int

from keyhole.certify.tables import Tables, outputs
from keyhole.certify.tail import Tail, trace

STEPS = 12
BLOCK = 2**22  # numbers of a batch of points held at once


def descend(
    tables: Tables, tail: Tail, point: Int[np.ndarray, "rows A"], fixed: Int[np.ndarray, "rows A"], sign: float
) -> Int[np.ndarray, "rows A"]:
    """The point after moves of single free copies, each the best for sign·f, until f changes sign or no move helps."""
    value = _heights(tables, tail, point[None], sign)[0]
    for _ in range(STEPS):
        moves = _moves(point, fixed)
        if not value > 0 or not len(moves):
            break
        heights = _heights_of_moves(tables, tail, point, moves, sign)
        best = int(np.argmin(heights))
        if not heights[best] < value:
            break
        point, value = _moved(point, moves[best : best + 1])[0], heights[best]
    return point


def _moves(point: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Every (row, symbol shown by a free copy, other symbol)."""
    rows, shown = np.nonzero(point - fixed)
    symbols = np.arange(point.shape[1])
    every = np.stack(
        [np.repeat(rows, len(symbols)), np.repeat(shown, len(symbols)), np.tile(symbols, len(rows))], axis=1
    )
    return np.asarray(every[every[:, 1] != every[:, 2]])


def _moved(point: np.ndarray, moves: np.ndarray) -> np.ndarray:
    shown = np.repeat(point[None], len(moves), axis=0)
    index = np.arange(len(moves))
    shown[index, moves[:, 0], moves[:, 1]] -= 1
    shown[index, moves[:, 0], moves[:, 2]] += 1
    return shown


def _heights_of_moves(tables: Tables, tail: Tail, point: np.ndarray, moves: np.ndarray, sign: float) -> np.ndarray:
    step = max(1, BLOCK // point.size)
    parts = [
        _heights(tables, tail, _moved(point, moves[start : start + step]), sign) for start in range(0, len(moves), step)
    ]
    return np.concatenate(parts)


def _heights(tables: Tables, tail: Tail, shown: np.ndarray, sign: float) -> np.ndarray:
    return np.asarray(sign * trace(tail, outputs(tables, shown)).output.mid)
