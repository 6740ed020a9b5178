"""Lemma R: how far the rounded numbers and sums of a number format can move what a head computes."""

from dataclasses import dataclass
from math import inf, log1p, tanh
from typing import Any

import numpy as np

from keyhole.compiler.constructions.plan import HeadPlan, Plan
from keyhole.rigorous import UNDERFLOW, gamma

SLACK = 1 + 1e-9  # the bound itself is computed in doubles: a few sums of positive terms
LOST = UNDERFLOW  # and a few products for each unit, which lose 2^−1075 each where they underflow


@dataclass(frozen=True)
class NumberFormat:
    """A binary floating-point format, rounding to nearest, ties to even."""

    name: str
    digits: int  # binary digits of the significand, the hidden one included
    least: int  # exponent of the smallest positive normal number
    most: int  # every finite number is below 2^most

    @property
    def unit(self) -> float:
        """u, the unit roundoff."""
        return 2.0**-self.digits

    @property
    def smallest(self) -> float:
        """e_min, the smallest positive normal number."""
        return 2.0**self.least

    def round(self, numbers: Any) -> np.ndarray:
        """The nearest numbers of the format, held as doubles; what is too large becomes infinite."""
        numbers = np.asarray(numbers, dtype=np.float64)
        if self.digits == 53:
            return np.asarray(numbers)
        _, exponent = np.frexp(numbers)
        last = np.maximum(exponent, self.least + 1) - self.digits
        rounded = np.ldexp(np.rint(np.ldexp(numbers, -last)), last)
        return np.asarray(np.where(np.abs(rounded) >= 2.0**self.most, np.copysign(inf, rounded), rounded))


FLOAT64 = NumberFormat("float64", 53, -1022, 1024)
FLOAT32 = NumberFormat("float32", 24, -126, 128)
BFLOAT16 = NumberFormat("bfloat16", 8, -126, 128)
FLOAT16 = NumberFormat("float16", 11, -14, 16)


def growth(steps: int, unit: float) -> float:
    """g_k = ku/(1 − ku), the relative error of k roundings; infinite where ku ≥ 1 and nothing is known."""
    return gamma(steps, unit=unit, enlarged=1.0)


def normaliser_error(rows: int, accumulation: NumberFormat) -> float:
    """θ: how far the softmax's own sums and division move a head, in units of its largest value.

    Statement  θ = (1 + g_n)(1 + u_d)/(1 − g_{n−1}) − 1 for n rows, where g_{n−1} < 1.
    Proof      The sums give Ẑ = Z(1 + ϑ), |ϑ| ≤ g_{n−1}, and |N̂ − N| ≤ g_n Z V: n − 1 additions and one product
               per term. With k = (1 + d)/(1 + ϑ), |d| ≤ u_d, |kN̂/Z − N/Z| ≤ (|k − 1| + |k| g_n) V.
    Source     Ours; proved above (part of Lemma R).

    >>> round(normaliser_error(101, FLOAT16), 3)
    0.109
    """
    above, below = growth(rows, accumulation.unit), growth(rows - 1, accumulation.unit)
    if below >= 1 or above == inf:
        return inf
    return (1 + above) * (1 + accumulation.unit) / (1 - below) - 1


def moved_output(logit_error: float, theta: float) -> float:
    """Largest move of a head when logits move by ε_S and sums by θ, in units K of its largest value.

    Statement  |Δf| ≤ K(ε_V + 2 tanh(ε_S/2) + θ), K = B_v S_V B_X, or K = P_∞ = Σ_j |w_j| max|v_j|, where each
               value moves by a share ε_V, which `output_error` adds.
    Proof      Attention moves by at most 2 tanh(ε_S/2) in ℓ1 when logits move by ε_S; values by their own error.
    Source     Ours; proved above (Lemma R).
    """
    return 2 * tanh(logit_error / 2) + theta


@dataclass(frozen=True)
class Moves:
    """The errors of one head by rounding: of logits, and per unit of values."""

    logits: float
    values: np.ndarray  # (k,)
    largest: np.ndarray  # (k,)
    theta: float
    lost: float  # by each unit, to underflow


def output_error(plan: Plan, storage: NumberFormat, accumulation: NumberFormat) -> float:
    """Largest move of the output when the plan's tables are stored and evaluated in other formats.

    Statement  With e_j the error of unit j by Lemma R, ŵ the stored read-out and g_k its dot product's error,
               |Δf| ≤ Σ_j |w_j| e_j + |ŵ_j − w_j|(V_j + e_j) + g_k |ŵ_j|(V_j + e_j).
               For one head and a sign read at 0, an error of the normaliser does not count, nor does a logit error
               that all tokens with values share: θ = (1 + g_n)(1 + u_d) − 1, n the tokens whose values are not 0.
    Assumes    Maximal logit subtracted, sums in the order of positions, [CLS] last. exp within one unit in the last
               place, which is two units of roundoff at most, as those of C libraries; numpy's vectorised one is not.
               What underflows is lost: 2n e_min on θ, and 2(n+1) e_min on every unit.
    Proof      ReLU and the read-out are positively homogeneous: dividing every N_j by another positive number keeps
               the sign. A rounded sum of positive terms counts each at most twice, since S itself is a candidate for
               the nearest number to S + e; so absolute losses grow by at most 2.
    Source     Ours (Lemma R).
    """
    unit = accumulation.unit
    homogeneous = len(plan.heads) == 1 and plan.output == "signs"
    moves = [_moves(plan, head, storage, accumulation, homogeneous=homogeneous) for head in plan.heads]
    if any(move.theta == inf for move in moves) or plan.width * unit >= 1:
        return inf
    error = sum(
        (moved_output(move.logits, move.theta) * move.largest + move.values + move.lost for move in moves),
        start=np.full(plan.width, LOST),
    )
    reach = sum(move.largest for move in moves) + error
    reach = reach * (1 + growth(len(moves) - 1, unit))  # heads are added up
    error = error + growth(len(moves) - 1, unit) * reach
    stored = storage.round(plan.readout)
    total = np.abs(plan.readout) @ error + np.abs(stored - plan.readout) @ reach
    total += growth(plan.width, unit) * (np.abs(stored) @ reach)  # of the finished sum: a factor may underflow
    return SLACK * (float(total) + 2 * plan.width * (accumulation.smallest + LOST))


def _moves(
    plan: Plan, head: HeadPlan, storage: NumberFormat, accumulation: NumberFormat, *, homogeneous: bool
) -> Moves:
    """The errors of one head, from the numbers themselves."""
    rows, unit = plan.context + 1, accumulation.unit
    # whether tokens off the relevant positions have values
    read = bool(head.rest_values.any() or head.own_values.any())
    rest = np.ravel(head.rest_logits) if plan.context > plan.function.sparsity else np.zeros(0)
    logits = np.concatenate([np.ravel(head.focus), rest, [0.0]])
    counts = slice(head.focus.size) if homogeneous and not read else slice(None)
    table = np.concatenate([head.values.reshape(-1, plan.width), head.rest_values, head.own_values[None]])
    values = storage.round(table)
    terms = rows if read else min(rows, len(head.focus))
    theta = (1 + growth(terms, unit)) * (1 + unit) - 1 if homogeneous else normaliser_error(rows, accumulation)
    counted = terms if homogeneous else rows
    return Moves(
        # softmax does not see a common shift, so half of the drift's range counts; and exp's own error
        # (the drift is itself computed in doubles, which round by 2^−53 of the range)
        logits=_drift(head, logits, counts, storage, accumulation) / 2
        + 2.0**-52 * float(np.ptp(logits))
        - log1p(-2 * unit),
        values=np.abs(values - table).max(axis=0),
        largest=np.abs(values).max(axis=0),
        theta=theta + 2 * counted * accumulation.smallest,
        lost=2 * (counted + 1) * accumulation.smallest,
    )


def _drift(
    head: HeadPlan, logits: np.ndarray, counts: slice, storage: NumberFormat, accumulation: NumberFormat
) -> float:
    """The range of what rounding moves the logits by, among those that count, for the worst input.

    The largest logit of an input is subtracted. Where logits depend on symbols it may be any number that is not below
    the logits that every input has; logits above it are then not there.
    """
    stored = storage.round(logits)
    least = max(stored[head.focus.size :].max(), storage.round(head.symbol_focus).min(axis=1).max(initial=-inf))
    worst = 0.0
    for top in np.unique(stored[stored >= least]) if head.reads_symbols else [stored.max()]:
        drift = (accumulation.round(stored - top) - (logits - top))[counts]
        drift = drift[stored[counts] <= top]
        worst = max(worst, float(np.ptp(drift)) if len(drift) else 0.0)
    return worst
