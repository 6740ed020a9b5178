"""The number formats in which a compiled circuit is proved to keep every bit."""

from math import inf, log1p, tanh

import numpy as np

from keyhole.arrays import Float
from keyhole.compiler.circuits.plan import CircuitPlan
from keyhole.compiler.circuits.proof import leaks
from keyhole.compiler.precision.rounding import FORMATS, NumberFormat, growth, normaliser_error

SHOWN = 32  # a slot's value may be off by 1/(32s): the bound assumes it, and then confirms it
SLACK = 1 + 1e-9  # the bound itself is computed in doubles


def proved_formats(plan: CircuitPlan) -> tuple[str, ...]:
    """The pairs of storage and accumulation in which every gate is right on every input."""
    leak = leaks(plan)
    return tuple(name for name, (storage, sums) in FORMATS.items() if keeps_bits(plan, leak, storage, sums))


def keeps_bits(
    plan: CircuitPlan, leak: Float[np.ndarray, "n s"], storage: NumberFormat, accumulation: NumberFormat
) -> bool:
    """Return True if rounding is proved to leave every bit as it is.

    Statement  Let η = 1/(32s) in layers, where a slot shows what its units add up to, and 0 in steps, where it shows a
               symbol. If (1 + η)(2λ + 2 tanh(ε_S/2) + θ) + η, the error of a head, times Σ_h |signs_h|, with the
               rounding of a unit's own sum, stays below the 1/2 between an argument and a bend, then every unit is
               right up to that rounding; and if what its slot shows is then off by less than η (in steps 1), so is
               every gate.
    Assumes    Scores, offsets, B and weights are stored. Sums in any order, the largest score subtracted, exp within
               one unit in the last place, nothing flushed to zero.
    Proof      Lemma R for a head of largest value 1 + η, g_k for sums of k terms, and the proof for exact numbers. Of
               a ramp that is on, both units are in their linear part, and their difference is 1 up to twice a unit's
               own rounding, whatever the heads' errors are.
    Source     Ours (Construction C).
    """
    unit = accumulation.unit
    theta = normaliser_error(plan.tokens, accumulation) + 2 * plan.tokens * accumulation.smallest
    if theta == inf or 8 * unit >= 1:
        return False
    drift = float(np.abs(accumulation.round(storage.round(plan.focus)) - plan.focus).max())
    mixing = 2 * tanh((drift - log1p(-4 * unit)) / 2) + theta
    shown = 1 / (SHOWN * plan.heads) if plan.mode == "layers" else 0.0
    head = (1 + shown) * (2 * leak + mixing) + shown
    errors = (np.abs(plan.signs) * head[plan.owners]).sum(axis=1)
    biases = [plan.offsets + more + far for more in (0.0, 1.0) for far in (0.0, plan.silence)]
    stored = sum(np.abs(storage.round(bias) - bias) for bias in (*biases, plan.silence))
    largest = 2 * np.abs(plan.signs).sum(axis=1) + 2 * plan.silence + np.abs(plan.offsets) + 2  # of all a unit adds up
    own = growth(plan.heads + 3, unit) * largest + stored
    if not ((SLACK * (errors + own) < 0.5).all() and (storage.round(2 * plan.weights) == 2 * plan.weights).all()):
        return False
    step = growth(2 * int(np.bincount(plan.owners).max()) + 3, unit)
    shows = np.bincount(plan.owners, 4 * np.abs(plan.weights) * (own + step * largest)) + step
    return bool((SLACK * shows < (shown if plan.mode == "layers" else 1.0)).all())
