"""How small a linear functional of the heads' outputs can be over all completions of a part: Lemma F.

For a direction w, a head's ⟨w, output⟩ is (n₀ + Σ_t e_t p_t)/(d₀ + Σ_t e_t), with p = ⟨w, v⟩ and masses e > 0, and each
free copy of a row chooses its symbol. N − λZ = Σ e (p − λ) is separable, so its least value G(λ) over all 2^(T−s)
completions costs O(T), and N/Z ≥ λ + min(0, G(λ))/z_min for every λ; Dinkelbach's λ ← N/Z at the minimiser makes
that exact.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from keyhole.certify.ball import GROW, Ball, gamma
from keyhole.certify.tables import MEAN_ERROR, SPECK, Parts, Tables

CHUNK = 2**16  # numbers of one pass held at once: what a cache holds
ITERATIONS = 12  # Dinkelbach's steps; five suffice nearly always, and every iterate is sound


@dataclass(frozen=True, eq=False)
class _Terms:
    """One head in some parts and directions: free masses and values, and what is fixed."""

    mass: Float[np.ndarray, "A rows"]
    value: Float[np.ndarray, "shared D A rows"]
    fixed_mass: Float[np.ndarray, "parts"]
    fixed_sum: Float[np.ndarray, "parts D"]
    reach: Float[np.ndarray, "shared D"]  # no smaller than any |p|
    terms: int  # how many fixed terms there are

    @property
    def least_mass(self) -> Float[np.ndarray, "parts"]:
        """The smallest Z of each part, rounded down."""
        total = self.mass.min(axis=0).sum() + self.fixed_mass
        return np.asarray(total * (1 - gamma(self.mass.shape[1] + 2)))

    @property
    def largest_mass(self) -> Float[np.ndarray, "parts"]:
        """The largest Z of each part, rounded up."""
        total = self.mass.max(axis=0).sum() + self.fixed_mass
        return np.asarray(total * (1 + gamma(self.mass.shape[1] + 2)))


def least(tables: Tables, parts: Parts, directions: Ball) -> Float[np.ndarray, "parts D"]:
    """A lower bound, over every completion of each part, of each functional of the heads' outputs.

    Statement  Σ_h N_h/Z_h ≥ Σ_h t_h + min_b Σ_h (N_h − t_h Z_h)/Zmax_h for any t_h ≤ min N_h/Z_h.
    Assumes    Directions of shape (1 or parts, D, width of all heads).
    Proof      N_h − t_h Z_h ≥ 0 at every b and 0 < Z_h ≤ Zmax_h; the sum on the right is separable over rows.
    Equality   One head, with t the least ratio.
    Source     Ours (Lemma F).
    """
    return _least(tables, parts, directions)[0]


def minimisers(
    tables: Tables, parts: Parts, directions: Ball
) -> tuple[Float[np.ndarray, "parts"], Int[np.ndarray, "parts rows"], Float[np.ndarray, "parts rows"]]:
    """For one functional per part: the bound, the symbol each row shows at it, and how much each row's choice matters.

    The last is the spread of Σ_h (n − t z)/Zmax over symbols, summed over free copies: what branching looks at.
    """
    low, chosen, spread = _least(tables, parts, directions)
    symbols = np.zeros((parts.count, len(parts.free)), dtype=np.int64)
    weight = np.zeros((parts.count, len(parts.free)))
    free = np.flatnonzero(parts.free)
    symbols[:, free], weight[:, free] = chosen[:, 0], spread[:, 0]
    return low[:, 0], symbols, weight


def _least(
    tables: Tables, parts: Parts, directions: Ball
) -> tuple[Float[np.ndarray, "parts D"], Int[np.ndarray, "parts D free"], Float[np.ndarray, "parts D free"]]:
    """The bound of every direction, a chunk at a time; minimisers and spreads of the last chunk."""
    free = np.flatnonzero(parts.free)
    count = directions.mid.shape[1]
    step = max(1, CHUNK // max(1, parts.count * len(free)))
    lows = []
    for start in range(0, count, step):
        some = directions[:, start : start + step]
        low, chosen, spread = _joined(_terms(tables, parts, some, free))
        lows.append(np.nextafter(low - _allowance(tables, some), -np.inf))
    return np.concatenate(lows, axis=1), chosen, spread


def _allowance(tables: Tables, directions: Ball) -> Float[np.ndarray, "shared D"]:
    """How far the functional of the stored, rounded numbers may be from the true one.

    A weighted mean moves by at most the largest change of a value p, which is γ_k |w|·|v| from rounding the product and
    rad(w)·|v| from the direction; and by what the masses' own errors do to it.
    """
    total, start = np.zeros(directions.mid.shape[:2]), 0
    for head in tables.heads:
        some = directions[:, :, start : start + len(head.cls_value)]
        start += len(head.cls_value)
        total += ((gamma(len(head.cls_value)) + MEAN_ERROR) * np.abs(some.mid) + some.rad) @ head.reach + SPECK
    return np.asarray(total * GROW)


def _terms(tables: Tables, parts: Parts, directions: Ball, free: Int[np.ndarray, "free"]) -> list[_Terms]:
    found, start = [], 0
    involved = np.flatnonzero(parts.fixed.any(axis=(0, 2)))
    fixed = parts.fixed[:, involved].reshape(parts.count, -1).astype(np.float64)
    for head in tables.heads:
        w = directions.mid[:, :, start : start + len(head.cls_value)]
        start += len(head.cls_value)
        shown = fixed * head.mass[involved].reshape(-1)
        at_fixed = _products(w, head.values[involved])
        own = np.swapaxes(at_fixed, 2, 3).reshape(*w.shape[:2], -1)
        sums = (own @ shown[:, :, None])[:, :, 0] + head.cls_mass * (w @ head.cls_value)
        found.append(
            _Terms(
                np.ascontiguousarray((head.mass[free] * parts.free[free][:, None]).T),
                _products(w, head.values[free]),
                shown.sum(axis=1) + head.cls_mass,
                sums,
                np.asarray(np.abs(w) @ head.reach) * GROW,
                shown.shape[1],
            )
        )
    return found


def _products(
    w: Float[np.ndarray, "shared D k"], values: Float[np.ndarray, "rows A k"]
) -> Float[np.ndarray, "shared D A rows"]:
    """⟨w, v⟩ for every direction, symbol and row, rows last."""
    rows, symbols, width = values.shape
    columns = np.ascontiguousarray(values.transpose(2, 1, 0)).reshape(width, symbols * rows)
    return np.asarray((w @ columns).reshape(*w.shape[:2], symbols, rows))


def _joined(
    heads: list[_Terms],
) -> tuple[Float[np.ndarray, "parts D"], Int[np.ndarray, "parts D free"], Float[np.ndarray, "parts D free"]]:
    """The bound of a sum over heads, for the numbers as stored; its minimiser, and the spread of each row's terms."""
    bounds = [_one_head(head) for head in heads]
    total = np.sum(bounds, axis=0)
    symbols = range(heads[0].mass.shape[0])
    sums = [np.zeros((*total.shape, heads[0].mass.shape[1])) for _ in symbols]
    rest, size = np.zeros(total.shape), np.zeros(total.shape)
    for head, bound in zip(heads, bounds, strict=True):
        scale = 1 / head.largest_mass[:, None]
        for symbol in symbols:
            sums[symbol] += _scaled(head, bound, symbol, scale)
        rest += (head.fixed_sum - bound * head.fixed_mass[:, None]) * scale
        size += head.reach + np.abs(bound)
    lowest, chosen = _lowest(sums)
    # every |e (p − t)|/Zmax sums to at most |p| + |t|, so its rounding is γ of that
    gain = lowest.sum(axis=-1) + rest - gamma(2 * heads[0].terms + 2 * len(heads) + 8) * 2 * size
    highest = np.maximum.reduce(sums)
    # where nothing is gained, or nothing is known of it, the sum of the heads' own bounds stands
    gain = np.where(gain > 0, gain, 0.0)
    return np.asarray(total + gain - gamma(len(heads) + 2) * (size + gain)), chosen, np.asarray(highest - lowest)


def _scaled(head: _Terms, bound: np.ndarray, symbol: int, scale: np.ndarray) -> np.ndarray:
    terms = head.value[:, :, symbol] - bound[:, :, None]
    terms *= head.mass[symbol]
    terms *= scale[:, :, None]
    return np.asarray(terms)


def _lowest(sums: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The smallest of some arrays, entry by entry, and which it is."""
    lowest = sums[0]
    chosen = np.zeros(lowest.shape, dtype=np.int64)
    for symbol, terms in enumerate(sums[1:], start=1):
        chosen[terms < lowest] = symbol
        lowest = np.minimum(lowest, terms)
    return lowest, chosen


def _one_head(head: _Terms) -> Float[np.ndarray, "parts D"]:
    """A certified lower bound of one head's ratio over all completions, exact up to rounding.

    Statement  N − tZ ≥ G − γ_n (S + (max|p| + |t|) d₀) for G and S = Σ|chosen terms| computed in double precision.
    Proof      e (p − t) rounds relatively, by less than 3u, and x − 3u|x| is increasing, so the least true term is at
               least the least computed one less 3u of it. Summing n terms adds γ_n S; the fixed terms are
               computed as n₀ − t d₀, which rounds by γ_n (max|p| + |t|) d₀ at most.
    """
    ratio = _dinkelbach(head)
    error = gamma(head.terms + head.mass.shape[1] + 8)
    # a step down of 4γ (|p| + |t|) lifts N − tZ by 4γ (|p| + |t|) Z, more than twice its own rounding
    bound = ratio - 4 * error * (head.reach + np.abs(ratio))
    lowest = _scaled(head, bound, 0, np.ones((1, 1)))
    for symbol in range(1, head.mass.shape[0]):
        np.minimum(lowest, _scaled(head, bound, symbol, np.ones((1, 1))), out=lowest)
    fixed = head.fixed_mass[:, None]
    height = lowest.sum(axis=-1) + (head.fixed_sum - bound * fixed)
    size = np.abs(lowest, out=lowest).sum(axis=-1) + (head.reach + np.abs(bound)) * fixed
    certain = height - error * GROW * size
    short = np.where(certain >= 0, 0.0, certain)  # NaN stays NaN, and proves nothing
    return np.asarray(bound + short / head.least_mass[:, None] * GROW)


def _dinkelbach(head: _Terms) -> Float[np.ndarray, "parts D"]:
    """The least ratio of each part and direction, in plain floating point."""
    fixed = head.fixed_mass[:, None]
    middle = np.einsum("sdar,ar->sd", head.value, head.mass) / head.mass.shape[0]
    ratio = (head.fixed_sum + middle) / (fixed + head.mass.sum() / head.mass.shape[0])
    near = 2.0**-50 * head.reach
    for _ in range(ITERATIONS):
        lowest = _scaled(head, ratio, 0, np.ones((1, 1)))
        mass = np.broadcast_to(head.mass[0], lowest.shape).copy()
        for symbol in range(1, head.mass.shape[0]):
            terms = _scaled(head, ratio, symbol, np.ones((1, 1)))
            np.copyto(mass, head.mass[symbol], where=terms < lowest)
            np.minimum(lowest, terms, out=lowest)
        step = (lowest.sum(axis=-1) + head.fixed_sum - ratio * fixed) / (mass.sum(axis=-1) + fixed)
        ratio = ratio + step
        if not (np.abs(step) > near).any():
            break
    return np.asarray(ratio)
