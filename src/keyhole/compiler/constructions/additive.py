"""Construction B: token plus position, one head, weights that read only the token.

x_t = p_t + e_(b_t), with orthonormal (or random) position codes p_t orthogonal to the token vectors. The head adds up
r = Σ_{i∈I} ω_i b_i + δ, where the leak δ of the other positions lies in [0, ρ]; because ρ < 1 a ramp between k − 1 + ρ
and k tells whether the whole part of r has reached k, exactly.

Source: ours, following Edelman et al. (2022).
"""

from dataclasses import dataclass
from math import ceil, exp, log

import numpy as np

from keyhole.attention.positions import SignCodes
from keyhole.boolean.function import SparseFunction
from keyhole.boolean.rules import Levels, tabulate
from keyhole.boolean.shape import is_symmetric
from keyhole.compiler.constructions.plan import HeadPlan, Output, Plan, fits, wanted
from keyhole.errors import AssumptionError, CompileError

MAX_BINARY = 10  # relevant positions with binary weights: 2^10 levels
TOKENS = 3  # coordinates e_0, e_1, e_CLS beside the position codes
CODE_TRIES = 20
BLOCK_BITS = 2**26  # of codes held at once: 8 MB
CODE_FAILURE = 0.01  # chance that one draw of codes is too coherent


@dataclass(frozen=True)
class Gathering:
    """How much attention a head gives: the logits, and the true leak ratio ρ in units of the focus e^β."""

    beta: float
    focus: np.ndarray
    rest: np.ndarray | float
    leak: float
    target: float  # the leak ratio that was asked for
    dimension: int
    seed: int | None = None


def additive_plan(function: SparseFunction, context: int, rho: float, output: Output) -> Plan:
    """Construction B with one coordinate per position: B1 for symmetric functions, B2 for any of few positions."""
    check_leak(rho, 1.0)
    weights, levels = _levels(function, output)
    s, others = function.sparsity, context - function.sparsity
    beta = log(others / rho) if others else 0.0
    gathering = Gathering(beta, beta + np.log(weights), 0.0, rho if others else 0.0, rho, context + TOKENS)
    return _ramps(
        function, context, output, levels, float(weights.sum()), gathering, "B1" if s == weights.sum() else "B2"
    )


def coded_plan(function: SparseFunction, context: int, rho: float, output: Output, seed: int) -> Plan:
    """Construction B with random sign codes, of dimension O(s² log T).

    Statement  Codes in {±1/√d_p}^{d_p} with d_p ≥ (2/Δ²) log(2sT/δ') have |⟨p_i, p_t⟩| ≤ Δ for every relevant i and
               every other t with probability ≥ 1 − δ'. With sΔ ≤ 1/3 logits off the relevant set are at most half of
               those on it, so that some β has leak ≤ ρ.
    Proof      Hoeffding, and a union bound over sT pairs: no other inner products occur in the head.
    Source     Ours, following Edelman et al. (2022).
    """
    check_leak(rho, 1.0)
    weights, levels = _levels(function, output)
    s = function.sparsity
    coherence = 1 / (3 * s)
    width = ceil(2 / coherence**2 * log(2 * s * context / CODE_FAILURE))
    for attempt in range(seed, seed + CODE_TRIES):
        products = code_products(SignCodes(context, width, attempt), function.positions)
        own = products[list(function.positions)]
        off = np.delete(products, list(function.positions), axis=0)
        if max(np.abs(off).max(initial=0.0), np.abs(own - np.eye(s)).max()) <= coherence:
            gathering = _focus(own, off, weights, rho, width, attempt)
            name = "B1" if s == weights.sum() else "B2"
            return _ramps(function, context, output, levels, float(weights.sum()), gathering, f"{name} with codes")
    raise CompileError(
        f"{CODE_TRIES} draws of codes of width {width} were all more coherent than 1/{3 * s}; try another seed."
    )


def code_products(codes: SignCodes, positions: tuple[int, ...]) -> np.ndarray:
    """⟨p_t, p_i⟩ for every t and every relevant i, a block of codes at a time."""
    step = max(1, BLOCK_BITS // codes.width)
    starts = range(0, codes.tokens, step)
    return np.concatenate([codes.products(t, min(t + step, codes.tokens), positions) for t in starts])


def relevant_products(codes: SignCodes, positions: tuple[int, ...]) -> np.ndarray:
    """⟨p_i, p_j⟩ of the relevant positions alone."""
    return np.concatenate([codes.products(i, i + 1, positions) for i in positions])


def _focus(own: np.ndarray, off: np.ndarray, weights: np.ndarray, rho: float, width: int, seed: int) -> Gathering:
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
    return Gathering(high, own @ combined, off @ combined, leak(high), rho, width + TOKENS, seed)


def _levels(function: SparseFunction, output: Output) -> tuple[np.ndarray, list[float]]:
    """The whole-number weights ω of the relevant positions, and the value wanted at each level Σ ω_i b_i."""
    s = function.sparsity
    if is_symmetric(function) and isinstance(function.rule, Levels):
        return np.ones(s), [wanted(level, output) for level in function.rule.levels]
    if s > MAX_BINARY:
        raise CompileError(
            f"One additive head tells {s} positions apart only by binary weights, which need 2^{s} levels; at most "
            f"{MAX_BINARY} positions are compiled so. Use the pair construction."
        )
    return 2.0 ** np.arange(s), [wanted(truth, output) for truth in tabulate(function.rule).tolist()]


def _ramps(
    function: SparseFunction,
    context: int,
    output: Output,
    levels: list[float],
    total: float,
    gathering: Gathering,
    name: str,
) -> Plan:
    """A constant for the lowest level, and two ramps for every step between levels.

    Statement  With a = 1/(Ω + ρ + e^{−β}) and κ = 1/(Ω + ρ) the unit (e_0: −κτ, e_1: 1 − κτ) has pre-activation
               a(r − τ), and [ReLU(unit(k−1+ρ)) − ReLU(unit(k))]/((1−ρ)a) = 1[⌊r⌋ ≥ k].
    Proof      A level n puts r into [n, n + ρ], where the ramp is 0 for n ≤ k − 1 and 1 for n ≥ k.
    """
    leak = gathering.leak
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
    return Plan(
        function, context, output, name, (head,), np.array(readout), tuple(units), gathering.dimension, parameters,
        gathering.seed,
    )  # fmt: skip


def check_leak(rho: float, limit: float) -> None:
    """A leak ratio must leave room for the ramps."""
    if not 0 < rho < limit:
        raise AssumptionError(f"ρ is the leak ratio, and the ramps need 0 < ρ < {limit:g}; got {rho}.")
