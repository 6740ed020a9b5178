"""A lower bound of ±f over each part of the cube, with the point where the bound is least.

Ranges go forward: the norm's spread, the units' pre-activations, the rows at later norms. One functional goes backward,
from f to the heads; its least value over a part is Lemma F's. The lines and tangents are then moved to suit the
minimiser, and the best bound of a few rounds is kept: each is sound.

A bound needs no more of a set of inputs than a `Region` offers: a part of the cube, the words of a language and the
inputs with a given count are regions.
"""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from keyhole.arrays import Float, Int, Shaped
from keyhole.attention import ReLU
from keyhole.decimals import margin as printed_margin
from keyhole.prover.proof.after_attention import Norm, Tail, Trace, trace
from keyhole.prover.proof.curves import Curves, curve, curves
from keyhole.prover.proof.relaxation import Box, Relaxed, either, relaxed, spread_below, sum_below
from keyhole.prover.proof.tables import Tables, outputs, sequence_of
from keyhole.rigorous import Ball, exact, inverse
from keyhole.verdicts import CertificateStatus


@dataclass(frozen=True, eq=False)
class Verification:
    """The outcome over all inputs asked about; PROVED says that model and answers agree, never that either is right.

    With PROVED, `margin` is a certified μ > 0: f ≥ μ wherever the answer is true and f ≤ −μ wherever it is false, for
    the real-number function f that the weights define, or the tables where only they are given. Any implementation
    within μ of f therefore has the same sign. With COUNTEREXAMPLE the sign of f at the input is certain beyond
    rounding and not the one wanted; `output` is f there. With UNDECIDED, `bound` is the largest number that sign·f is
    known not to be below.
    """

    status: CertificateStatus
    margin: float | None = None
    counterexample: Int[np.ndarray, "T"] | None = None
    wanted: bool | None = None
    output: float | None = None
    bound: float | None = None
    reason: str = ""
    parts: int = 0  # parts of the inputs that were cut, or bounded
    seconds: float = 0.0

    @property
    def rule(self) -> str:
        """The use of the margin, in words; empty without a proof."""
        if self.margin is None:
            return ""
        near = printed_margin(self.margin)
        return f"an implementation within {near} of the model's output gives the same answer on every input"


def refuted_at(tables: Tables, point: Int[np.ndarray, "rows A"], output: Ball, wanted: bool) -> Verification | None:  # noqa: FBT001  (an answer)
    """A counterexample, if f's sign at the point is certain and not the one wanted."""
    wrong = float(output.high) < 0 if wanted else float(output.low) > 0
    if not wrong:
        return None
    sequence = sequence_of(tables, point)
    return Verification("COUNTEREXAMPLE", counterexample=sequence, wanted=wanted, output=float(output.mid))


@dataclass(frozen=True, eq=False)
class Minimisers:
    """For each part: a lower bound, a point where it is nearly attained, and how much each row's choice matters."""

    low: Float[np.ndarray, "parts"]
    shown: Shaped[np.ndarray, "parts rows A"]  # how many copies of each row show each symbol, whole or on average
    spread: Float[np.ndarray, "parts rows"]


@runtime_checkable
class Region(Protocol):
    """Some sets of inputs, called parts."""

    @property
    def count(self) -> int:
        """The number of parts."""

    def middle(self) -> Float[np.ndarray, "parts rows A"]:
        """A typical point of each part, whole or not: where lines and tangents are first laid."""

    def least(self, directions: Ball) -> Float[np.ndarray, "parts D"]:
        """A certified lower bound of each functional over each part; directions have shape (1 or parts, D, width)."""

    def minimisers(self, directions: Ball) -> Minimisers:
        """The same for one functional per part, with a point of the part where the bound is nearly attained."""


ROUNDS = 6
STEP = 0.6  # of a slope, as a share of its range, in the first round


@dataclass(frozen=True, eq=False)
class Bounds:
    """For each part: a certified lower bound of sign·f, the worst point met, f there, and how much each row moves."""

    low: Float[np.ndarray, "parts"]
    worst: Shaped[np.ndarray, "parts rows A"]  # a point of each part, or an average of points
    output: Ball
    spread: Float[np.ndarray, "parts rows"]
    normal: Float[np.ndarray, "parts K"]  # where the lines lose most: the half-space ⟨normal, outputs⟩ ≥ level
    level: Float[np.ndarray, "parts"]
    slopes: Float[np.ndarray, "parts h"]  # of the units' lines, where the bound was attained
    at: Float[np.ndarray, "parts K"]  # the outputs of the heads where tangents were laid then


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges over each part, found before any functional is minimised, going forward from the heads."""

    region: Region
    tail: Tail
    box: Box | None  # of the rows that enter the first norm
    lines: Curves  # of the units' pre-activations
    later: tuple[Box, ...]  # of the rows that enter each later norm

    @property
    def boxes(self) -> tuple[Box, ...]:
        """The ranges at every norm, in order."""
        return self.later if self.box is None else (self.box, *self.later)


def bound(
    tables: Tables, tail: Tail, region: Region, signs: Float[np.ndarray, "parts"], *, target: float = 0.0
) -> Bounds:
    """Lower bounds of signs·f over all points of each part of a region, improved until all are above a number."""
    at = outputs(tables, region.middle())
    reference = trace(tail, at)
    ranges = ranges_over(tables, tail, region, reference)
    lines = ranges.lines
    low = np.full(region.count, -np.inf)
    below, above = lines.chord(), lines.chord()
    slopes, touched = below, at.mid
    best: Bounds | None = None
    for index in range(ROUNDS):
        minimum, coefficient = _relaxed_minimum(ranges, signs, (below, above), reference)
        rises = (minimum.low > low)[:, None]
        slopes = np.where(rises, np.where(coefficient >= 0, below, above), slopes)
        touched = np.where(rises, at.mid, touched)
        low = np.fmax(low, minimum.low)
        at = outputs(tables, minimum.shown)
        reference = trace(tail, at)
        cut = _cut(ranges, below, above, coefficient, reference)
        found = Bounds(low, minimum.shown, reference.output, minimum.spread, *cut, slopes, touched)
        if best is not None:  # keep the points with the smaller sign·f, and the newest spread
            new = signs * found.output.mid < signs * best.output.mid
            worst = np.where(new[:, None, None], found.worst, best.worst)
            found = replace(found, worst=worst, output=either(new, found.output, best.output))
        best = found
        if (low > target).all() and index > 0:
            break
        below, above = _stepped_slopes(lines, below, above, coefficient, reference.units.mid, STEP / (index + 1))
    assert best is not None  # noqa: S101  (at least one round was made)
    return replace(best, low=low, slopes=slopes, at=touched)


def ranges_over(tables: Tables, tail: Tail, region: Region, reference: Trace | None = None) -> Ranges:
    """Return the ranges of the norms, of the units and of the rows that enter later norms over each part."""
    reference = trace(tail, outputs(tables, region.middle())) if reference is None else reference
    box = None if tail.norm is None else _norm_box(region, tail, tail.norm, reference)
    units = tail.units
    low = high = np.zeros((region.count, 0))
    if units.matrix.mid.shape[1]:  # the range of each pre-activation q (L o + l) + b
        rows = units.matrix.T[None]
        low = sum_below(region.least(rows), units.shift)
        high = -sum_below(region.least(-rows), -units.shift)
        if box is not None:
            low, high = _quotient_below(low, box), -_quotient_below(-high, box)
        low, high = sum_below(low, units.bias), -sum_below(-high, -units.bias)
    lines = curves(units.activation, low, high)
    return Ranges(region, tail, box, lines, _later_boxes(region, tail, lines, box))


def _cut(
    ranges: Ranges, below: np.ndarray, above: np.ndarray, coefficient: np.ndarray, reference: Trace
) -> tuple[Float[np.ndarray, "parts K"], Float[np.ndarray, "parts"]]:
    """The half-space of outputs whose boundary is where the unit that loses most by its line is best cut.

    A unit with a bend is cut at it, any other where it stands, at least a tenth of its range from both ends.
    """
    units, lines, at = ranges.tail.units, ranges.lines, reference.units.mid
    if not at.shape[1]:
        return np.zeros((len(at), units.matrix.mid.shape[0])), np.zeros(len(at))
    lower, upper = lines.below(below), lines.above(above)
    value = curve(units.activation, exact(at)).mid
    positive = coefficient >= 0
    line = np.where(positive, lower.slope * at + lower.offset, upper.slope * at + upper.offset)
    loss = np.abs(coefficient) * np.abs(value - line)
    which = np.nan_to_num(loss, nan=0.0, posinf=0.0).argmax(axis=1)
    index = np.arange(len(at))
    low, high = lines.grid[0][index, which], lines.grid[-1][index, which]
    inner = (high - low) / 10
    place = 0.0 if isinstance(units.activation, ReLU) else at[index, which]
    place = np.clip(place, low + inner, high - inner)
    level = (place - units.bias.mid[which]) * reference.spread.mid - units.shift.mid[which]
    return np.ascontiguousarray(units.matrix.mid[:, which].T), np.asarray(level)


def _stepped_slopes(
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


def _relaxed_minimum(
    ranges: Ranges, signs: np.ndarray, slopes: tuple[np.ndarray, np.ndarray], reference: Trace
) -> tuple[Minimisers, Float[np.ndarray, "parts h"]]:
    """The least value of signs·f with units between lines of these slopes; and the coefficient of each unit.

    The functional goes backward from f to the heads; norms are replaced by lines near the reference.
    """
    tail, lines = ranges.tail, ranges.lines
    weight = exact(signs)[:, None] * tail.weight
    shift = exact(signs) * tail.bias
    later = list(zip(ranges.later, reference.stages, strict=True))
    for stage in reversed(tail.after):
        if isinstance(stage, Norm):
            around, (rows, width) = later.pop()
            # spread · (⟨a, norm(x)⟩ + a₀) ≥ ⟨a′, x⟩ + a₀′
            kappa = (weight * exact(stage.bias)).total() + shift
            coefficient, shift = spread_below(stage, kappa, around, rows.mid, width.mid)
            weight = stage.centred(weight * exact(stage.gain) + coefficient)
        else:
            shift = shift + weight @ exact(stage)
    found = relaxed(tail, lines.below(slopes[0]), lines.above(slopes[1]), lines.size, weight[:, None], shift[:, None])
    least_value = _minimum(ranges, found, reference)
    low = least_value.low
    for around in ranges.later:
        low = _quotient_below(low, around)
    return replace(least_value, low=low), np.asarray(weight.mid @ tail.units.outer.mid.T)


def _minimum(ranges: Ranges, found: Relaxed, reference: Trace) -> Minimisers:
    """The least value of one relaxed functional per part."""
    region, tail, box = ranges.region, ranges.tail, ranges.box
    if tail.norm is not None and box is not None and found.raw is None:
        # q (B(o) + κ · spread), the spread between lines; or q B + κ with q at an end of its range
        kappa, (matrix, centre) = found.rest[:, 0], tail.centred
        coefficient, constant = spread_below(tail.norm, kappa, box, reference.middle.mid, reference.spread.mid)
        least = region.minimisers(found.inner + (coefficient @ matrix.T)[:, None])
        low = _quotient_below(sum_below(least.low, found.inner_shift[:, 0] + coefficient @ centre + constant), box)
        end = sum_below(region.least(found.inner)[:, 0], found.inner_shift[:, 0])
        return replace(least, low=np.fmax(low, sum_below(_quotient_below(end, box), kappa)))
    ends = []
    for functional, shift in _linear(found, box):
        least = region.minimisers(functional)
        ends.append(replace(least, low=sum_below(least.low, shift[:, 0])))
    one, other = ends[0], ends[-1]
    first = one.low <= other.low
    return Minimisers(
        np.where(first, one.low, other.low),
        np.where(first[:, None, None], one.shown, other.shown),
        np.where(first[:, None], one.spread, other.spread),
    )


def _norm_box(region: Region, tail: Tail, norm: Norm, reference: Trace) -> Box:
    """Ranges of the centred rows that enter the first norm, and of their spread.

    The spread is at least the part of the rows along any unit vector, and at most what a quadratic about the middle
    of the box says; both are functionals of the heads.
    """
    matrix, centre = tail.centred
    rows = matrix.T
    low = sum_below(region.least(rows[None]), centre)
    high = -sum_below(region.least(-rows[None]), -centre)
    lowest, highest = _squares(low, high)
    along = reference.middle.mid
    largest = np.abs(along).max(axis=-1, keepdims=True, initial=0.0)
    along = along / np.where(largest > 0, largest, 1.0)  # so that no square of use underflows
    length = np.sqrt((along * along).sum(axis=-1))
    unit = exact(along * ((1 - 2.0**-36) / np.where(length > 0, length, 1.0))[:, None])
    ahead = sum_below(region.least((unit @ rows)[:, None])[:, 0], unit @ centre)
    lowest = np.fmax(lowest, np.nextafter(np.maximum(ahead, 0.0) ** 2, 0.0))
    middle = exact(low / 2 + high / 2)
    ahead = sum_below(region.least(-(middle @ rows)[:, None])[:, 0], -(middle @ centre))
    far = exact(np.nextafter(np.maximum(high - middle.mid, middle.mid - low), np.inf))
    quadratic = ((far * far).total() - (middle * middle).total() + exact(-2.0 * ahead)).high
    return _box_of_squares(norm, low, high, lowest, np.fmin(highest, quadratic))


def _squares(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of Σ x_i² from those of each coordinate."""
    near = exact(np.maximum(0.0, np.maximum(low, -high)))
    far = exact(np.maximum(np.abs(low), np.abs(high)))
    return (near * near).total().low, (far * far).total().high


def _box_of_squares(norm: Norm, low: np.ndarray, high: np.ndarray, lowest: np.ndarray, highest: np.ndarray) -> Box:
    """The box of centred rows between two ends, whose squares sum to a number between two others."""
    d = len(norm.gain)
    # a quotient that underflows may be off by as much as a small ε
    least_square = np.nextafter(np.maximum(lowest, 0.0) / d, 0.0) + norm.eps
    most_square = np.nextafter(highest / d, np.inf) + norm.eps
    return Box(low, high, np.sqrt(least_square) * (1 - 2.0**-50), np.sqrt(most_square) * (1 + 2.0**-50))


def _later_boxes(region: Region, tail: Tail, lines: Curves, box: Box | None) -> tuple[Box, ...]:
    """The ranges of centred rows at every later norm."""
    stages = list(tail.after)
    norms = [stage for stage in stages if isinstance(stage, Norm)]
    if not norms:
        return ()
    chord = lines.chord()
    identity = norms[0].centred(exact(np.eye(len(tail.weight.mid))))
    both = Ball(np.concatenate([identity.mid, -identity.mid])[None], np.concatenate([identity.rad] * 2)[None])
    zeros = exact(np.zeros(both.mid.shape[:2]))
    relaxation = relaxed(tail, lines.below(chord), lines.above(chord), lines.size, both, zeros)
    if box is not None and relaxation.raw is None:
        inner = sum_below(region.least(relaxation.inner), relaxation.inner_shift)
        lows = sum_below(_quotient_below(inner, box), relaxation.rest)
    else:
        lows = np.minimum.reduce([sum_below(region.least(part), some) for part, some in _linear(relaxation, box)])
    d = len(tail.weight.mid)
    low, high = lows[:, :d], -lows[:, d:]
    shift = exact(np.zeros(d))
    boxes: list[Box] = []
    for stage in stages:
        if not isinstance(stage, Norm):
            shift = shift + exact(stage)
            continue
        if boxes:  # rows of a later norm, coordinate by coordinate
            low, high = sum_below(low, shift), -sum_below(-high, -shift)
            if stage.centres:
                mean = [exact(end).total() * inverse(exact(float(d))) for end in (low, high)]
                low, high = (exact(low) - mean[1][:, None]).low, (exact(high) - mean[0][:, None]).high
        else:
            middle = stage.centred(shift)
            low, high = sum_below(low, middle), -sum_below(-high, -middle)
        around = _box_of_squares(stage, low, high, *_squares(low, high))
        boxes.append(around)
        ends = [_quotient_below(low, around), -_quotient_below(-high, around)]
        scaled = [exact(end) * exact(stage.gain) + exact(stage.bias) for end in ends]
        low = np.minimum(scaled[0].low, scaled[1].low)
        high = np.maximum(scaled[0].high, scaled[1].high)
        shift = exact(np.zeros(d))
    return tuple(boxes)


def _linear(found: Relaxed, box: Box | None) -> list[tuple[Ball, Ball]]:
    """Functionals of the heads and constants, the least of which is below: one for each end of 1/spread."""
    if box is None or found.raw is None:
        total = found.inner if found.raw is None else found.raw + found.inner
        return [(total, found.rest + found.inner_shift)]
    ends = [exact(end)[:, None] for end in _inverse_spread_ends(box)]
    return [(found.raw + q[:, None] * found.inner, found.rest + q * found.inner_shift) for q in ends]


def _quotient_below(low: np.ndarray, box: Box) -> np.ndarray:
    """A lower bound divided by a spread somewhere in its range, rounded down."""
    shape = (-1, *(1,) * (low.ndim - 1))
    spread = np.where(low > 0, box.most.reshape(shape), box.least.reshape(shape))
    return np.asarray(np.nextafter(low / spread, -np.inf))


def _inverse_spread_ends(box: Box) -> tuple[np.ndarray, np.ndarray]:
    """The ends of 1/spread, rounded outwards."""
    return np.nextafter(1 / box.most, 0.0), np.nextafter(1 / box.least, np.inf)
