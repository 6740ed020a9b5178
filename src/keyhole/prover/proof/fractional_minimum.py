"""The least value of a linear functional of the heads' outputs over all completions of a part: Lemma F.

For a direction w, a head's ⟨w, output⟩ is N/Z = (n₀ + Σ_t e_t p_t)/(d₀ + Σ_t e_t), with p = ⟨w, v⟩ and masses e > 0,
and each free copy of a row chooses its symbol. N − λZ = Σ e (p − λ) is separable, so its least value G(λ) over all
completions costs O(T), and N/Z ≥ λ + min(0, G(λ))/z_min for every λ; Dinkelbach's λ ← N/Z at the minimiser makes that
exact.

A row's terms are kept as differences from its symbol of least mass: what is common to all completions is then no more
than the mass of any of them, and nothing cancels.
"""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.prover.proof.lower_bound import Minimisers
from keyhole.prover.proof.tables import SPECK, Parts, Tables, points, slices_of
from keyhole.rigorous import GROW, Ball, gamma

CHUNK = 2**16  # numbers of one pass held at once: what a cache holds
ITERATIONS = 12  # Dinkelbach's steps; four suffice nearly always, and every iterate is sound


@dataclass(frozen=True, eq=False)
class _Sums:
    """Σ e v and Σ e over some terms that do not depend on a choice."""

    vector: Float[np.ndarray, "*parts k"]
    mass: Float[np.ndarray, "*parts"]


@dataclass(frozen=True, eq=False)
class HeadView:
    """One head over some parts: what is fixed, what is common to all choices, and what each choice adds."""

    fixed: _Sums  # of each part, [CLS] included
    least: _Sums  # every free copy at its symbol of least mass
    first: _Sums  # every free copy at symbol 0
    other: Int[np.ndarray, "slots rows"]  # the symbols that are not of least mass
    lift: Float[np.ndarray, "slots k rows"]  # what such a choice adds to Σ e v
    mass: Float[np.ndarray, "slots rows"]  # and to Σ e
    reach: Float[np.ndarray, "k"]
    slack: Float[np.ndarray, "k"]  # how far off the tables make each coordinate of the output
    largest: Float[np.ndarray, "parts"]  # the largest Σ e of each part, rounded up
    terms: int  # how many terms any sum here has, at most


@dataclass(frozen=True, eq=False)
class View:
    """All heads over some parts."""

    heads: tuple[HeadView, ...]
    parts: Parts
    rows: Int[np.ndarray, "rows"]  # the rows with a free copy

    @property
    def count(self) -> int:
        """The number of parts."""
        return self.parts.count

    def middle(self) -> Float[np.ndarray, "parts rows A"]:
        """The average of all completions of each part."""
        return np.asarray(self.parts.fixed + self.parts.free[None, :, None] / self.parts.fixed.shape[2])

    def least(self, directions: Ball) -> Float[np.ndarray, "parts D"]:
        """A lower bound, over every completion of each part, of each functional of the heads' outputs.

        Statement  Σ_h N_h/Z_h ≥ Σ_h t_h + min_b Σ_h (N_h − t_h Z_h)/Zmax_h for any t_h ≤ min N_h/Z_h.
        Assumes    Directions of shape (1 or parts, D, width of all heads).
        Proof      N_h − t_h Z_h ≥ 0 at every b and 0 < Z_h ≤ Zmax_h; the sum on the right is separable over rows.
        Equality   One head, with t the least ratio.
        Source     Ours (Lemma F).
        """
        step = max(1, CHUNK // max(1, self.count * len(self.rows)))
        starts = range(0, directions.mid.shape[1], step)
        return np.concatenate([_joined(self, directions[:, start : start + step])[0] for start in starts], axis=1)

    def minimisers(self, directions: Ball) -> Minimisers:
        """For one functional per part: the bound, the point it is least at, and how much each row's choice matters.

        The last is the spread of Σ_h (n − t z)/Zmax over symbols, summed over free copies: what branching looks at.
        """
        low, sums = _joined(self, directions)
        sums = np.concatenate([np.zeros_like(sums[:1]), sums])[:, :, 0]
        symbols = np.zeros((self.count, len(self.parts.free)), dtype=np.int64)
        weight = np.zeros(symbols.shape)
        symbols[:, self.rows], weight[:, self.rows] = sums.argmin(axis=0), sums.max(axis=0) - sums.min(axis=0)
        return Minimisers(low[:, 0], points(self.parts, symbols), weight)


def view(tables: Tables, parts: Parts) -> View:
    """The heads as they are seen from some parts."""
    rows, index = np.flatnonzero(parts.free), np.arange(np.count_nonzero(parts.free))
    involved = np.flatnonzero(parts.fixed.any(axis=(0, 2)))
    heads = []
    for head in tables.heads:
        shown = parts.fixed[:, involved].reshape(parts.count, -1) * head.mass[involved].reshape(-1)
        vectors = shown @ head.values[involved].reshape(shown.shape[1], len(head.reach))
        fixed = _Sums(vectors + head.cls_mass * head.cls_value, shown.sum(axis=1) + head.cls_mass)
        mass = head.mass[rows] * parts.free[rows][:, None]
        values = mass[:, :, None] * head.values[rows]
        least = mass.argmin(axis=1)
        other = (least + np.arange(1, mass.shape[1])[:, None]) % mass.shape[1]
        heads.append(
            HeadView(
                fixed,
                _Sums(values[index, least].sum(axis=0), np.asarray(mass[index, least].sum())),
                _Sums(values[:, 0].sum(axis=0), np.asarray(mass[:, 0].sum())),
                other,
                np.ascontiguousarray((values[index, other] - values[index, least]).transpose(0, 2, 1)),
                mass[index, other] - mass[index, least],
                head.reach,
                head.slack,
                (fixed.mass + mass.max(axis=1, initial=0.0).sum()) * (1 + gamma(len(rows) + shown.shape[1] + 4)),
                len(rows) + shown.shape[1] + len(head.reach) + 16,
            )
        )
    return View(tuple(heads), parts, rows)


def _joined(
    seen: View, directions: Ball
) -> tuple[Float[np.ndarray, "parts D"], Float[np.ndarray, "slots parts D rows"]]:
    """The bound of a sum over heads; and what each symbol but the first adds to Σ_h (N_h − t_h Z_h)/Zmax_h."""
    shape = (seen.parts.count, directions.mid.shape[1])
    symbols = range(1, seen.heads[0].mass.shape[0] + 1)
    sums = np.zeros((len(symbols), *shape, len(seen.rows)))
    total, rest, size, allowance = (np.zeros(shape) for _ in range(4))
    for head, part in zip(seen.heads, slices_of(seen.heads), strict=True):
        some = directions[:, :, part]
        reach = (np.abs(some.mid) @ head.reach) * GROW
        bound, terms = _one_head(head, some.mid, reach)
        scale = 1 / head.largest[:, None]
        for slot, other in enumerate(head.other):
            for symbol in symbols:
                turn = (other == symbol) - (other == 0).astype(np.float64)
                sums[symbol - 1] += terms[slot] * (scale * turn)[:, None, :]
        first = head.first.mass + head.fixed.mass
        rest += (_along(some.mid, head.first) + _along(some.mid, head.fixed) - bound * first[:, None]) * scale
        total += bound
        size += reach + np.abs(bound)
        allowance += np.abs(some.mid) @ head.slack + some.rad @ (head.reach + head.slack) + SPECK
    # a row's terms over Zmax sum to four times |p| + |t| at most, and round by γ of that; what they were taken at is
    # within 8γ (|p| + |t|) of the bound
    error = 16 * gamma(max(head.terms for head in seen.heads) + 4 * len(seen.heads)) * size
    gain = _lowest(sums).sum(axis=-1) + rest - error
    # where nothing is gained, or nothing is known of it, the sum of the heads' own bounds stands
    gain = np.where(gain > 0, gain, 0.0)
    slack = (allowance + gamma(len(seen.heads) + 4) * (size + gain)) * GROW
    return np.nextafter(total + gain - slack, -np.inf), sums


def _along(w: Float[np.ndarray, "shared D k"], sums: _Sums) -> Float[np.ndarray, "*shape D"]:
    """⟨w, Σ e v⟩, for one sum or one of each part."""
    vector = sums.vector if sums.vector.ndim == 2 else sums.vector[None]
    return np.asarray((w @ vector[:, :, None])[:, :, 0])


def _one_head(
    head: HeadView, w: Float[np.ndarray, "shared D k"], reach: Float[np.ndarray, "shared D"]
) -> tuple[Float[np.ndarray, "parts D"], Float[np.ndarray, "slots parts D rows"]]:
    """A certified lower bound t of one head's ratio, exact up to rounding, and what each choice adds to N − tZ.

    Statement  min N/Z ≥ t − 4γ (max|p| + |t|) once G − γ S ≥ 0, for G, the least N − tZ, and S, the sum of the absolute
               values of its terms, as computed in double precision; γ = γ_n for n terms.
    Proof      A difference e_a (p_a − t) − e_b (p_b − t), e_b ≤ e_a, is computed with an error below
               2γ (max|p| + |t|) e_a: it is exact for a p_a moved by twice that over e_a at most, and a ratio moves no
               more than its values. The sum of the chosen differences and of what is common rounds by γ S.
    """
    lift = np.stack([w @ matrix for matrix in head.lift])
    common = _along(w, head.fixed) + _along(w, head.least)
    mass = (head.fixed.mass + head.least.mass)[:, None]
    ratio = _dinkelbach(head, lift, common, mass, reach)
    error = gamma(head.terms)
    # a step down of 4γ (|p| + |t|) lifts N − tZ by 4γ (|p| + |t|) Z, more than twice its own rounding
    ratio = ratio - 4 * error * (reach + np.abs(ratio))
    terms = _terms(head, lift, ratio)
    chosen = _lowest(terms).sum(axis=-1)
    certain = (common - ratio * mass + chosen) - error * GROW * ((reach + np.abs(ratio)) * mass - chosen)
    short = np.where(certain >= 0, 0.0, certain)  # NaN stays NaN, and proves nothing
    bound = ratio + short / (mass * (1 - error)) * GROW - 4 * error * (reach + np.abs(ratio))
    return np.asarray(bound), terms if (short == 0).all() else _terms(head, lift, bound)


def _lowest(terms: Float[np.ndarray, "slots parts D rows"]) -> Float[np.ndarray, "parts D rows"]:
    """The least that a row can add: nothing, or the least of its terms."""
    lowest = np.asarray(np.minimum(terms[0], 0.0))
    for others in terms[1:]:
        np.minimum(lowest, others, out=lowest)
    return lowest


def _terms(
    head: HeadView, lift: Float[np.ndarray, "slots shared D rows"], ratio: Float[np.ndarray, "parts D"]
) -> Float[np.ndarray, "slots parts D rows"]:
    """Return the terms of N − λZ by choice."""
    terms = ratio[None, :, :, None] * head.mass[:, None, None, :]
    return np.asarray(np.subtract(lift, terms, out=terms))


def _dinkelbach(
    head: HeadView,
    lift: Float[np.ndarray, "slots shared D rows"],
    common: Float[np.ndarray, "parts D"],
    mass: Float[np.ndarray, "parts one"],
    reach: Float[np.ndarray, "shared D"],
) -> Float[np.ndarray, "parts D"]:
    """The least ratio of each part and direction, in plain floating point."""
    share = 1 / (len(head.mass) + 1)  # start from every symbol alike
    ratio = (common + share * lift.sum(axis=(0, -1))) / (mass + share * head.mass.sum())
    near = 2.0**-50 * reach
    for _ in range(ITERATIONS):
        terms = _terms(head, lift, ratio)
        if len(terms) > 1:
            terms[terms > terms.min(axis=0)] = 0.0  # at most one choice per row
        chosen = (terms < 0).astype(np.float64)
        weight = mass + sum(pick @ each for pick, each in zip(chosen, head.mass, strict=True))
        chosen *= terms
        step = (common - ratio * mass + chosen.sum(axis=(0, -1))) / weight
        ratio = ratio + np.minimum(step, 0.0)  # a step up is rounding, where masses lie far apart
        if not (np.abs(step) > near).any():
            break
    return np.asarray(ratio)
