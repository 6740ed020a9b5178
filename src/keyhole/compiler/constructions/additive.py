"""Construction B: token plus position, one head, weights that read only the token.

x_t = p_t + e_(b_t), with position codes p_t orthogonal to the token vectors: one coordinate per position, or random
signs of few coordinates, which save dimension: O(s² log T) instead of T. The head adds up r = Σ_{i∈I} ω_i b_i + δ,
where the leak δ of the other positions lies in [0, ρ]; because ρ < 1 a ramp between k − 1 + ρ and k tells whether the
whole part of r has reached k, exactly.

Source: ours, following Edelman et al. (2022).
"""

from dataclasses import dataclass
from math import ceil, exp, log, sqrt
from typing import ClassVar

import numpy as np

from keyhole.attention import AdditiveEmbedding, Embedding, OneHotPositions, Positions, SignCodes
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
from keyhole.errors import CheckpointError, CompileError

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


CODE_TRIES = 20
BLOCK_BITS = 2**26  # of codes held at once: 8 MB
CODE_FAILURE = 0.01  # chance that one draw of codes is too coherent
SOLVED = 1e-9  # relative, of logits that linear equations give
MAX_VECTORS = 2048  # up to which the distances of random codes are looked at


@dataclass(frozen=True)
class CodeLayout(PositionLayout):
    """x_t = p_t + e_(b_t) with p_t ∈ {±1/√w}^w at random: w coordinates for all positions together."""

    width: int
    seed: int
    orthogonal: ClassVar[bool] = False

    @classmethod
    def stored(cls, context: int, dimension: int, codes_seed: int | None) -> "CodeLayout":
        """The width is what the tokens leave of the dimension."""
        if codes_seed is None:
            raise CheckpointError("The description speaks of random codes, and of no seed to draw them from.")
        return cls(context, dimension - TOKENS, codes_seed)

    @property
    def codes_seed(self) -> int:
        """The seed of the codes."""
        return self.seed

    @property
    def codes(self) -> SignCodes:
        """The position codes p_t."""
        return SignCodes(self.context, self.width, self.seed)

    def diameter(self) -> float | None:
        """D_X: two tokens of unlike symbols, or one of them and [CLS]; None where there are too many codes."""
        if self.context == 1:
            return sqrt(3)
        if 2 * self.context + 1 > MAX_VECTORS:
            return None
        rows = self.codes.rows(0, self.context, np.zeros(()))
        return sqrt(max(3.0, 4.0 - 2.0 * float((rows @ rows.T).min())))

    def key_entries(self, places: Places, head: HeadPlan) -> np.ndarray:
        """The combination of the relevant positions' codes whose products with them are their logits."""
        codes = self.codes
        relevant = np.concatenate([codes.rows(i, i + 1, np.zeros(())) for i in places])
        products = np.concatenate([codes.products(i, i + 1, places) for i in places])
        return np.asarray(np.linalg.solve(products, head.symbol_focus[:, 0]) @ relevant)

    def key_vector(self, places: Places, head: HeadPlan) -> np.ndarray:
        """The combination of codes, and 0 for the tokens: what other positions get follows from their codes."""
        return np.append(self.key_entries(places, head), np.zeros(TOKENS))

    def check_head(self, places: Places, head: HeadPlan) -> None:
        """The logits off the relevant positions are what the codes make of those on them."""
        super().check_head(places, head)
        products = code_products(self.codes, places)
        combined = np.linalg.solve(products[list(places)], head.focus)
        off = np.delete(products, list(places), axis=0) @ combined
        if not np.allclose(off, head.rest_logits, rtol=SOLVED, atol=SOLVED):
            raise CompileError(
                "The logits off the relevant positions are not those that the random codes give; take them from the "
                "codes, or use one coordinate per position."
            )

    def directions(self) -> list[str]:
        """The coordinates of the codes, none of which means anything by itself, then the tokens."""
        return [*(f"code {j}" for j in range(self.width)), *self.vocabulary()]


class CodeConstruction(AdditiveConstruction):
    """Construction B with random sign codes; taken only by name: it costs what B costs, and saves dimension."""

    name = "codes"
    targets: ClassVar[tuple[str, ...]] = ("B1 with codes", "B2 with codes")
    layout: ClassVar[type[PositionLayout]] = CodeLayout
    rebuild_slack: ClassVar[float] = 1e-7  # the bisection ends at 1e-9, which other libraries may cut elsewhere
    competes: ClassVar[bool] = False

    def plans(self, function: SparseFunction, context: int, leak: float, output: Output, seed: int = 0) -> list[Plan]:
        """The first draw from this seed on whose codes are far enough apart."""
        return [coded_plan(function, context, leak, output, seed)]

    def theorem_norms(self, plan: Plan) -> dict[str, TheoremNorm]:
        """The norms of one-hot codes, but ‖M‖_F is only bounded: the relevant codes' products are at most 1/(3s).

        Source     Ours.
        """
        figures, s = super().theorem_norms(plan), plan.function.sparsity
        score = TheoremNorm("≤", figures["score_frobenius"].value / sqrt(1 - (s - 1) / (3 * s)))
        return figures | {"score_frobenius": score, "score_21": score}

    def rebuild(self, plan: Plan) -> Plan:
        """The plan made anew; one whose tables cannot be of random codes is refused before any are drawn."""
        if not all(isinstance(head.rest_logits, np.ndarray) for head in plan.heads):
            raise CheckpointError("Random codes give every position its own logit, and the tables hold one for all.")
        return super().rebuild(plan)

    def read_parameters(self, plan: Plan) -> dict[str, float]:
        """β, ρ and a of the head, from its own logits."""
        head, beta = plan.heads[0], float(plan.heads[0].focus[0])
        leak = float(np.exp(np.ravel(head.rest_logits) - beta).sum())
        attention = 1 / (float(np.exp(head.focus - beta).sum()) + leak + exp(-beta))
        return {"beta": beta, "attention": attention, "rho": leak, "target": plan.parameters["target"]}


def coded_plan(function: SparseFunction, context: int, rho: float, output: Output, seed: int) -> Plan:
    """Construction B with random sign codes, of dimension O(s² log T).

    Statement  Codes in {±1/√d_p}^{d_p} with d_p ≥ (2/Δ²) log(2sT/δ') have |⟨p_i, p_t⟩| ≤ Δ for every relevant i and
               every other t with probability ≥ 1 − δ'. With sΔ ≤ 1/3 logits off the relevant set are at most half of
               those on it, so that some β has leak ≤ ρ.
    Proof      Hoeffding, and a union bound over sT pairs: no other inner products occur in the head.
    Source     Ours, following Edelman et al. (2022).
    """
    check_leak(rho)
    weights, _ = level_weights(function, output)
    s = function.sparsity
    coherence = 1 / (3 * s)
    width = ceil(2 / coherence**2 * log(2 * s * context / CODE_FAILURE))
    for attempt in range(seed, seed + CODE_TRIES):
        layout = CodeLayout(context, width, attempt)
        products = code_products(layout.codes, function.positions)
        own = products[list(function.positions)]
        off = np.delete(products, list(function.positions), axis=0)
        if max(np.abs(off).max(initial=0.0), np.abs(own - np.eye(s)).max()) <= coherence:
            return ramp_plan(function, output, _smallest_focus(own, off, weights, rho, layout), " with codes")
    raise CompileError(
        f"{CODE_TRIES} draws of codes of width {width} were all more coherent than 1/{3 * s}; try another seed."
    )


def code_products(codes: SignCodes, positions: tuple[int, ...]) -> np.ndarray:
    """⟨p_t, p_i⟩ for every t and every relevant i, a block of codes at a time."""
    step = max(1, BLOCK_BITS // codes.width)
    starts = range(0, codes.tokens, step)
    return np.concatenate([codes.products(t, min(t + step, codes.tokens), positions) for t in starts])


def _smallest_focus(
    own: np.ndarray, off: np.ndarray, weights: np.ndarray, rho: float, layout: "CodeLayout"
) -> Gathering:
    """The smallest β, to the last few digits, whose leak is at most ρ: it falls with β, since off slopes are < 1."""
    slope, start = (np.linalg.solve(own, target) for target in (np.ones(len(weights)), np.log(weights)))

    def leak(beta: float) -> float:
        return float(np.exp(off @ (beta * slope + start) - beta).sum())

    low, high = 0.0, 1.0
    while leak(high) > rho:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if leak(middle) > rho else (low, middle)
    combined = high * slope + start
    return Gathering(layout, high, own @ combined, off @ combined, leak(high), rho)
