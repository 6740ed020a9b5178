"""A functional of what the units write, made linear in the heads' outputs: every replacement only lowers it.

Units are replaced by lines below or above them, according to the sign of their coefficient. A norm is replaced by
multiplying through with its spread, which is convex: ⟨a, norm(x)⟩ + a₀ = (⟨a′, x⟩ + κ · spread)/spread, and spread is
above each of its tangents and below a quadratic that touches it.
"""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float
from keyhole.prover.proof.after_attention import Norm, Tail
from keyhole.prover.proof.curves import Lines
from keyhole.rigorous import GROW, UNDERFLOW_OF_RADIUS, Ball, exact, inverse

SHRINK = 1 - 2.0**-36  # makes a vector of length one, up to rounding, no longer than one


@dataclass(frozen=True, eq=False)
class Box:
    """Ranges of centred coordinates, and of their spread."""

    low: Float[np.ndarray, "parts d"]
    high: Float[np.ndarray, "parts d"]
    least: Float[np.ndarray, "parts"]
    most: Float[np.ndarray, "parts"]


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A lower bound raw(o) + q (inner(o) + inner₀) + rest of a functional; raw is None where nothing skips the norm."""

    raw: Ball | None  # (parts, D, K)
    inner: Ball  # (parts, D, K)
    inner_shift: Ball  # (parts, D)
    rest: Ball  # (parts, D)


def relaxed(
    tail: Tail, below: Lines, above: Lines, size: Float[np.ndarray, "parts h"], weight: Ball, shift: Ball
) -> Relaxed:
    """⟨a, y⟩ + a₀ for directions a of shape (1 or parts, D, d′), from below.

    Statement  c σ(u) ≥ c (α u + β) with the line below σ where c ≥ 0 and the line above where c < 0.
    Proof      Multiply the line's inequality by c. A coefficient known up to a radius adds radius · max|σ|.
    Source     Standard.
    """
    units = tail.units
    coefficient = weight @ units.outer.T
    positive = coefficient.mid >= 0
    slope = exact(coefficient.mid) * exact(np.where(positive, below.slope[:, None], above.slope[:, None]))
    offset = np.where(positive, below.offset[:, None], above.offset[:, None])
    rest = (exact(coefficient.mid) * exact(offset)).total() + slope @ units.bias + weight @ units.outer_bias + shift
    doubt = (coefficient.rad * size[:, None]).sum(axis=-1) * GROW + UNDERFLOW_OF_RADIUS  # products may underflow
    rest = Ball(rest.mid, np.asarray((rest.rad + doubt) * GROW))
    inner, inner_shift, raw = slope @ units.matrix.T, slope @ units.shift, None
    if tail.skip == "raw":
        raw = weight @ tail.matrix.T
        rest = rest + weight @ tail.shift
    if tail.skip == "normed" and tail.norm is not None:
        matrix, centre = tail.centred
        scaled = weight * exact(tail.norm.gain)
        inner, inner_shift = inner + scaled @ matrix.T, inner_shift + scaled @ centre
        rest = rest + weight @ exact(tail.norm.bias)
    return Relaxed(raw, inner, inner_shift, rest)


def spread_below(
    norm: Norm, kappa: Ball, box: Box, rows: Float[np.ndarray, "parts d"], spread: np.ndarray
) -> tuple[Ball, Ball]:
    """κ · spread(x) from below by ⟨coefficient, centred x⟩ + constant, near the given centred rows.

    Statement  spread ≥ ⟨t, x⟩ + t₀ when d‖t‖² + t₀²/ε ≤ 1, and
               spread ≤ ((2⟨c, x⟩ − ‖c‖² + R)/d + ε + r²)/(2r) for any c, any r > 0 and R ≥ ‖x − c‖².
    Proof      spread is the length of (x/√d, √ε), so Cauchy–Schwarz gives the first. For the second,
               √v ≤ (v + r²)/(2r), and ‖x‖² = 2⟨c, x⟩ − ‖c‖² + ‖x − c‖². A κ known up to a radius moves
               κ · spread by radius · max spread at most.
    Equality   At the given rows, with t = x/(d spread) and t₀ = ε/spread; at x = c with R = 0 and r the spread.
    Source     Ours.
    """
    d, factor = len(norm.gain), exact(kappa.mid)
    t, t0 = rows / (d * spread[:, None]), norm.eps / spread
    # t₀² may underflow where t₀²/ε is near 1; what else underflows here is below 2^−36 by far
    length = np.sqrt(d * (t * t).sum(axis=-1) + t0 * (t0 / norm.eps))
    scale = SHRINK / np.maximum(1.0, length)
    tangent = factor[:, None] * exact(t * scale[:, None])
    tangent_constant = factor * exact(t0 * scale)
    centre = box.low / 2 + box.high / 2
    far = exact(np.nextafter(np.maximum(box.high - centre, centre - box.low), np.inf))
    middle, radius = exact(centre), exact(spread)
    share = inverse(exact(float(d)))
    scaled = factor * inverse(radius)
    quadratic = (scaled * share)[:, None] * middle
    known = ((far * far).total() - (middle * middle).total()) * share + exact(norm.eps) + radius * radius
    quadratic_constant = scaled * exact(0.5) * known
    up = kappa.mid >= 0
    constant = either(up, tangent_constant, quadratic_constant)
    doubt = np.asarray((constant.rad + kappa.rad * box.most) * GROW + UNDERFLOW_OF_RADIUS)
    return either(up[:, None], tangent, quadratic), Ball(constant.mid, doubt)


def either(first: np.ndarray, one: Ball, other: Ball) -> Ball:
    """Return the entries of one where a condition holds, else those of the other."""
    return Ball(np.where(first, one.mid, other.mid), np.where(first, one.rad, other.rad))


def sum_below(low: np.ndarray, constant: Ball) -> np.ndarray:
    """A lower bound with a constant added, rounded down."""
    return np.asarray(np.nextafter(low + constant.low, -np.inf))
