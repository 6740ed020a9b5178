"""Lemma R: how far the rounded numbers and sums of a number format can move what a head computes.

A plan run as a machine would: rounded storage, and every sum a running one, rounded at each step.

Verdicts on number formats: proved, refuted by an input, or only tried.

A statement names the format of storage (logits, values, read-out), that of accumulation (every sum and quotient) and
the order of summation, which is here that of positions, as a running sum.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf, log1p, tanh
from typing import Any

import numpy as np

from keyhole.arrays import Bool, Float
from keyhole.boolean import Levels, decide
from keyhole.compiler.constructions.plan import HeadPlan, Plan, every_pattern, half_gap, wanted
from keyhole.decimals import at_most, margin
from keyhole.rigorous import UNDERFLOW, gamma
from keyhole.verdicts import FormatOutcome

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
    """The errors of one head, from the numbers themselves.

    The largest logit of an input is subtracted. Where logits depend on symbols it may be any number that is not below
    the logits that every input has; logits above it are then not there.
    """
    rows, unit = plan.context + 1, accumulation.unit
    # tokens off the relevant positions have values
    read = bool(head.rest_values.any() or head.own_values.any())
    rest = np.ravel(head.rest_logits) if plan.context > plan.function.sparsity else np.zeros(0)
    logits = np.concatenate([np.ravel(head.focus), rest, [0.0]])
    counts = slice(head.focus.size) if homogeneous and not read else slice(None)
    table = np.concatenate([head.values.reshape(-1, plan.width), head.rest_values, head.own_values[None]])
    values = storage.round(table)
    terms = rows if read else min(rows, len(head.focus))
    theta = (1 + growth(terms, unit)) * (1 + unit) - 1 if homogeneous else normaliser_error(rows, accumulation)
    counted = terms if homogeneous else rows
    stored, drift = storage.round(logits), 0.0  # the range of what rounding moves the logits by, for the worst input
    least = max(stored[head.focus.size :].max(), storage.round(head.symbol_focus).min(axis=1).max(initial=-inf))
    for top in np.unique(stored[stored >= least]) if head.reads_symbols else [stored.max()]:
        moved = (accumulation.round(stored - top) - (logits - top))[counts]
        moved = moved[stored[counts] <= top]
        drift = max(drift, float(np.ptp(moved)) if len(moved) else 0.0)
    return Moves(
        # softmax does not see a common shift, so half of the drift's range counts; and exp's own error
        # (the drift is itself computed in doubles, which round by 2^−53 of the range)
        logits=drift / 2 + 2.0**-52 * float(np.ptp(logits)) - log1p(-2 * unit),
        values=np.abs(values - table).max(axis=0),
        largest=np.abs(values).max(axis=0),
        theta=theta + 2 * counted * accumulation.smallest,
        lost=2 * (counted + 1) * accumulation.smallest,
    )


Runs = list[tuple[int, int | None]]  # how many other positions come first, and then which relevant one


def simulate(
    plan: Plan,
    relevant: Bool[np.ndarray, "n s"],
    others: Bool[np.ndarray, "n"],
    storage: NumberFormat,
    accumulation: NumberFormat,
) -> Float[np.ndarray, "n"]:
    """The output on inputs whose relevant bits are given and whose other bits are all alike.

    Logits, values and read-out are rounded to the storage format. Then, rounding each result to the accumulation
    format: the largest logit is subtracted, exp taken, numerators and normaliser added up in the order of positions
    with [CLS] last, divided, heads added, ReLU, and the read-out added up in the order of units.
    """
    keep, symbols = accumulation.round, relevant.astype(int)
    hidden = np.zeros((len(relevant), plan.width))
    for head in plan.heads:
        focus = storage.round(head.symbol_focus)[np.arange(symbols.shape[1]), symbols]  # (n, s): what each input shows
        rest = storage.round(np.ravel(np.asarray(head.rest_logits)))
        fixed = rest if plan.context > plan.function.sparsity else rest[:0]  # one logit may be stored for no position
        top = np.maximum(focus.max(axis=1, initial=0.0), fixed.max(initial=0.0))[:, None]
        focus, rest, cls = (keep(np.exp(keep(logit - top))) for logit in (focus, rest[None], np.zeros((1, 1))))
        table = np.concatenate([storage.round(head.values), np.ones((symbols.shape[1], 2, 1))], axis=2)
        shared = np.concatenate([storage.round(head.rest_values), np.ones((2, 1))], axis=1)[others.astype(int)]
        sums, passed = np.zeros((len(relevant), plan.width + 1)), 0  # numerators and, last, the normaliser
        for before, index in position_runs(plan):
            if not isinstance(head.rest_logits, np.ndarray):
                sums = repeated_sum(sums, keep(rest[:, :1] * shared), before, accumulation)
            else:
                for mass in rest[:, passed : passed + before].T:
                    sums = keep(sums + keep(mass[:, None] * shared))
            passed += before
            if index is not None:
                sums = keep(sums + keep(focus[:, index, None] * table[index][symbols[:, index]]))
        sums = keep(sums + keep(cls * np.append(storage.round(head.own_values), 1.0)))
        hidden = keep(hidden + keep(sums[:, :-1] / sums[:, -1:]))
    hidden = np.maximum(hidden, 0.0)
    output = np.zeros(len(relevant))
    for weight, column in zip(storage.round(plan.readout), hidden.T, strict=True):
        output = keep(output + keep(weight * column))
    return np.asarray(output)


def position_runs(plan: Plan) -> Runs:
    """The order of positions: stretches of others, each up to a relevant position, and the last stretch."""
    places = (-1, *plan.function.positions, plan.context)
    gaps = [later - sooner - 1 for sooner, later in pairwise(places)]
    return [(gap, index if index < plan.function.sparsity else None) for index, gap in enumerate(gaps)]


def repeated_sum(start: np.ndarray, term: np.ndarray, times: int, kind: NumberFormat) -> np.ndarray:
    """`start` after adding `term` to it `times` times, rounding after every addition; entry by entry.

    Statement  Between two powers of two the rounded steps are all equal after the first, so that whole stretches are
               one step.
    Proof      There the spacing U of the format is constant. Unless the term is an odd multiple of U/2 a step does not
               depend on the sum; in that case it leads to an even multiple of U and from there repeats itself.

    >>> from keyhole.compiler.precision.rounding import FLOAT16
    >>> repeated_sum(np.zeros(1), np.ones(1), 10**6, FLOAT16).item(), 2.0**11
    (2048.0, 2048.0)
    """
    total, term = np.broadcast_arrays(np.asarray(start, dtype=np.float64), np.asarray(term, dtype=np.float64))
    total, left = total.copy(), np.full(total.shape, times, dtype=np.int64)
    while (active := (left > 0) & np.isfinite(total)).any():
        moved = np.where(active, kind.round(total + term), total)  # one plain step
        left -= active
        step = np.where(np.isfinite(moved), kind.round(moved + term) - np.where(np.isfinite(moved), moved, 0.0), 0.0)
        left[active & (step == 0)] = 0
        step = np.where(np.isfinite(step), step, 0.0)  # the next step leaves the format's range
        inside = active & (step != 0) & (np.frexp(moved)[1] == np.frexp(total)[1])  # the plain step crossed no power
        # the steps that surely stay between the powers of two around the sum, ends left out
        exponent, size = np.frexp(moved)[1], np.abs(np.where(inside, step, 1.0))
        away = np.sign(moved) == np.sign(step)
        room = np.where(away, np.ldexp(1.0, exponent) - np.abs(moved), np.abs(moved) - np.ldexp(0.5, exponent))
        steps = np.clip(np.floor(np.where(moved == 0, 0.0, room / size)) - 2, 0, 2**62).astype(np.int64)
        jump = np.where(inside, np.minimum(left, steps), 0)
        total = moved + jump * step  # exact: all of it lies on one grid
        left -= jump
    return total


ORDER = "a running sum in the order of positions, [CLS] last"
ASSUMED = (
    "the formats are proved for one way to run the model: the largest score subtracted first, exp within 1 unit in the "
    "last place, sums in the order of positions, nothing flushed to zero. An exported torch or TransformerLens module "
    "computes in another way, and nothing is proved of it in any format"
)
FORMATS: Mapping[str, tuple[NumberFormat, NumberFormat]] = {  # storage, accumulation
    "float64": (FLOAT64, FLOAT64),
    "float32": (FLOAT32, FLOAT32),
    "bfloat16": (BFLOAT16, BFLOAT16),
    "float16": (FLOAT16, FLOAT16),
    "bfloat16 stored, float32 summed": (BFLOAT16, FLOAT32),
    "float16 stored, float32 summed": (FLOAT16, FLOAT32),
}
NUMBERS = 2**17  # of a simulation held at once: inputs times units
INPUTS = 256  # simulated at most
DIGITS = 17  # tell any two doubles apart
ROWS = 4096  # positions simulated one by one, where each has a logit of its own


@dataclass(frozen=True)
class FormatVerdict:
    """The fate of the signs in one pair of formats."""

    storage: str
    accumulation: str
    outcome: FormatOutcome
    bound: float  # what Lemma R sets against the margin (up to one common positive factor); infinite if nothing
    margin: float  # what the bound must stay below
    tried: int  # inputs simulated
    deviation: float | None  # largest |output − wanted| seen among them
    counterexample: str | None  # an input whose answer is wrong

    def __str__(self) -> str:
        if self.outcome == "proved":
            digits = 3  # and more where the two are so near that rounding them apart would turn them round
            while float(at_most(self.bound, digits)) >= float(margin(self.margin, digits)) and digits < DIGITS:
                digits += 1
            return f"signs proved: rounding bound {at_most(self.bound, digits)} < margin {margin(self.margin, digits)}"
        if self.outcome == "refuted":
            return f"refuted: wrong on {self.counterexample}"
        if not self.tried:
            return "neither proved nor tried: each position has its own score, and there are too many to add up"
        deviation = at_most(self.deviation or 0.0)
        return f"not proved: {self.tried} inputs were tried and are right, with an output off by up to {deviation}"


def judge_formats(plan: Plan, margin: float) -> dict[str, FormatVerdict]:
    """Every format's verdict on a plan whose outputs, in exact arithmetic, keep this margin."""
    return {name: judge_format(plan, margin, *formats) for name, formats in FORMATS.items()}


def judge_format(plan: Plan, margin: float, storage: NumberFormat, accumulation: NumberFormat) -> FormatVerdict:
    """Prove by Lemma R where its bound is below the margin; otherwise look for an input that comes out wrong."""
    bound = output_error(plan, storage, accumulation)
    if bound < margin:
        return FormatVerdict(storage.name, accumulation.name, "proved", bound, margin, 0, None, None)
    relevant, others = inputs_to_try(plan)
    if not len(relevant):
        return FormatVerdict(storage.name, accumulation.name, "tried", bound, margin, 0, None, None)
    with np.errstate(invalid="ignore", over="ignore"):  # a lost number is a wrong answer, and is counted as one
        output = simulate(plan, relevant, others, storage, accumulation)
    truth = decide(plan.function.rule, relevant)
    right = np.where(truth, output > 1 - half_gap(plan.output), output < 1 - half_gap(plan.output))
    target = np.where(truth, 1.0, wanted(truth=False, output=plan.output))
    wrong, counterexample = np.flatnonzero(~right), None
    if len(wrong):
        bits = "".join(str(int(bit)) for bit in relevant[wrong[0]])
        counterexample = f"relevant bits {bits} (in the order of positions), all other bits {int(others[wrong[0]])}"
    return FormatVerdict(
        storage.name,
        accumulation.name,
        "refuted" if len(wrong) else "tried",
        bound,
        margin,
        len(relevant),
        float(np.abs(output - target).max()),
        counterexample,
    )


def inputs_to_try(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Inputs worth trying: patterns of the relevant bits, the other bits all 0 or all 1."""
    s = plan.function.sparsity
    if isinstance(plan.heads[0].rest_logits, np.ndarray) and plan.context > ROWS:
        return np.zeros((0, s), dtype=bool), np.zeros(0, dtype=bool)
    limit = max(2, min(INPUTS, NUMBERS // (plan.width + 1)) // 2)
    if 1 << min(s, 30) <= limit:
        patterns = every_pattern(s)
    else:
        rng = np.random.default_rng(0)
        drawn = rng.integers(0, 2, size=(limit, s), dtype=np.uint8).astype(bool)
        counts = np.tri(s + 1, s, -1, dtype=bool)  # levels next to each other are where little separates answers
        literals = np.array(plan.function.rule.negated) if isinstance(plan.function.rule, Levels) else False
        patterns = np.concatenate([(counts ^ literals)[:: max(1, 2 * (s + 1) // limit)], drawn])[:limit]
    return np.concatenate([patterns, patterns]), np.repeat([False, True], len(patterns))
