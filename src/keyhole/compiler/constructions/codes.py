"""Construction B with random codes: token plus position, where positions are random signs of few coordinates.

The head is that of Construction B with one coordinate per position; what random codes save is dimension, O(s² log T)
instead of T.

Source: ours, following Edelman et al. (2022).
"""

from dataclasses import dataclass
from math import ceil, exp, log, sqrt
from typing import ClassVar

import numpy as np

from keyhole.attention import SignCodes
from keyhole.boolean import SparseFunction
from keyhole.compiler.constructions.additive import (
    TOKENS,
    AdditiveConstruction,
    Gathering,
    PositionLayout,
    level_weights,
    ramp_plan,
)
from keyhole.compiler.constructions.plan import HeadPlan, Output, Places, Plan, TheoremNorm, check_leak
from keyhole.errors import CheckpointError, CompileError

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
        made = np.delete(products, list(places), axis=0) @ combined
        if not np.allclose(made, head.rest_logits, rtol=SOLVED, atol=SOLVED):
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
        """As for one-hot codes, but ‖M‖_F is only bounded: the relevant codes' products are at most 1/(3s).

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
