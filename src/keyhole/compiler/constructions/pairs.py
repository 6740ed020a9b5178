"""Construction A: one coordinate per (position, symbol), so that irrelevant tokens cannot touch what is read.

x_t = e_(2t + b_t), x_CLS = e_(2T). A logit β on the relevant positions puts attention a = (1 − γ)/s on each, whatever
the input; every unit reads only their 2s coordinates. The output is exact for every γ in (0, 1).

Source: ours, following Edelman et al. (2022); exactness with norms 2^O(s), symmetric poly(s), is stated there.
"""

from collections.abc import Iterator
from math import log

import numpy as np

from keyhole.boolean.function import SparseFunction, conjunction_pattern
from keyhole.boolean.rules import Levels
from keyhole.compiler.constructions.plan import HeadPlan, Output, Plan, fits, wanted
from keyhole.errors import AssumptionError, CompileError

MAX_PATTERNS = 12  # relevant positions of a table: 2^12 units
Units = list[tuple[str, np.ndarray, float]]  # name, column of shape (s, 2), coefficient in units of 1/a


def pair_plans(function: SparseFunction, context: int, gamma: float, output: Output) -> list[Plan]:
    """Every way Construction A builds the function, each a plan; at least one, or a refusal.

    Statement  β = log((T+1−s)(1−γ)/(sγ)) gives a = (1−γ)/s on each relevant position.
    Proof      s e^β / (s e^β + T + 1 − s) = 1 − γ: the other T − s tokens and [CLS] have logit 0.
    """
    if not 0 < gamma < 1:
        raise AssumptionError(f"γ is the attention mass off the relevant positions, so 0 < γ < 1; got {gamma}.")
    s = function.sparsity
    beta = log((context + 1 - s) * (1 - gamma) / (s * gamma))
    attention = (1 - gamma) / s
    plans = [
        Plan(
            function=function,
            context=context,
            output=output,
            construction=name,
            heads=(
                HeadPlan(
                    focus=np.full(s, beta),
                    values=np.stack([column for _, column, _ in units], axis=-1),
                    rest_logits=0.0,
                    rest_values=np.zeros((2, len(units))),
                ),
            ),
            readout=np.array([coefficient for _, _, coefficient in units]) / attention,
            units=tuple(unit for unit, _, _ in units),
            dimension=2 * context + 1,
            parameters={"beta": beta, "attention": attention, "gamma": gamma},
        )
        for name, units in _targets(function, output)
    ]
    if not plans:
        raise CompileError(
            f"The function counts {s} literals with a unit for every bend, and those tables are too large; use fewer "
            "positions."
            if isinstance(function.rule, Levels)
            else f"The function is a table of {s} positions, which needs 2^{s} units; at most {MAX_PATTERNS} positions "
            "of a table are compiled. Use fewer, or a function that only counts its literals."
        )
    return plans


def _targets(function: SparseFunction, output: Output) -> Iterator[tuple[str, Units]]:
    """The targets A1–A5 that fit the function, each with its units."""
    s, false = function.sparsity, wanted(truth=False, output=output)
    if (pattern := conjunction_pattern(function.rule)) is not None:
        yield "A2", _kept([("pattern", _pattern(pattern), 1 - false), ("constant", _constant(s), false)])
    if (pattern := conjunction_pattern((~function).rule)) is not None:
        yield "A3", _kept([("constant", _constant(s), 1.0), ("pattern", _pattern(pattern), false - 1)])
    if isinstance(function.rule, Levels):
        levels = [wanted(level, output) for level in function.rule.levels]
        jumps = [j for j in range(1, s + 1) if levels[j] != levels[j - 1]]
        if len(jumps) == 1:
            yield "A4", _threshold(function.rule, levels, jumps[0])
        if fits(s, bends(levels)):
            yield "A5", _symmetric(function.rule, levels)
    if s <= MAX_PATTERNS:
        truths = function.table.tolist()
        patterns = [tuple(bool(code >> i & 1) for i in range(s)) for code in range(1 << s)]
        yield (
            "A1",
            _kept(
                [
                    (f"pattern {''.join(str(int(bit)) for bit in pattern)}", _pattern(pattern), wanted(truth, output))
                    for pattern, truth in zip(patterns, truths, strict=True)
                ]
            ),
        )


def _threshold(rule: Levels, levels: list[float], count: int) -> Units:
    """1[S ≥ k] = ReLU(S − (k−1)) − ReLU(S − k), scaled by the jump and moved by the level below it."""
    jump = levels[count] - levels[count - 1]
    return _kept(
        [
            ("constant", _constant(len(rule.negated)), levels[0]),
            (f"count above {count - 1}", _line(rule, count - 1), jump),
            # at k = s the second ramp never leaves 0
            (f"count above {count}", _line(rule, count), -jump if count < len(rule.negated) else 0.0),
        ]
    )


def bends(levels: list[float]) -> int:
    """How many ramps a piecewise linear function through the levels needs, a constant included."""
    turns = sum(
        after - here != here - before for before, here, after in zip(levels, levels[1:], levels[2:], strict=False)
    )
    return 2 + turns


def _symmetric(rule: Levels, levels: list[float]) -> Units:
    """g(S) as a constant and one ramp per bend: the coefficients are g's first and second differences."""
    s = len(rule.negated)
    bends = [levels[1] - levels[0]] + [levels[j + 1] - 2 * levels[j] + levels[j - 1] for j in range(1, s)]
    ramps = [(f"count above {j}", _line(rule, j), bend) for j, bend in enumerate(bends)]
    return _kept([("constant", _constant(s), levels[0]), *ramps])


def _kept(units: Units) -> Units:
    """The units with a coefficient."""
    return [unit for unit in units if unit[2] != 0]


def _constant(s: int) -> np.ndarray:
    """The pre-activation a, whatever the bits: 1/s everywhere."""
    return np.full((s, 2), 1 / s)


def _line(rule: Levels, count: int) -> np.ndarray:
    """The pre-activation a(S − j) for S true literals: 1 − j/s where the literal is true, −j/s where not."""
    s = len(rule.negated)
    column = np.empty((s, 2))
    for i, negated in enumerate(rule.negated):
        column[i, 0 if negated else 1] = 1 - count / s
        column[i, 1 if negated else 0] = -count / s
    return column


def _pattern(bits: tuple[bool, ...]) -> np.ndarray:
    """The pre-activation a(1 − mismatches): 1/s where the bit agrees, −(s−1)/s where it does not."""
    s = len(bits)
    column = np.full((s, 2), -(s - 1) / s)
    column[np.arange(s), np.array(bits, dtype=int)] = 1 / s
    return column
