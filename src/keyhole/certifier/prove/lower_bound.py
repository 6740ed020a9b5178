"""A lower bound of ±f over each part of the cube, with the point where the bound is least.

Ranges go forward: the norm's spread, the units' pre-activations, the rows at later norms. One functional goes backward,
from f to the heads; its least value over a part is Lemma F's. The lines and tangents are then moved to suit the
minimiser, and the best bound of a few rounds is kept: each is sound.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from keyhole.certifier.prove.after_attention import Norm, Tail, Trace, trace
from keyhole.certifier.prove.curves import Curves, curves
from keyhole.certifier.prove.fractional_minimum import View, least, minimisers, view
from keyhole.certifier.prove.relaxation import Box, Relaxed, relaxed, spread_below, through_norm
from keyhole.certifier.prove.tables import Parts, Tables, outputs, points
from keyhole.rigorous.ball import Ball, exact, inverse

ROUNDS = 6
STEP = 0.6  # of a slope, as a share of its range, in the first round


@dataclass(frozen=True, eq=False)
class Bounds:
    """For each part: a certified lower bound of sign·f, the worst point met, f there, and how much each row moves."""

    low: Float[np.ndarray, "parts"]
    worst: Int[np.ndarray, "parts rows A"]
    output: Ball
    spread: Float[np.ndarray, "parts rows"]


def bound(tables: Tables, tail: Tail, parts: Parts, signs: Float[np.ndarray, "parts"]) -> Bounds:
    """Lower bounds of signs·f over all points of each part."""
    seen = view(tables, parts)
    average = parts.fixed + parts.free[None, :, None] / tables.symbols
    reference = trace(tail, outputs(tables, average))
    box = None if tail.norm is None else _norm_box(seen, tail, tail.norm, reference)
    lines = curves(tail.units.activation, *_unit_ranges(seen, tail, box))
    boxes = _later_boxes(seen, tail, lines, box)
    low = np.full(parts.count, -np.inf)
    below, above = lines.chord(), lines.chord()
    best: Bounds | None = None
    for index in range(ROUNDS):
        found, chosen, spread, coefficient = _one_round(seen, tail, signs, lines, (below, above), box, boxes, reference)
        low = np.fmax(low, found)
        shown = points(parts, chosen)
        reference = trace(tail, outputs(tables, shown))
        best = _worse(best, Bounds(low, shown, reference.output, spread), signs)
        if (low > 0).all() and index > 0:
            break
        below, above = _moved(lines, below, above, coefficient, reference.units.mid, STEP / (index + 1))
    assert best is not None  # noqa: S101  (at least one round was made)
    return Bounds(low, best.worst, best.output, best.spread)


def _worse(best: Bounds | None, found: Bounds, signs: np.ndarray) -> Bounds:
    """The points with the smaller sign·f, and the newest spread."""
    if best is None:
        return found
    new = signs * found.output.mid < signs * best.output.mid
    output = Ball(np.where(new, found.output.mid, best.output.mid), np.where(new, found.output.rad, best.output.rad))
    return Bounds(found.low, np.where(new[:, None, None], found.worst, best.worst), output, found.spread)


def _moved(
    lines: Curves, below: np.ndarray, above: np.ndarray, coefficient: np.ndarray, at: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes after a supergradient step: the bound is concave in each, with supergradient c (x − touch)."""
    width = lines.grid[-1] - lines.grid[0]
    width = np.where(width > 0, width, np.inf)
    up = (at - lines.below(below).touch) / width
    down = (at - lines.above(above).touch) / width
    positive = coefficient >= 0
    below = np.where(positive, np.clip(below + step * up, -0.2, 1.2), below)
    above = np.where(positive, above, np.clip(above - step * down, -0.2, 1.2))
    return below, above


def _one_round(
    seen: View,
    tail: Tail,
    signs: np.ndarray,
    lines: Curves,
    slopes: tuple[np.ndarray, np.ndarray],
    box: Box | None,
    boxes: tuple[Box, ...],
    reference: Trace,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    weight = exact(signs)[:, None] * tail.weight
    shift = exact(signs) * tail.bias
    later = list(zip(boxes, reference.stages, strict=True))
    for stage in reversed(tail.after):
        if isinstance(stage, Norm):
            around, (rows, width) = later.pop()
            weight, shift = through_norm(stage, weight, shift, around, rows.mid, width.mid)
        else:
            shift = shift + weight @ exact(stage)
    found = relaxed(tail, lines.below(slopes[0]), lines.above(slopes[1]), lines.size, weight[:, None], shift[:, None])
    low, chosen, spread = _minimised(seen, tail, found, box, reference)
    for around in boxes:
        low = _divided(low, around)
    return low, chosen, spread, np.asarray(weight.mid @ tail.units.outer.mid.T)


def _minimised(
    seen: View, tail: Tail, found: Relaxed, box: Box | None, reference: Trace
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The least value of one relaxed functional per part, where it is, and how much each row matters."""
    if tail.norm is None or box is None:
        total = found.inner if found.raw is None else found.raw + found.inner
        low, chosen, spread = minimisers(seen, total)
        return _plus(low, (found.rest + found.inner_shift)[:, 0]), chosen, spread
    if found.raw is None:
        return _minimised_normed(seen, tail, tail.norm, found, box, reference)
    ends = []
    for q in _inverses(box):
        factor = exact(q)[:, None]
        low, chosen, spread = minimisers(seen, found.raw + factor[:, None] * found.inner)
        ends.append((_plus(low, (found.rest + factor * found.inner_shift)[:, 0]), chosen, spread))
    (low, chosen, spread), (other, others, spreads) = ends
    first = low <= other
    return (
        np.where(first, low, other),
        np.where(first[:, None], chosen, others),
        np.where(first[:, None], spread, spreads),
    )


def _minimised_normed(
    seen: View, tail: Tail, norm: Norm, found: Relaxed, box: Box, reference: Trace
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The functional q (B(o) + κ · spread), the spread between lines; or q B + κ with q at an end of its range."""
    kappa = found.rest[:, 0]
    coefficient, constant = spread_below(norm, kappa, box, reference.middle.mid, reference.spread.mid)
    matrix, centre = tail.centred
    low, chosen, spread = minimisers(seen, found.inner + (coefficient @ matrix.T)[:, None])
    low = _divided(_plus(low, found.inner_shift[:, 0] + coefficient @ centre + constant), box)
    ends = _plus(least(seen, found.inner)[:, 0], found.inner_shift[:, 0])
    return np.fmax(low, _plus(_divided(ends, box), kappa)), chosen, spread


def _norm_box(seen: View, tail: Tail, norm: Norm, reference: Trace) -> Box:
    """Ranges of the centred rows that enter the first norm, and of their spread.

    The spread is at least the part of the rows along any unit vector, and at most what a quadratic about the middle
    of the box says; both are functionals of the heads.
    """
    matrix, centre = tail.centred
    rows = matrix.T
    low = _plus(least(seen, rows[None]), centre)
    high = -_plus(least(seen, -rows[None]), -centre)
    lowest, highest = _squares(low, high)
    along = reference.middle.mid
    largest = np.abs(along).max(axis=-1, keepdims=True, initial=0.0)
    along = along / np.where(largest > 0, largest, 1.0)  # so that no square of use underflows
    length = np.sqrt((along * along).sum(axis=-1))
    unit = exact(along * ((1 - 2.0**-36) / np.where(length > 0, length, 1.0))[:, None])
    ahead = _plus(least(seen, (unit @ rows)[:, None])[:, 0], unit @ centre)
    lowest = np.fmax(lowest, np.nextafter(np.maximum(ahead, 0.0) ** 2, 0.0))
    middle = exact(low / 2 + high / 2)
    ahead = _plus(least(seen, -(middle @ rows)[:, None])[:, 0], -(middle @ centre))
    far = exact(np.nextafter(np.maximum(high - middle.mid, middle.mid - low), np.inf))
    quadratic = ((far * far).total() - (middle * middle).total() + exact(-2.0 * ahead)).high
    return _boxed(norm, low, high, lowest, np.fmin(highest, quadratic))


def _squares(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of Σ x_i² from those of each coordinate."""
    near = exact(np.maximum(0.0, np.maximum(low, -high)))
    far = exact(np.maximum(np.abs(low), np.abs(high)))
    return (near * near).total().low, (far * far).total().high


def _boxed(norm: Norm, low: np.ndarray, high: np.ndarray, lowest: np.ndarray, highest: np.ndarray) -> Box:
    d = len(norm.gain)
    # a quotient that underflows may be off by as much as a small ε
    least_square = np.nextafter(np.maximum(lowest, 0.0) / d, 0.0) + norm.eps
    most_square = np.nextafter(highest / d, np.inf) + norm.eps
    return Box(low, high, np.sqrt(least_square) * (1 - 2.0**-50), np.sqrt(most_square) * (1 + 2.0**-50))


def _unit_ranges(
    seen: View, tail: Tail, box: Box | None
) -> tuple[Float[np.ndarray, "parts h"], Float[np.ndarray, "parts h"]]:
    """The range of each pre-activation q (L o + l) + b over each part."""
    units = tail.units
    if units.matrix.mid.shape[1] == 0:
        return np.zeros((seen.parts.count, 0)), np.zeros((seen.parts.count, 0))
    rows = units.matrix.T[None]
    low = _plus(least(seen, rows), units.shift)
    high = -_plus(least(seen, -rows), -units.shift)
    if box is not None:
        low, high = _divided(low, box), -_divided(-high, box)
    return _plus(low, units.bias), -_plus(-high, -units.bias)


def _later_boxes(seen: View, tail: Tail, lines: Curves, box: Box | None) -> tuple[Box, ...]:
    """The ranges of centred rows at every later norm."""
    stages = list(tail.after)
    if not any(isinstance(stage, Norm) for stage in stages):
        return ()
    chord = lines.chord()
    identity = exact(np.eye(len(tail.weight.mid))).centred()
    both = Ball(np.concatenate([identity.mid, -identity.mid])[None], np.concatenate([identity.rad] * 2)[None])
    zeros = exact(np.zeros(both.mid.shape[:2]))
    found = relaxed(tail, lines.below(chord), lines.above(chord), lines.size, both, zeros)
    lows = _many(seen, tail, found, box)
    d = len(tail.weight.mid)
    low, high = lows[:, :d], -lows[:, d:]
    shift = exact(np.zeros(d))
    boxes: list[Box] = []
    for stage in stages:
        if not isinstance(stage, Norm):
            shift = shift + exact(stage)
            continue
        if boxes:  # rows of a later norm, coordinate by coordinate
            low, high = _centred_ranges(_plus(low, shift), -_plus(-high, -shift))
        else:
            low, high = _plus(low, shift.centred()), -_plus(-high, -shift.centred())
        around = _boxed(stage, low, high, *_squares(low, high))
        boxes.append(around)
        ends = [_divided(low, around), -_divided(-high, around)]
        scaled = [exact(end) * exact(stage.gain) + exact(stage.bias) for end in ends]
        low = np.minimum(scaled[0].low, scaled[1].low)
        high = np.maximum(scaled[0].high, scaled[1].high)
        shift = exact(np.zeros(d))
    return tuple(boxes)


def _centred_ranges(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = [exact(end).total() * inverse(exact(float(low.shape[1]))) for end in (low, high)]
    return (exact(low) - mean[1][:, None]).low, (exact(high) - mean[0][:, None]).high


def _many(seen: View, tail: Tail, found: Relaxed, box: Box | None) -> np.ndarray:
    """Lower bounds of many relaxed functionals."""
    if tail.norm is None or box is None:
        total = found.inner if found.raw is None else found.raw + found.inner
        return _plus(least(seen, total), found.rest + found.inner_shift)
    if found.raw is None:
        low = _plus(least(seen, found.inner), found.inner_shift)
        return _plus(_divided(low, box), found.rest)
    ends = []
    for q in _inverses(box):
        factor = exact(q)[:, None]
        low = least(seen, found.raw + factor[:, None] * found.inner)
        ends.append(_plus(low, found.rest + factor * found.inner_shift))
    return np.asarray(np.minimum(*ends))


def _plus(low: np.ndarray, constant: Ball) -> np.ndarray:
    """A lower bound with a constant added, rounded down."""
    return np.asarray(np.nextafter(low + constant.low, -np.inf))


def _divided(low: np.ndarray, box: Box) -> np.ndarray:
    """A lower bound divided by a spread somewhere in its range, rounded down."""
    shape = (-1, *(1,) * (low.ndim - 1))
    spread = np.where(low > 0, box.most.reshape(shape), box.least.reshape(shape))
    return np.asarray(np.nextafter(low / spread, -np.inf))


def _inverses(box: Box) -> tuple[np.ndarray, np.ndarray]:
    """The ends of 1/spread, rounded outwards."""
    return np.nextafter(1 / box.most, 0.0), np.nextafter(1 / box.least, np.inf)
