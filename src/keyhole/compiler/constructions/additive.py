"""Construction B: token plus position, one head, weights that read only the token.

x_t = p_t + e_(b_t), with orthonormal position codes p_t orthogonal to the token vectors. The head adds up
r = Σ_{i∈I} ω_i b_i + δ, where the leak δ of the other positions lies in [0, ρ]; because ρ < 1 a ramp between k − 1 + ρ
and k tells whether the whole part of r has reached k, exactly.

Source: ours, following Edelman et al. (2022).
"""

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import ClassVar

import numpy as np

from keyhole.attention import AdditiveEmbedding, Embedding, OneHotPositions, Positions
from keyhole.boolean import Levels, SparseFunction, tabulate
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

MAX_BINARY = 10  # relevant positions with binary weights: 2^10 levels
TOKENS = 3  # coordinates e_0, e_1, e_CLS beside the position codes


@dataclass(frozen=True)
class PositionLayout(Layout):
    """x_t = p_t + e_(b_t) with p_t = e_t: a coordinate per position, then the two symbols and [CLS]."""

    names_position: ClassVar[bool] = False
    radius: ClassVar[float] = sqrt(2)

    @property
    def dimension(self) -> int:
        """The coordinates of a position code, and three tokens'."""
        return self.codes.width + TOKENS

    @property
    def codes(self) -> Positions:
        """The position codes p_t."""
        return OneHotPositions(self.context, self.context)

    def embedding(self) -> Embedding:
        """Codes and tokens side by side."""
        tokens = np.eye(TOKENS, self.dimension, self.codes.width)
        return AdditiveEmbedding(tokens[:2], self.codes, tokens[2])

    def diameter(self) -> float | None:
        """Two tokens of unlike symbols and positions, or one of them and [CLS]."""
        return sqrt(3) if self.context == 1 else 2.0

    def key_entries(self, places: Places, head: HeadPlan) -> np.ndarray:
        """The logits themselves, alike for both symbols."""
        return head.symbol_focus[:, 0]

    def key_vector(self, places: Places, head: HeadPlan) -> np.ndarray:
        """Each position's logit at its coordinate."""
        return np.append(self.logits(places, head)[:, 0], np.zeros(TOKENS))

    def value_rows(self, head: HeadPlan) -> np.ndarray:
        """The rows of the two symbols."""
        return head.rest_values

    def value_matrix(self, places: Places, head: HeadPlan) -> np.ndarray:
        """A row for each of the two symbols."""
        matrix = np.zeros((self.dimension, head.rest_values.shape[1]))
        matrix[-TOKENS:-1] = head.rest_values
        return matrix

    def check_head(self, places: Places, head: HeadPlan) -> None:
        """Values read the symbol alone, so they are alike at every position."""
        if not np.array_equal(head.values, np.broadcast_to(head.rest_values, head.values.shape)):
            raise CompileError(
                "The values of a head depend on the position, and tokens of a symbol plus a position are read by their "
                "symbol alone; use pairs of position and symbol."
            )

    def vocabulary(self) -> list[str]:
        """Two symbols and [CLS]."""
        return ["bit 0", "bit 1", "[CLS]"]

    def directions(self) -> list[str]:
        """The coordinates of the position codes, then the tokens."""
        return [*(f"position {j}" for j in range(self.codes.width)), *self.vocabulary()]

    def symbol_columns(self) -> np.ndarray:
        """The symbol's own coordinate."""
        columns = np.zeros((self.dimension, 2))
        columns[-TOKENS:-1] = np.eye(2)
        return columns


class AdditiveConstruction(Construction):
    """Construction B with one coordinate per position: one head whose values read only the symbol."""

    name = "additive"
    targets: ClassVar[tuple[str, ...]] = ("B1", "B2")
    layout: ClassVar[type[Layout]] = PositionLayout
    parameter = "target"
    competes: ClassVar[bool] = True

    def plans(self, function: SparseFunction, context: int, leak: float, output: Output, seed: int = 0) -> list[Plan]:
        """B1 for symmetric functions, B2 for any of few positions."""
        return [additive_plan(function, context, leak, output)]

    def theorem_norms(self, plan: Plan) -> dict[str, TheoremNorm]:
        """‖M‖_F = (Σ(β + log ω_i)²)^½ for one-hot codes; ‖W_V‖ and ‖w‖ by the number n of steps between levels.

        Source     Ours: the exact norms of Construction B, as its statements give them.
        """
        rho, beta, share = (plan.parameters[name] for name in ("rho", "beta", "attention"))
        weights, levels = level_weights(plan.function, plan.output)
        kappa = 1 / (sum(weights.tolist()) + rho)
        score = sqrt(sum((beta + log(weight)) ** 2 for weight in weights.tolist()))
        first = levels[0] != 0
        steps = (plan.width - first) // 2
        gap = 1 - wanted(truth=False, output=plan.output)
        return {
            "score_frobenius": TheoremNorm("=", score),
            "score_21": TheoremNorm("=", score),
            "value_21": TheoremNorm("≤", 2 * steps + sqrt(2) * kappa),
            "value_spectral": TheoremNorm("≤", sqrt(2 * steps + 2 * kappa**2)),
            "readout": TheoremNorm("=", sqrt(first + 2 * steps * gap**2 / (1 - rho) ** 2) / share),
        }


@dataclass(frozen=True)
class Gathering:
    """The logits of a head, and its true leak ratio ρ in units of the focus e^β."""

    layout: Layout
    beta: float
    focus: np.ndarray
    rest: np.ndarray | float
    leak: float
    target: float  # the leak ratio that was asked for


def additive_plan(function: SparseFunction, context: int, rho: float, output: Output) -> Plan:
    """Construction B with one coordinate per position: B1 for symmetric functions, B2 for any of few positions."""
    check_leak(rho)
    weights, _ = level_weights(function, output)
    others = context - function.sparsity
    beta = log(others / rho) if others else 0.0
    leak = rho if others else 0.0
    return ramp_plan(function, output, Gathering(PositionLayout(context), beta, beta + np.log(weights), 0.0, leak, rho))


def level_weights(function: SparseFunction, output: Output) -> tuple[np.ndarray, list[float]]:
    """The whole-number weights ω of the relevant positions, and the value wanted at each level Σ ω_i b_i."""
    s = function.sparsity
    if isinstance(function.rule, Levels) and not any(function.rule.negated):
        return np.ones(s), [wanted(level, output) for level in function.rule.levels]
    if s > MAX_BINARY:
        raise CompileError(
            f"One additive head tells {s} positions apart only by binary weights, which need 2^{s} levels; at most "
            f"{MAX_BINARY} positions are compiled so. Use the pair construction."
        )
    return 2.0 ** np.arange(s), [wanted(truth, output) for truth in tabulate(function.rule).tolist()]


def ramp_plan(function: SparseFunction, output: Output, gathering: Gathering, suffix: str = "") -> Plan:
    """A constant for the lowest level, and two ramps for every step between levels.

    Statement  With a = 1/(Ω + ρ + e^{−β}) and κ = 1/(Ω + ρ) the unit (e_0: −κτ, e_1: 1 − κτ) has pre-activation
               a(r − τ), and [ReLU(unit(k−1+ρ)) − ReLU(unit(k))]/((1−ρ)a) = 1[⌊r⌋ ≥ k].
    Proof      A level n puts r into [n, n + ρ], where the ramp is 0 for n ≤ k − 1 and 1 for n ≥ k.
    """
    weights, levels = level_weights(function, output)
    total, leak = float(weights.sum()), gathering.leak
    name = "B1" if total == function.sparsity else "B2"
    attention = 1 / (total + leak + exp(-gathering.beta))
    share = 1 / (total + leak)
    columns, readout, units = [], [], []
    if levels[0]:
        columns.append((share, share))
        readout.append(levels[0] / attention)
        units.append("constant")
    for k in range(1, len(levels)):
        if step := levels[k] - levels[k - 1]:
            for start, sign in ((k - 1 + leak, 1), (float(k), -1)):
                columns.append((-share * start, 1 - share * start))
                readout.append(sign * step / ((1 - leak) * attention))
                units.append(f"level above {start:g}")
    if not fits(function.sparsity, len(units)):
        raise CompileError(
            f"The function steps between {len(units) // 2} pairs of levels of {function.sparsity} positions, and those "
            "tables are too large; use fewer positions."
        )
    values = np.array(columns).T  # (symbol, unit)
    head = HeadPlan(gathering.focus, np.tile(values, (function.sparsity, 1, 1)), gathering.rest, values)
    parameters = {"beta": gathering.beta, "attention": attention, "rho": leak, "target": gathering.target}
    return Plan(function, gathering.layout, output, name + suffix, (head,), np.array(readout), tuple(units), parameters)
