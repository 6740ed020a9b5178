"""Search for an input on which model and junta differ: from a bad point downhill along f's own slope."""

from collections.abc import Iterator

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.prover.proof.after_attention import Tail, trace
from keyhole.prover.proof.tables import HeadTable, Tables, outputs, slices_of
from keyhole.rigorous import Ball

STEPS = 12
DIFFERENCE = 1e-6  # of a head's output, in units of its largest value: where f's slope is taken


def descend(
    tables: Tables, tail: Tail, point: Int[np.ndarray, "rows A"], fixed: Int[np.ndarray, "rows A"], sign: float
) -> Int[np.ndarray, "rows A"]:
    """The point after moves of free copies to other symbols, until sign·f ≤ 0 or nothing found helps.

    Each step ranks the rows by what moving them does to f at first order, and moves as many of the best as help most.
    """
    value = signed_outputs(tables, tail, point[None], sign)[0]
    for _ in range(STEPS):
        if not value > 0:
            break
        moved = _prefixes(point, fixed, _effects(tables, tail, point, fixed, sign))
        if not len(moved):
            break
        heights = signed_outputs(tables, tail, moved, sign)
        best = int(np.argmin(heights))
        if not heights[best] < value:
            break
        point, value = moved[best], heights[best]
    return point


def signed_outputs(tables: Tables, tail: Tail, shown: np.ndarray, sign: float) -> Float[np.ndarray, "n"]:
    """The number sign·f at each point, in plain floating point."""
    return np.asarray(sign * trace(tail, outputs(tables, shown)).output.mid)


def excesses(
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


def _effects(
    tables: Tables, tail: Tail, point: Int[np.ndarray, "rows A"], fixed: Int[np.ndarray, "rows A"], sign: float
) -> Float[np.ndarray, "rows A A"]:
    """Return the change of sign·f, to first order, when a row's free copies move to another symbol."""
    total = np.zeros((*point.shape, point.shape[1]))
    free = (point - fixed)[:, :, None]
    for head, excess, mass in excesses(tables, tail, point, sign):
        change = free * (excess[:, None, :] - excess[:, :, None])
        total += change / (mass + free * (head.mass[:, None, :] - head.mass[:, :, None]))
    return np.where(free > 0, total, 0.0)


def _prefixes(
    point: Int[np.ndarray, "rows A"], fixed: Int[np.ndarray, "rows A"], effects: Float[np.ndarray, "rows A A"]
) -> Int[np.ndarray, "n rows A"]:
    """The points in which the best 1, 2, 4, … of the rows that help are moved, each by its best move."""
    rows, symbols = point.shape
    best = effects.reshape(rows, -1).argmin(axis=1)
    effect = effects.reshape(rows, -1)[np.arange(rows), best]
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
