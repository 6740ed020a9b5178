"""Construction A: one coordinate per (position, symbol), so that irrelevant tokens cannot touch what is read.

x_t = e_(2t + b_t), x_CLS = e_(2T). A logit β on the relevant positions puts attention a = (1 − γ)/s on each, whatever
the input; every unit reads only their 2s coordinates. The output is exact for every γ in (0, 1).

Source: ours, following Edelman et al. (2022); exactness with norms 2^O(s), symmetric poly(s), is stated there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar

import numpy as np

from keyhole.attention import Embedding, OneHotPairs
from keyhole.boolean import Levels, SparseFunction, conjunction_pattern
from keyhole.compiler.constructions.plan import (
    Construction,
    HeadPlan,
    Layout,
    Output,
    Places,
    Plan,
    TheoremNorm,
    check_leak,
    fits,
    wanted,
)
from keyhole.errors import CompileError

MAX_PATTERNS = 12  # relevant positions of a table: 2^12 units
Units = list[tuple[str, np.ndarray, float]]  # name, column of shape (s, 2), coefficient in units of 1/a


@dataclass(frozen=True)
class PairLayout(Layout):
    """x_t = e_(2t + b_t), x_CLS = e_(2T): one coordinate per (position, symbol)."""

    names_position: ClassVar[bool] = True
    radius: ClassVar[float] = 1.0

    @property
    def dimension(self) -> int:
        """2T + 1."""
        return 2 * self.context + 1

    def embedding(self) -> Embedding:
        """Orthonormal pairs, none of them kept."""
        return OneHotPairs(self.context, 2, np.zeros(()))

    def diameter(self) -> float:
        """√2, between any two tokens."""
        return sqrt(2)

    def key_entries(self, places: Places, head: HeadPlan) -> np.ndarray:
        """The logits of the relevant pairs."""
        return np.ravel(head.symbol_focus)

    def key_vector(self, places: Places, head: HeadPlan) -> np.ndarray:
        """The logit of each pair."""
        return np.append(np.ravel(self.logits(places, head)), 0.0)

    def value_rows(self, head: HeadPlan) -> np.ndarray:
        """The rows of the relevant pairs."""
        return head.values.reshape(-1, head.values.shape[-1])

    def value_matrix(self, places: Places, head: HeadPlan) -> np.ndarray:
        """A row for every pair."""
        matrix, at = np.zeros((self.dimension, head.rest_values.shape[1])), np.array(places)
        matrix[0:-1:2], matrix[1:-1:2] = head.rest_values
        matrix[2 * at], matrix[2 * at + 1] = head.values[:, 0], head.values[:, 1]
        return matrix

    def vocabulary(self) -> list[str]:
        """A token for every pair."""
        return [*(f"x{t}={symbol}" for t in range(self.context) for symbol in range(2)), "[CLS]"]

    def directions(self) -> list[str]:
        """A direction for every token."""
        return self.vocabulary()


class PairConstruction(Construction):
    """Construction A: one head that reads pairs of position and symbol; exact for every γ."""

    name = "pair"
    targets = ("A1", "A2", "A3", "A4", "A5")
    layout = PairLayout
    competes = True

    def plans(self, function: SparseFunction, context: int, leak: float, output: Output, seed: int = 0) -> list[Plan]:
        """The targets A1–A5 that fit the function."""
        return pair_plans(function, context, leak, output)

    def theorem_norms(self, plan: Plan) -> dict[str, TheoremNorm]:
        """‖M‖_F = |β|√(2s), ‖Mᵀ‖_{2,1} = 2s|β|; then by target, in units of s/(1−γ) for the read-out.

        Source     Ours: the exact norms of Construction A, as its statements give them.
        """
        s, beta = plan.function.sparsity, abs(plan.parameters["beta"])
        scale = s / (1 - plan.parameters["gamma"])
        size, pattern = sqrt(2 * s) * beta, sqrt((1 + (s - 1) ** 2) / s)  # a pattern: 1/s and −(s−1)/s per position
        false = wanted(truth=False, output=plan.output)
        gap = 1 - false
        figures = {
            "score_frobenius": TheoremNorm("=", size),
            "score_21": TheoremNorm("=", size),
            "score_transposed_21": TheoremNorm("=", 2 * s * beta),
        }
        if plan.target == "A1":  # a unit for every pattern whose value is not 0
            spectral = sqrt(2.0**s) * max(1 / sqrt(2), abs(s - 2) / sqrt(2 * s))
            return figures | {
                "value_21": TheoremNorm("=", plan.width * pattern),
                "value_spectral": TheoremNorm("=" if plan.width == 1 << s else "≤", spectral),
                "readout": TheoremNorm("=", scale * sqrt(plan.width)),
                "path": TheoremNorm("=", scale * plan.width * pattern),
                "path_inf": TheoremNorm("=", plan.width * max(1, s - 1) * scale / s),
            }
        if plan.target in ("A2", "A3"):  # one pattern and a constant, the value where the pattern does not occur
            level = abs(false) if plan.target == "A2" else 1.0
            constants = sqrt(2 / s) if level else 0.0
            return figures | {
                "value_21": TheoremNorm("=", pattern + constants),
                "readout": TheoremNorm("=", scale * sqrt(gap**2 + level**2)),
                "path": TheoremNorm("=", scale * (gap * pattern + level * constants)),
                "path_inf": TheoremNorm("=", scale / s * (gap * max(1, s - 1) + level)),
            }
        if plan.target == "A4":  # two ramps and a constant, columns ≤ √s
            return figures | {
                "value_21": TheoremNorm("≤", 2 * sqrt(s) + sqrt(2 / s)),
                "readout": TheoremNorm("≤", scale * sqrt(2 * gap**2 + 1)),
                "path_inf": TheoremNorm("≤", 4 * s * scale),
            }
        rule = plan.function.rule  # A5: s ramps and a constant; a ±1 parity attains ‖w‖
        parity = isinstance(rule, Levels) and rule.alternating and plan.output == "signs" and s > 1
        return figures | {
            "value_21": TheoremNorm("≤", sqrt(2 / s) + s * sqrt(s)),
            "readout": TheoremNorm("=" if parity else "≤", scale * sqrt(16 * s - 11)),
            "path_inf": TheoremNorm("≤", 4 * s * scale),
        }


def pair_plans(function: SparseFunction, context: int, gamma: float, output: Output) -> list[Plan]:
    """Every way Construction A builds the function, each a plan; at least one, or a refusal.

    Statement  β = log((T+1−s)(1−γ)/(sγ)) gives a = (1−γ)/s on each relevant position.
    Proof      s e^β / (s e^β + T + 1 − s) = 1 − γ: the other T − s tokens and [CLS] have logit 0.
    """
    check_leak(gamma)
    s = function.sparsity
    beta = log((context + 1 - s) * (1 - gamma) / (s * gamma))
    attention = (1 - gamma) / s
    plans = [
        Plan(
            function=function,
            layout=PairLayout(context),
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
            parameters={"beta": beta, "attention": attention, "gamma": gamma},
        )
        for name, every in _targets(function, output)
        for units in ([unit for unit in every if unit[2] != 0],)  # a unit without a coefficient is left out
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
        yield "A2", [("pattern", _pattern(pattern), 1 - false), ("constant", _constant(s), false)]
    if (pattern := conjunction_pattern((~function).rule)) is not None:
        yield "A3", [("constant", _constant(s), 1.0), ("pattern", _pattern(pattern), false - 1)]
    if isinstance(function.rule, Levels):
        levels = [wanted(level, output) for level in function.rule.levels]
        jumps = [j for j in range(1, s + 1) if levels[j] != levels[j - 1]]
        if len(jumps) == 1:
            # 1[S ≥ k] = ReLU(S − (k−1)) − ReLU(S − k), times the jump, and above the level below it
            count, jump = jumps[0], levels[jumps[0]] - levels[jumps[0] - 1]
            ramps = [(count - 1, jump), (count, -jump if count < s else 0.0)]  # at k = s the second never leaves 0
            yield "A4", [("constant", _constant(s), levels[0]), *(_ramp(function.rule, *ramp) for ramp in ramps)]
        # g(S) as a constant and one ramp per bend: the coefficients are g's first and second differences
        bends = [levels[1] - levels[0]] + [levels[j + 1] - 2 * levels[j] + levels[j - 1] for j in range(1, s)]
        if fits(s, 2 + sum(bend != 0 for bend in bends[1:])):
            yield (
                "A5",
                [("constant", _constant(s), levels[0]), *(_ramp(function.rule, *ramp) for ramp in enumerate(bends))],
            )
    if s <= MAX_PATTERNS:
        patterns = [tuple(bool(code >> i & 1) for i in range(s)) for code in range(1 << s)]
        yield (
            "A1",
            [
                (f"pattern {''.join(str(int(bit)) for bit in pattern)}", _pattern(pattern), wanted(truth, output))
                for pattern, truth in zip(patterns, function.table.tolist(), strict=True)
            ],
        )


def _constant(s: int) -> np.ndarray:
    """The pre-activation a, whatever the bits: 1/s everywhere."""
    return np.full((s, 2), 1 / s)


def _ramp(rule: Levels, count: int, coefficient: float) -> tuple[str, np.ndarray, float]:
    """The pre-activation a(S − j) for S true literals: 1 − j/s where the literal is true, −j/s where not."""
    s = len(rule.negated)
    true = np.eye(2, dtype=bool)[1 - np.array(rule.negated, dtype=int)]  # (s, 2): the symbol that makes it true
    return f"count above {count}", np.where(true, 1 - count / s, -count / s), coefficient


def _pattern(bits: tuple[bool, ...]) -> np.ndarray:
    """The pre-activation a(1 − mismatches): 1/s where the bit agrees, −(s−1)/s where it does not."""
    s = len(bits)
    column = np.full((s, 2), -(s - 1) / s)
    column[np.arange(s), np.array(bits, dtype=int)] = 1 / s
    return column
