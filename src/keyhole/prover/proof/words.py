"""The least value of a linear functional of the heads' outputs over all words of a class: Lemma F with a language.

As in `fractional_minimum`, N − λZ is a sum of costs, one for each position and symbol; but here the symbols are not
free: the word must be in a class (a count, the final state of an automaton), and the class knows its least sum. Rows
that the language does not read are free, as before. For one head the value is exact up to rounding, with no relaxation.

Parts are cut further by half-spaces of the heads' outputs, ⟨w, o⟩ ≥ τ. A unit's pre-activation is linear in the outputs
o of all heads, so a cut at a bend of the unit is such a half-space. No new minimisation is needed: a multiple of the
cut's normal is taken off the functional.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.languages import WordClasses
from keyhole.prover.proof.fractional_minimum import CHUNK, ITERATIONS
from keyhole.prover.proof.lower_bound import Minimisers, Region
from keyhole.prover.proof.relaxation import either, sum_below
from keyhole.prover.proof.tables import SPECK, HeadTable, Tables, slices_of
from keyhole.rigorous import GROW, Ball, exact, gamma

SCALES = (0.25, 0.5, 1.0, 2.0)  # of the multiple that makes a functional orthogonal to a cut


@dataclass(frozen=True, eq=False)
class _Costs:
    """One head's terms of N and Z: at each row that is read, at each free row, and the constant ones."""

    lift: Float[np.ndarray, "shared D R A"]  # e p of rows that are read
    mass: Float[np.ndarray, "R A"]
    free_lift: Float[np.ndarray, "shared D F A"]  # the same of free rows, all their copies together
    free_mass: Float[np.ndarray, "F A"]
    constant: Float[np.ndarray, "shared D"]  # of [CLS]
    constant_mass: float
    reach: Float[np.ndarray, "shared D"]  # no |p| is larger
    terms: int  # how many terms any sum here has, at most


@dataclass(frozen=True, eq=False)
class WordRegion:
    """The inputs whose symbols at the positions that a language reads, in order, are a word of a class."""

    tables: Tables
    reads: tuple[int, ...]  # the rows that are read, each of one position, in the order of the word
    words: WordClasses

    @property
    def count(self) -> int:
        """The number of parts."""
        return self.words.count

    @cached_property
    def _free(self) -> np.ndarray:
        return np.setdiff1d(np.arange(len(self.tables.counts)), self.reads)

    def middle(self) -> Float[np.ndarray, "parts rows A"]:
        """The point that costs the least mass of the first head, mixed with every symbol alike."""
        symbols, rows = self.tables.symbols, len(self.tables.counts)
        alike = np.repeat(self.tables.counts[:, None] / symbols, symbols, axis=1)
        shown = np.broadcast_to(alike, (self.count, rows, symbols)).copy()
        if self.reads:
            some = np.eye(symbols)[self.words.chosen(np.zeros((self.count, len(self.reads), symbols)))]
            shown[:, list(self.reads)] = some.mean(axis=1, keepdims=True)  # how often the class shows each symbol
        return shown

    @cached_property
    def _extremes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The least and the largest Z of each head over each part, rounded outwards."""
        extremes = []
        for head in self.tables.heads:
            mass = head.mass[list(self.reads)]
            free = head.mass[self._free] * self.tables.counts[self._free][:, None]
            cost = np.broadcast_to(mass, (self.count, 1, *mass.shape))
            round_off = gamma(len(self.tables.counts) + 8)
            low = self.words.best(cost, mass)[0][:, 0] + free.min(axis=1).sum() + head.cls_mass
            high = -self.words.best(-cost, mass)[0][:, 0] + free.max(axis=1).sum() + head.cls_mass
            extremes.append((low * (1 - round_off), high * (1 + round_off)))
        return extremes

    def least(self, directions: Ball) -> Float[np.ndarray, "parts D"]:
        """A certified lower bound of each functional over each part.

        Statement  Σ_h N_h/Z_h ≥ Σ_h t_h + min_b Σ_h (N_h − t_h Z_h)/Zmax_h for any t_h ≤ min N_h/Z_h.
        Assumes    Directions of shape (1 or parts, D, width of all heads).
        Proof      N_h − t_h Z_h ≥ 0 at every word and 0 < Z_h ≤ Zmax_h; the sum on the right is one cost for each
                   position and symbol.
        Equality   One head, with t the least ratio.
        Source     Ours (Lemma F).
        """
        size = self.count * max(1, len(self.tables.counts)) * self.tables.symbols
        step = max(1, CHUNK // size)
        starts = range(0, directions.mid.shape[1], step)
        return np.concatenate([self._joined(directions[:, start : start + step])[0] for start in starts], axis=1)

    def minimisers(self, directions: Ball) -> Minimisers:
        """For one functional per part: the bound, the word it is least at, and how much each row's choice matters."""
        low, read, free = self._joined(directions)
        shown = np.zeros((self.count, len(self.tables.counts), self.tables.symbols), dtype=np.int64)
        spread = np.zeros(shown.shape[:2])
        words = self.words.chosen(read[:, 0])
        shown[:, list(self.reads)] = np.eye(self.tables.symbols, dtype=np.int64)[words]
        spread[:, list(self.reads)] = np.ptp(read[:, 0], axis=-1)
        if len(self._free):
            counts = self.tables.counts[self._free]
            at = np.eye(self.tables.symbols, dtype=np.int64)[free[:, 0].argmin(axis=-1)]
            shown[:, self._free] = at * counts[None, :, None]
            spread[:, self._free] = np.ptp(free[:, 0], axis=-1)
        return Minimisers(low[:, 0], shown, spread)

    def _joined(self, directions: Ball) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The bound of a sum over heads, and the costs of read and of free rows in Σ_h (N_h − t_h Z_h)/Zmax_h."""
        total = size = allowance = rest = np.zeros((self.count, directions.mid.shape[1]))
        read = free = np.zeros(())
        terms = len(self.tables.counts) + directions.mid.shape[2] + 4 * len(self.tables.heads) + 16
        for head, part, (smallest, largest) in zip(
            self.tables.heads, slices_of(self.tables.heads), self._extremes, strict=True
        ):
            some = directions[:, :, part]
            costs = self._costs(head, some.mid)
            bound = self._one_head(costs, smallest)
            scale = 1 / largest[:, None]
            read = read + _priced(costs.lift, costs.mass, bound) * scale[:, :, None, None]
            free = free + _priced(costs.free_lift, costs.free_mass, bound) * scale[:, :, None, None]
            rest = rest + (costs.constant - bound * costs.constant_mass) * scale
            total = total + bound
            size = size + costs.reach + np.abs(bound)
            allowance = allowance + np.abs(some.mid) @ head.slack + some.rad @ (head.reach + head.slack) + SPECK
        value = self.words.best(read, np.zeros(read.shape[2:]))[0] + free.min(axis=-1).sum(axis=-1) + rest
        # each head's terms over Zmax sum to |p| + |t| at most along any word, and round by γ of that
        gain = value - 16 * gamma(terms) * size
        gain = np.where(gain > 0, gain, 0.0)  # where nothing is gained, the sum of the heads' own bounds stands
        slack = (allowance + gamma(len(self.tables.heads) + 4) * (size + gain)) * GROW
        return np.nextafter(total + gain - slack, -np.inf), read, free

    def _costs(self, head: HeadTable, w: Float[np.ndarray, "shared D k"]) -> _Costs:
        def along(rows: Int[np.ndarray, "some"], copies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            mass = head.mass[rows] * copies[:, None]
            vectors = (mass[:, :, None] * head.values[rows]).reshape(-1, len(head.reach))
            return (w @ vectors.T).reshape(*w.shape[:2], *mass.shape), mass

        reads = np.array(self.reads, dtype=np.int64)
        lift, mass = along(reads, np.ones(len(reads)))
        free_lift, free_mass = along(self._free, self.tables.counts[self._free])
        constant = head.cls_mass * (w @ head.cls_value)
        reach = (np.abs(w) @ head.reach) * GROW
        terms = len(self.tables.counts) + len(head.reach) + 16
        return _Costs(lift, mass, free_lift, free_mass, constant, head.cls_mass, reach, terms)

    def _one_head(self, costs: _Costs, smallest: Float[np.ndarray, "parts"]) -> Float[np.ndarray, "parts D"]:
        """A certified lower bound of one head's ratio over each part, exact up to rounding.

        Statement  min N/Z ≥ λ + min(0, G)/Zmin, for G the least sum of costs at λ + 4γ (max|p| + |λ|), as computed.
        Proof      Moving λ by that much lowers every cost by 4γ (max|p| + |λ|) e, which is more than what computing it
                   rounds; the least sum itself is certified by the class, and what is added to it rounds by γ of terms
                   that are no larger than (max|p| + |λ|) Z together.
        """
        ratio = self._dinkelbach(costs)
        error = gamma(costs.terms)
        bound = ratio - 8 * error * (costs.reach + np.abs(ratio))
        sums, mass = self._least_sum(costs, bound + 4 * error * (costs.reach + np.abs(bound)))
        certain = sums - 2 * error * (costs.reach + np.abs(bound)) * mass * GROW
        short = np.where(certain >= 0, 0.0, certain)  # NaN stays NaN, and proves nothing
        return np.asarray(bound + short / smallest[:, None] * GROW)

    def _least_sum(self, costs: _Costs, ratio: Float[np.ndarray, "parts D"]) -> tuple[np.ndarray, np.ndarray]:
        """The least N − λZ over each part, and Z of a word near it."""
        read = _priced(costs.lift, costs.mass, ratio)
        value, mass = self.words.best(read, costs.mass)
        free = _priced(costs.free_lift, costs.free_mass, ratio)
        at = free.argmin(axis=-1)
        carried = costs.free_mass[np.arange(len(costs.free_mass)), at].sum(axis=-1)
        constant = costs.constant - ratio * costs.constant_mass
        return value + free.min(axis=-1).sum(axis=-1) + constant, mass + carried + costs.constant_mass

    def _dinkelbach(self, costs: _Costs) -> Float[np.ndarray, "parts D"]:
        """The least ratio of each part and direction, in plain floating point."""
        whole = costs.mass.sum() + costs.free_mass.sum()
        lifted = costs.lift.sum(axis=(-1, -2)) + costs.free_lift.sum(axis=(-1, -2))
        start = (costs.constant + lifted / costs.mass.shape[1]) / (costs.constant_mass + whole / costs.mass.shape[1])
        ratio = np.broadcast_to(start, (self.count, start.shape[1]))
        for index in range(ITERATIONS):
            value, mass = self._least_sum(costs, ratio)
            step = value / mass
            # from the first step on every iterate is some word's ratio; one that rises then is rounding
            ratio = ratio + (np.minimum(step, 0.0) if index else step)
            if not (np.abs(step) > 2.0**-48 * costs.reach).any():
                break
        return np.asarray(ratio)


def _priced(
    lift: Float[np.ndarray, "shared D rows A"], mass: Float[np.ndarray, "rows A"], ratio: Float[np.ndarray, "parts D"]
) -> Float[np.ndarray, "parts D rows A"]:
    """Return the terms of N − λZ by row and symbol."""
    return np.asarray(lift - ratio[:, :, None, None] * mass)


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """A region whose parts are each cut by the same number of half-spaces; a cut with w = 0 and τ = 0 cuts nothing."""

    base: Region
    normals: Float[np.ndarray, "parts C K"]
    levels: Float[np.ndarray, "parts C"]

    @property
    def count(self) -> int:
        """The number of parts."""
        return self.base.count

    def middle(self) -> Float[np.ndarray, "parts rows A"]:
        """A typical point of the parts before they were cut."""
        return self.base.middle()

    def least(self, directions: Ball) -> Float[np.ndarray, "parts D"]:
        """A certified lower bound of each functional over each part.

        Statement  ⟨d, o⟩ ≥ min ⟨d − μw, o⟩ + μτ for every μ ≥ 0, where ⟨w, o⟩ ≥ τ.
        Proof      ⟨d, o⟩ = ⟨d − μw, o⟩ + μ⟨w, o⟩.
        Source     Standard (Lagrange).
        """
        low = self.base.least(directions)
        for cut in range(self.normals.shape[1]):
            tilted, more = self._tilted(directions, cut, 1.0)
            low = np.fmax(low, sum_below(self.base.least(tilted), more))
        return np.asarray(low)

    def minimisers(self, directions: Ball) -> Minimisers:
        """The same for one functional per part; each cut in turn takes the multiple that serves best."""
        best, shift = self.base.minimisers(directions), exact(np.zeros((self.count, 1)))
        for cut in range(self.normals.shape[1]):
            kept, moved = directions, shift
            for scale in SCALES:
                tilted, more = self._tilted(directions, cut, scale)
                minimisers = self.base.minimisers(tilted)
                low = sum_below(minimisers.low[:, None], shift + more)[:, 0]
                new = low > best.low
                best = Minimisers(
                    np.where(new, low, best.low),
                    np.where(new[:, None, None], minimisers.shown, best.shown),
                    np.where(new[:, None], minimisers.spread, best.spread),
                )
                kept = either(new[:, None, None], tilted, kept)
                moved = either(new[:, None], shift + more, moved)
            directions, shift = kept, moved
        return best

    def _tilted(self, directions: Ball, cut: int, scale: float) -> tuple[Ball, Ball]:
        """The functional d − μw and the number μτ, with μ = scale · ⟨d, w⟩/⟨w, w⟩ where that is positive, else 0."""
        w = self.normals[:, cut]
        square = (w * w).sum(axis=-1)
        along = (directions.mid @ w[:, :, None])[:, :, 0] / np.where(square > 0, square, 1.0)[:, None]
        multiple = exact(np.where(np.isfinite(along), np.maximum(scale * along, 0.0), 0.0))
        tilted = directions - multiple[:, :, None] * exact(w[:, None, :])
        return tilted, multiple * exact(self.levels[:, cut][:, None])


@dataclass(frozen=True, eq=False)
class CutWords:
    """Words of one class, cut by half-spaces ⟨normal, outputs⟩ ≥ level; `at` has the next one."""

    words: WordClasses
    wanted: bool = True
    bound: float = np.inf  # of the quantity sought, from the part these words were cut off
    cuts: tuple[tuple[Float[np.ndarray, "K"], float], ...] = ()
    at: tuple[Float[np.ndarray, "K"], float] = (np.zeros(0), 0.0)

    def halves(self) -> list["CutWords"]:
        """Return the two sides of the half-space at which the words are cut next."""
        normal, level = self.at
        return [replace(self, cuts=(*self.cuts, (sign * normal, sign * level))) for sign in (1.0, -1.0)]


def region_of(tables: Tables, rows: tuple[int, ...], parts: Sequence[CutWords]) -> Region:
    """Return cut words as one region."""
    base = WordRegion(tables, rows, parts[0].words.joined([part.words for part in parts[1:]]))
    most = max(len(part.cuts) for part in parts)
    if not most:
        return base
    normals = np.zeros((len(parts), most, sum(len(head.reach) for head in tables.heads)))
    levels = np.zeros((len(parts), most))
    for index, part in enumerate(parts):
        for place, (normal, level) in enumerate(part.cuts):
            normals[index, place], levels[index, place] = normal, level
    return HalfSpaces(base, normals, levels)
