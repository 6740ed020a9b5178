"""The tables of the heads as masses and values, rows that many positions share kept once, and parts of the cube.

With masses e = exp((score − shift)/τ) > 0, a head's output at a sequence is the mean of the values it shows, weighted
by their masses. A point is the number of copies of each row that show each symbol. A part of the cube fixes some copies
to symbols, and leaves all other copies free.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int, Shaped
from keyhole.attention import Softmax, Tabulated, is_safe, numbers_of, score_range, thinned
from keyhole.errors import AssumptionError
from keyhole.rigorous import GROW, UNIT, Ball, ball_of, exponentials, gamma

# What the masses' own errors move a weighted mean by, in units of the largest absolute value. A stored mass, times a
# count, is within ρ = 8u of the truth: the middle of its enclosure is within 5u, and two roundings follow. Moved by a
# relative ρ each, masses move their mean m by |Σ e θ (v − m)|/Σ ê ≤ 2ρ/(1 − ρ) max|v|. What underflows is below
# 2u of the mass (`evaluation.safe_width`) and moves the mean by 4u max|v| at most.
MEAN_ERROR = 32 * UNIT

# What underflow moves a head's ratio N/Z by, at most: in the coordinates of its values and, once more, along a
# direction. Tables are used only where Z ≥ (T + 1) 2^−970 on every input (`evaluation.safe_width`). A mass times a
# value loses 2^−1075 at most, and N has T + 1 such products; along a direction of k coordinates, N − λZ has k + 4 more
# for each token. So N and N − λZ, over Z, are off by (k + 4) 2^−105 at most, below SPECK for k < 2^14.
SPECK = 2.0**-90


@dataclass(frozen=True)
class Drift:
    """Bounds of the distance of a head's tables from those that its weights define."""

    score: float  # of every score, in units of the temperature
    value: float  # of every coordinate of every value

    def of_mean(self, reach: Float[np.ndarray, "k"]) -> Float[np.ndarray, "k"]:
        """Return the largest move of a mean of values of at most `reach`, by masses.

        Statement  |mean′ − mean| ≤ ν + ε max|v| for scores moved by ε and values by ν at most.
        Proof      Values moved by ν move a mean by ν. With masses e exp(sθ), |θ| ≤ ε, the mean moves with s at the rate
                   Cov(θ, v), which is at most the product of the standard deviations, ε max|v|.
        Equality   To first order: half the mass at v = max|v| with θ = ε, half at −max|v| with −ε.
        Source     Ours.
        """
        return np.asarray((self.value + self.score * reach) * GROW)


NO_DRIFT = Drift(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class HeadTable:
    """One head: masses and values of every row and symbol, and of [CLS]."""

    mass: Float[np.ndarray, "rows A"]
    values: Float[np.ndarray, "rows A k"]
    cls_mass: float
    cls_value: Float[np.ndarray, "k"]
    drift: Drift = NO_DRIFT

    @property
    def reach(self) -> Float[np.ndarray, "k"]:
        """The largest absolute value of each coordinate, which no weighted mean exceeds."""
        return np.asarray(np.maximum(np.abs(self.values).max(axis=(0, 1)), np.abs(self.cls_value)))

    @property
    def slack(self) -> Float[np.ndarray, "k"]:
        """The largest distance of the mean that the weights define from the exact mean of these doubles."""
        return np.asarray((MEAN_ERROR * self.reach + self.drift.of_mean(self.reach)) * GROW + SPECK)


@dataclass(frozen=True, eq=False)
class Tables:
    """All heads, and how many positions each row serves."""

    tokens: int
    heads: tuple[HeadTable, ...]
    counts: Int[np.ndarray, "rows"]
    places: tuple[tuple[int, ...], ...]  # the positions each row serves

    @property
    def symbols(self) -> int:
        """A, the size of the alphabet."""
        return int(self.heads[0].mass.shape[1])

    def row(self, position: int) -> int:
        """The row that serves a position alone."""
        return self.places.index((position,))


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of the cube with the same free copies; each fixes the others to symbols of its own."""

    free: Int[np.ndarray, "rows"]  # how many copies of each row are free
    fixed: Int[np.ndarray, "parts rows A"]  # how many copies are fixed to each symbol

    @property
    def count(self) -> int:
        """The number of parts."""
        return len(self.fixed)

    def __getitem__(self, index: slice) -> "Parts":
        return Parts(self.free, self.fixed[index])


def slices_of(heads: Sequence[Any]) -> list[slice]:
    """The places of each head's coordinates among those of all heads."""
    ends = accumulate((len(head.reach) for head in heads), initial=0)
    return [slice(start, stop) for start, stop in pairwise(ends)]


def split(tables: Tables, cells: tuple[tuple[int, ...], ...], positions: tuple[int, ...]) -> Parts:
    """One part for each assignment of symbols to the positions."""
    fixed = np.zeros((len(cells), len(tables.counts), tables.symbols), dtype=np.int64)
    free = tables.counts.copy()
    for index, position in enumerate(positions):
        row = tables.row(position)
        free[row] -= 1
        fixed[np.arange(len(cells)), row, [cell[index] for cell in cells]] += 1
    return Parts(free, fixed)


def branched(part: Parts, row: int) -> Parts:
    """One part cut along a free copy of a row: a part for each symbol it may show."""
    symbols = part.fixed.shape[2]
    fixed = np.repeat(part.fixed, symbols, axis=0)
    fixed[np.arange(symbols), row, np.arange(symbols)] += 1
    free = part.free.copy()
    free[row] -= 1
    return Parts(free, fixed)


def points(parts: Parts, chosen: Int[np.ndarray, "parts rows"]) -> Int[np.ndarray, "parts rows A"]:
    """The point of each part in which every free copy of a row shows the chosen symbol."""
    shown = parts.fixed.copy()
    np.put_along_axis(
        shown,
        chosen[:, :, None],
        np.take_along_axis(shown, chosen[:, :, None], axis=2) + parts.free[None, :, None],
        axis=2,
    )
    return shown


def sequence_of(tables: Tables, point: Int[np.ndarray, "rows A"]) -> Int[np.ndarray, "T"]:
    """A sequence that shows the point: equal copies take their symbols in order."""
    sequence = np.zeros(tables.tokens, dtype=np.int64)
    for places, shown in zip(tables.places, point, strict=True):
        sequence[list(places)] = np.repeat(np.arange(tables.symbols), shown)
    return sequence


def outputs(tables: Tables, shown: Shaped[np.ndarray, "n rows A"]) -> Ball:
    """The outputs of all heads side by side at each point.

    Statement  Computed in double precision, a mean of n values by masses is off by (2γ_(n+8) + 32u) max|v|, and what
               the tables themselves are off, at most.
    Proof      Numerator and mass are each off by γ_(n+2) of the sum of their absolute terms, Z max|v| and Z; dividing
               adds u, and the masses themselves 32u max|v|.
    Source     Ours.
    """
    flat = shown.reshape(len(shown), -1).astype(np.float64)
    mids, rads = [], []
    for head in tables.heads:
        mass = head.mass.reshape(-1)
        sums = flat @ (mass[:, None] * head.values.reshape(len(mass), -1)) + head.cls_mass * head.cls_value
        mids.append(sums / (flat @ mass + head.cls_mass)[:, None])
        error = (2 * gamma(flat.shape[1] + 8) * head.reach + head.slack) * GROW
        rads.append(np.broadcast_to(error, mids[-1].shape))
    return Ball(np.concatenate(mids, axis=1), np.concatenate(rads, axis=1))


class MassRangeError(AssumptionError):
    """The masses of a head leave the range of double precision, so that nothing can be proved from its tables."""


def tables_of(model: Tabulated, alone: tuple[int, ...], drifts: Sequence[Drift] | None = None) -> Tables:
    """The tables, with rows of their own for the named positions.

    `drifts` has what is known of each head's tables; None: they are the model. Raises `MassRangeError` where scores
    spread too far.
    """
    for head in model.heads:
        if not isinstance(head.normaliser, Softmax):
            raise AssumptionError(
                f"a head with the normaliser {head.normaliser.name} was to be verified; the range of a head over all "
                "inputs is known for softmax alone"
            )
    if not is_safe(model):
        raise MassRangeError(
            "the scores of a head spread so far that its masses underflow or overflow in double precision"
        )
    model = thinned(model) if model.positions is None else model
    listed = tuple(range(model.tokens)) if model.positions is None else model.positions
    stored = {position: row for row, position in enumerate(listed)}
    singles = sorted({*listed, *alone})
    rest = tuple(sorted(set(range(model.tokens)) - set(singles))) if model.positions is not None else ()
    rows = [stored.get(position, len(listed)) for position in singles] + ([len(listed)] if rest else [])
    places = tuple((position,) for position in singles) + ((rest,) if rest else ())
    drifts = [NO_DRIFT] * len(model.heads) if drifts is None else drifts
    heads = []
    for head, drift in zip(model.heads, drifts, strict=True):
        scores, values, cls = (numbers_of(part) for part in (head.scores, head.values, head.cls_score))
        low, high = score_range(head)
        shift = (float(numbers_of(low)) + float(numbers_of(high))) / 2
        temperature = head.normaliser.temperature if isinstance(head.normaliser, Softmax) else 1.0
        ends = exponentials([*scores.reshape(-1).tolist(), float(cls)], shift=shift, temperature=temperature)
        masses = ball_of(ends).mid
        mass = masses[:-1].reshape(scores.shape)[rows]
        heads.append(HeadTable(mass, values[rows], float(masses[-1]), numbers_of(head.cls_value), drift))
    return Tables(model.tokens, tuple(heads), np.array([len(place) for place in places]), places)
