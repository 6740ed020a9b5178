"""How often a model and a junta can disagree, without drawing anything: tails of sums of independent tokens.

In a cell each head's N_j − tZ is a constant plus a sum of independent terms, so Chernoff bounds the chance that the
ratio N_j/Z passes t. A box of ratios on which the rest of the model has the right sign turns these tails into a rate.
In practice the rate is tiny or useless, rarely between; it says which.
"""

from math import prod

import numpy as np
from jaxtyping import Float

from keyhole.attention.evaluation import token_terms
from keyhole.attention.tabulation import Tabulated
from keyhole.certify.ball import Ball
from keyhole.certify.disagreement import Disagreement
from keyhole.certify.junta import Junta
from keyhole.certify.law import SymbolLaw
from keyhole.certify.tail import Tail, tail_of, trace

WIDEST = 64.0  # standard deviations of a ratio; beyond, the tails are nothing
TRIALS = 2.0 ** np.arange(-3, 4)  # of λ about its Gaussian value; any λ ≥ 0 is right
ROUNDING = 1 + 1e-6  # of exponentials of sums of at most 10^5 logarithms in doubles
SURELY = 1e-300  # what underflows is not nothing


def chernoff_disagreement(model: Tabulated, junta: Junta, law: SymbolLaw) -> Disagreement:
    """A rate that needs no sample.

    Statement  P(disagree) ≤ Σ_cells P(cell) min(1, Σ_j P(N_j/Z ≥ u_j) + P(N_j/Z ≤ l_j)), where the model has the
               junta's sign on the box of all [l_j, u_j]; and P(S ≥ 0) ≤ E e^{λS} for S = N_j − u_j Z and any λ ≥ 0.
    Assumes    Independent symbols.
    Proof      Off the tails the heads' outputs lie in the box; union over coordinates and cells; E e^{λS} is a product.
    Source     Ours; Textbook (Chernoff).
    """
    tail, (table, own) = tail_of(model), token_terms(model)
    free = np.setdiff1d(np.arange(model.tokens), junta.positions)
    rate = 0.0
    for cell, answer in zip(junta.cells(), junta.table.tolist(), strict=True):
        fixed = own + sum(
            (table[place, symbol] for place, symbol in zip(junta.positions, cell, strict=True)), start=0.0
        )
        chance = prod(law.chances[symbol] for symbol in cell)
        rate += chance * min(1.0, _tails(model, tail, table[free], fixed, law, 1.0 if answer else -1.0))
    return Disagreement(min(1.0, rate * ROUNDING), "Chernoff")


def _tails(
    model: Tabulated,
    tail: Tail,
    free: Float[np.ndarray, "t A columns"],
    fixed: Float[np.ndarray, "columns"],
    law: SymbolLaw,
    sign: float,
) -> float:
    """The chance, in one cell, that some coordinate leaves the widest box found with the right sign."""
    chances = np.asarray(law.chances)
    sums, masses, sum0, mass0 = _by_coordinate(model, free, fixed)  # (t, A, K), (t, A, K), (K,), (K,)
    total = mass0 + np.einsum("tak,a->k", masses, chances)
    centre = (sum0 + np.einsum("tak,a->k", sums, chances)) / total
    moves = sums - centre * masses
    moves = moves - np.einsum("tak,a->tk", moves, chances)[:, None, :]
    spread = np.sqrt(np.einsum("tak,a->k", moves**2, chances)) / total
    spread = spread + 1e-12 * (1 + np.abs(centre))  # a coordinate that cannot move has a box all the same
    width = _widest(tail, centre, spread, sign)
    if width is None:
        return 1.0
    found = 0.0
    for side in (1.0, -1.0):
        end = centre + side * width * spread
        found += _chernoff(side * (sums - end * masses), side * (sum0 - end * mass0), chances)
    return found


def _by_coordinate(
    model: Tabulated, free: Float[np.ndarray, "t A columns"], fixed: Float[np.ndarray, "columns"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """N and Z of every coordinate of every head, of the free tokens and of what is fixed."""
    columns, mass_columns, start = [], [], 0
    for head in model.heads:
        width = head.values.shape[2]
        columns += list(range(start, start + width))
        mass_columns += [start + width] * width
        start += width + 1
    return free[:, :, columns], free[:, :, mass_columns], fixed[columns], fixed[mass_columns]


def _widest(tail: Tail, centre: Float[np.ndarray, "K"], spread: Float[np.ndarray, "K"], sign: float) -> float | None:
    """The most standard deviations by which every coordinate may stray with the sign kept, by bisection."""

    def kept(width: float) -> bool:
        with np.errstate(all="ignore"):  # what is not finite keeps nothing
            output = trace(tail, Ball(centre[None, :], width * spread[None, :])).output
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
    mean = constant + np.einsum("tak,a->k", terms, chances)
    centred = terms - np.einsum("tak,a->tk", terms, chances)[:, None, :]
    variance = np.einsum("tak,a->k", centred**2, chances)
    best = np.zeros(len(mean))  # of the exponent: λ = 0 says at most 1
    scale = np.where(mean < 0, -mean / np.maximum(variance, SURELY), 0.0)
    for trial in TRIALS:
        rate = np.minimum(trial * scale, 700 / np.maximum(np.abs(centred).max(axis=(0, 1), initial=0.0), SURELY))
        logs = np.log(np.einsum("tak,a->tk", np.exp(rate * centred), chances)).sum(axis=0)
        best = np.minimum(best, rate * mean + logs)
    return float(np.sum(np.exp(best) + SURELY))
