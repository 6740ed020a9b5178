"""How often a model and a junta can disagree, without drawing anything: tails of sums of independent tokens.

In a cell each head's N_j − tZ is a constant plus a sum of independent terms, so Chernoff bounds the chance that the
ratio N_j/Z passes t. A box of ratios on which the rest of the model has the right sign turns these tails into a rate.
In practice the rate is tiny or useless, rarely between; it says which.

Every sum is made larger by what rounding may have taken from it. With u = 2^−53, a mass exp(x), |x| ≤ 745, is off by
1490 u of itself, from its argument, and by what `exp` itself is off, taken as 2^−44 at most; 2^−42 covers both and the
product with a value. No standard promises how exact numpy's `exp` and `log` are; they are known to be far better.
"""

from math import prod

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Evaluator, Tabulated
from keyhole.boolean import Junta, SymbolLaw
from keyhole.prover.proof.after_attention import Tail, tail_of, trace
from keyhole.prover.sample.disagreement import Disagreement
from keyhole.rigorous import GROW, UNDERFLOW_OF_RADIUS, UNIT, Ball, gamma

WIDEST = 64.0  # standard deviations of a ratio; beyond, the tails are nothing
TRIALS = 2.0 ** np.arange(-3, 4)  # of λ about its Gaussian value; any λ ≥ 0 is right
INEXACT = 2.0**-42  # relative, of a mass, of a mass times a value, and of a mean of exponentials up to e^700
FAINT = 2.0**-980  # INEXACT of it is the least normal number: what underflows is off by less than that
ROUNDING = 1 + 1e-6  # of the last exponentials, and of sums over coordinates and cells
SURELY = 1e-300  # what underflows is not nothing


def chernoff_disagreement(evaluator: Evaluator, junta: Junta, law: SymbolLaw) -> Disagreement:
    """A rate that needs no sample.

    Statement  P(disagree) ≤ Σ_cells P(cell) min(1, Σ_j P(N_j/Z ≥ u_j) + P(N_j/Z ≤ l_j)), where the model has the
               junta's sign on the box of all [l_j, u_j]; and P(S ≥ 0) ≤ E e^{λS} for S = N_j − u_j Z and any λ ≥ 0.
    Assumes    Independent symbols; the model is that of its tables, taken as exact; `exp` as said above.
    Proof      Off the tails the heads' outputs lie in the box; union over coordinates and cells; E e^{λS} is a product.
               S is computed with at most T + 20 roundings of numbers no larger than Σ_t max_a |terms|, so that the true
               one is larger by γ_{T+20} of this sum at most, and by INEXACT of it for the terms themselves.
    Source     Ours; Textbook (Chernoff).
    """
    model, (table, own) = evaluator.model, evaluator.terms_by_position
    tail = tail_of(model)
    off = (INEXACT + gamma(model.tokens + 20)) * GROW * _sizes(model, table, own)
    free = np.setdiff1d(np.arange(model.tokens), junta.positions)
    rate = 0.0
    for cell, answer in zip(junta.cells(), junta.table.tolist(), strict=True):
        fixed = own + sum(
            (table[place, symbol] for place, symbol in zip(junta.positions, cell, strict=True)), start=0.0
        )
        chance = prod(law.chances[symbol] for symbol in cell)
        rate += chance * min(1.0, _tails(model, tail, table[free], fixed, off, law, 1.0 if answer else -1.0))
    return Disagreement(min(1.0, rate * ROUNDING + SURELY), "Chernoff")


def _tails(
    model: Tabulated,
    tail: Tail,
    free: Float[np.ndarray, "t A columns"],
    fixed: Float[np.ndarray, "columns"],
    off: Float[np.ndarray, "columns"],
    law: SymbolLaw,
    sign: float,
) -> float:
    """The chance, in one cell, that some coordinate leaves the widest box found with the right sign."""
    chances = np.asarray(law.chances)
    (sums, masses), (sum0, mass0), (sum_off, mass_off) = (
        _by_coordinate(model, part) for part in (free, fixed, off)
    )  # (t, A, K) and twice (K,), each twice
    total = mass0 + np.einsum("tak,a->k", masses, chances)
    centre = (sum0 + np.einsum("tak,a->k", sums, chances)) / total
    moves = sums - centre * masses
    moves = moves - np.einsum("tak,a->tk", moves, chances)[:, None, :]
    spread = np.sqrt(np.einsum("tak,a->k", moves**2, chances)) / total
    # a coordinate that cannot move has a box all the same, and one beyond its rounding
    spread = spread + 16 * (sum_off + np.abs(centre) * mass_off) / total
    width = _widest(tail, centre, spread, sign)
    if width is None:
        return 1.0
    bound = 0.0
    for side in (1.0, -1.0):
        end = centre + side * width * spread
        constant = side * (sum0 - end * mass0) + (sum_off + np.abs(end) * mass_off) * GROW
        bound += _chernoff(side * (sums - end * masses), constant, chances)
    return bound


def _sizes(
    model: Tabulated, table: Float[np.ndarray, "T A columns"], own: Float[np.ndarray, "columns"]
) -> Float[np.ndarray, "columns"]:
    """Σ_t max_a of the absolute terms, [CLS]'s own included: no sum over any input is larger."""
    largest = max(1.0, *(float(np.abs(part).max()) for head in model.heads for part in (head.values, head.cls_value)))
    return np.asarray(np.abs(own) + np.abs(table).max(axis=1).sum(axis=0) + FAINT * largest * (model.tokens + 1))


def _by_coordinate(model: Tabulated, terms: Float[np.ndarray, "*rows columns"]) -> tuple[np.ndarray, np.ndarray]:
    """Terms of N and of Z, for every coordinate of every head."""
    columns, mass_columns, start = [], [], 0
    for head in model.heads:
        width = head.values.shape[2]
        columns += list(range(start, start + width))
        mass_columns += [start + width] * width
        start += width + 1
    return terms[..., columns], terms[..., mass_columns]


def _widest(tail: Tail, centre: Float[np.ndarray, "K"], spread: Float[np.ndarray, "K"], sign: float) -> float | None:
    """The most standard deviations by which every coordinate may stray with the sign kept, by bisection."""

    def kept(width: float) -> bool:
        radius = (
            width * spread + 2 * UNIT * np.abs(centre)
        ) * GROW + UNDERFLOW_OF_RADIUS  # holds the ends as they are rounded
        with np.errstate(all="ignore"):  # what is not finite keeps nothing
            output = trace(tail, Ball(centre[None, :], radius[None, :])).output
            return bool((sign * output.mid - output.rad > 0).all())

    if not kept(1.0):
        return None
    low, high = 1.0, WIDEST
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low


def _chernoff(
    terms: Float[np.ndarray, "t A K"], constant: Float[np.ndarray, "K"], chances: Float[np.ndarray, "A"]
) -> float:
    """Σ_k of the best bound, over some λ, of P(constant + Σ_t terms ≥ 0)."""
    means = np.einsum("tak,a->tk", terms, chances)  # any numbers would do: terms are these and the rest
    mean = constant + means.sum(axis=0)
    centred = terms - means[:, None, :]
    variance = np.einsum("tak,a->k", centred**2, chances)
    best = np.zeros(len(mean))  # of the exponent: λ = 0 says at most 1
    doubt = gamma(len(terms) + 8)
    with np.errstate(over="ignore"):  # a sum that cannot move has any λ
        scale = np.where(mean < 0, -mean / np.maximum(variance, SURELY), 0.0)
        for trial in TRIALS:
            rate = np.minimum(trial * scale, 700 / np.maximum(np.abs(centred).max(axis=(0, 1), initial=0.0), SURELY))
            logs = np.log(np.einsum("tak,a->tk", np.exp(rate * centred), chances))
            growth = logs.sum(axis=0) + doubt * np.abs(logs).sum(axis=0) + INEXACT * len(terms)
            best = np.minimum(best, (1 - doubt) * (rate * mean) + growth)
    return float(np.sum(np.exp(best) + SURELY))
