"""The least path norm of a function, over layers whose scores do not read the symbol: a linear programme, and its dual.

Where scores ignore symbols (R = 0) a unit of a ReLU layer sees, on the relevant bits, c + Σ_i e_i χ_i with χ_i = ±1
and |c| + Σ|e_i| at most its share of P_∞. So the least P_∞ is a linear programme over such units, solved by column
generation. A solution of its dual is a lower bound once no unit of the class is worth more than its price. The class
has finitely many units that need to be priced, and all of them are.

The construction has the head of Construction A, with equal attention on the relevant positions, and these units.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations, product
from math import lcm, log
from typing import Any, ClassVar, Literal

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.boolean import SparseFunction
from keyhole.compiler.constructions.pairs import PairLayout
from keyhole.compiler.constructions.plan import Construction, HeadPlan, Layout, Output, Plan, TheoremNorm, check_leak
from keyhole.errors import CompileError

MAX_BITS = 4  # relevant positions: 33,649 systems of five equations; five bits need 3.8 million of six
ADDED = 64  # columns that one round of pricing adds
DENOMINATOR = 10_000  # of the fractions that computed prices are taken for
WORTH = 1e-9  # by which a column must beat its price to be added
Attention = Literal["equal", "any"]  # on the relevant positions: one head's, alike on each; or any heads'
Demand = Literal["signs", "bits", "margin"]  # exactly ±1; exactly 1 and 0; the right sign with at least 1


@dataclass(frozen=True, eq=False)
class UnitClass:
    """The units that need to be priced, in whole numbers: unit j is ReLU((n_j0 + Σ_i n_ji χ_i)/L)."""

    numerators: Int[np.ndarray, "n s1"]
    outputs: Int[np.ndarray, "n patterns"]  # times L; pattern b has bit i of b at position i
    denominator: int  # L


@dataclass(frozen=True, eq=False)
class LeastNorm:
    """A representation of least norm, and the lower bound that its dual proves for the class."""

    norm: float  # Σ|w_j| of the units below, as computed; in units of 1/(1 − γ) for one head with equal attention
    lower: float  # no layer of the class has less; rounded down
    units: Float[np.ndarray, "k s1"]  # c, e_1 … e_s of each unit
    weights: Float[np.ndarray, "k"]
    priced: int  # units of the class, all of which were priced
    rounds: int  # of column generation


def least_norm(truths: np.ndarray, attention: Attention = "equal", demand: Demand = "signs") -> LeastNorm:
    """The least P_∞ of a function of s ≤ 4 bits over layers with R = 0.

    Statement  Every one-layer softmax model of ReLU units with R = 0 and without a residual path that computes the
               function, with any number of heads and units and any context, has P_∞ ≥ `lower` of attention "any". One
               head that attends alike to the relevant positions, and reads them alone, with units without constants,
               has P_∞ ≥ `lower`/(1 − γ) of attention "equal", and P_∞ = `norm`/(1 − γ) is reached. A unit's constant
               c_j costs |c_j| and not |c_j|/(1 − γ), so that units with constants can need less.
    Proof      Fix the irrelevant bits. A unit that reads h heads sees c + Σ e_i χ_i, and |c| + Σ|e_i| ≤ V, its share of
               P_∞: each token's value is m + dχ with |m| + |d| ≤ V_h, and a head's attention adds up to 1. For one head
               with equal attention on s positions, |e_i| ≤ 1/s besides. So the function is Σ w_j g_j with Σ|w_j| ≤ P_∞
               and g_j in the class; for any y with |⟨y, g⟩| ≤ μ on the class, ⟨y, f⟩ ≤ μ Σ|w_j|. Which g were priced:
               `unit_class`. Where a margin is asked, y f ≥ 0 and ⟨y, f⟩ ≤ ⟨y, output⟩.
    Source     Ours; linear programming by HiGHS, the bound itself in exact fractions.

    >>> least = least_norm(np.array([0, 1, 1, 0], dtype=bool))
    >>> round(least.norm, 9), round(least.lower, 9)
    (4.0, 4.0)
    """
    sparsity = len(truths).bit_length() - 1
    if not 1 <= sparsity <= MAX_BITS or len(truths) != 1 << sparsity:
        raise CompileError(
            f"The least path norm was asked for a function with a table of {len(truths)} entries; it is computed for "
            f"functions of 1 to {MAX_BITS} bits (2 to {1 << MAX_BITS} entries). Use fewer positions."
        )
    known = unit_class(sparsity, attention)
    columns = known.outputs / known.denominator
    target = np.where(truths, 1.0, 0.0 if demand == "bits" else -1.0)
    chosen = np.flatnonzero((known.outputs > 0).sum(axis=1) == 1)  # a unit for each pattern: any function can be made
    rounds, better = 0, chosen[:0]
    while not rounds or len(better):
        chosen, rounds = np.append(chosen, better), rounds + 1
        weights, dual = _solve(columns[chosen], target, demand)
        worth = np.abs(columns @ dual)
        worth[chosen] = 0.0
        better = np.argsort(-worth, kind="stable")[:ADDED]
        better = better[worth[better] > 1 + WORTH]
    used = np.flatnonzero(np.abs(weights) > WORTH)
    units, weights = chosen[used], weights[used]
    if demand != "margin":  # solved for again on the columns in use, to the last digits
        weights = np.linalg.lstsq(columns[units].T, target, rcond=None)[0]
    return LeastNorm(
        norm=float(np.abs(weights).sum()),
        lower=_proved(known, target, dual, demand),
        units=known.numerators[units] / known.denominator,
        weights=weights,
        priced=len(columns),
        rounds=rounds,
    )


@lru_cache(maxsize=2 * MAX_BITS)
def unit_class(sparsity: int, attention: Attention) -> UnitClass:
    """Every unit that the largest |⟨y, g⟩| over the class can need, whatever y is.

    Statement  The largest is attained at a vertex of the arrangement of the hyperplanes c + Σ e_i χ_i = 0 inside the
               polytope |c| + Σ|e_i| ≤ 1 (and |e_i| ≤ 1/s where attention is equal).
    Proof      ⟨y, g⟩ is linear in (c, e) on each cell, and a linear function on a polytope is largest at a vertex. The
               polytope and the arrangement are symmetric under permutations of the e_i and changes of their signs, so
               vertices are sought in e_1 ≥ … ≥ e_s ≥ 0 alone, whose walls are hyperplanes too, and then turned.
    Source     Standard.
    """
    corners = _corners(sparsity, attention)
    denominator = lcm(*corners[:, -1].tolist())
    first = corners[:, :-1] * (denominator // corners[:, -1:])
    turned = [
        np.column_stack([first[:, 0], first[:, 1:][:, list(order)] * np.array(signs)])
        for order in permutations(range(sparsity))
        for signs in product((1, -1), repeat=sparsity)
    ]
    numerators = np.unique(np.concatenate(turned), axis=0)
    outputs = np.maximum(numerators[:, :1] + numerators[:, 1:] @ signs_of_patterns(sparsity).T, 0)
    outputs, index = np.unique(outputs, axis=0, return_index=True)
    read = outputs.any(axis=1)
    return UnitClass(numerators[index][read], outputs[read], denominator)


def signs_of_patterns(sparsity: int) -> Int[np.ndarray, "patterns s"]:
    """χ_i of every pattern: 1 where bit i is 1, −1 where it is 0."""
    return 2 * ((np.arange(1 << sparsity)[:, None] >> np.arange(sparsity)) & 1) - 1


def _corners(sparsity: int, attention: Attention) -> Int[np.ndarray, "n s2"]:
    """The vertices with e_1 ≥ … ≥ e_s ≥ 0, each as numerators (c, e) and a denominator, by Cramer's rule.

    Hyperplanes are those where a unit passes 0 on a pattern, the walls between turned copies, and the faces of the
    polytope. Determinants of whole numbers up to 4 in five rows are below 10^4, so rounding a computed one is exact.
    """
    patterns = np.column_stack([np.ones(1 << sparsity, dtype=int), signs_of_patterns(sparsity)])
    walls = np.eye(sparsity, sparsity + 1, 1, dtype=int) - np.eye(sparsity, sparsity + 1, 2, dtype=int)
    faces = np.array([[1] + sparsity * [1], [-1] + sparsity * [1]])
    flat = sparsity * np.eye(1, sparsity + 1, 1, dtype=int)[: attention == "equal"]
    rows = np.concatenate([patterns, walls, faces, flat])
    sides = np.repeat([0, 1], [len(patterns) + len(walls), 2 + len(flat)])
    picked = np.array(list(combinations(range(len(sides)), sparsity + 1)))
    picked = picked[(sides[picked] != 0).any(axis=1)]  # through the origin there is only the unit that is 0
    matrices, right = rows[picked].astype(np.float64), sides[picked].astype(np.float64)
    below = _whole(np.linalg.det(matrices))
    matrices, right, below = matrices[below != 0], right[below != 0], below[below != 0]
    above = []
    for k in range(sparsity + 1):
        replaced = matrices.copy()
        replaced[:, :, k] = right
        above.append(_whole(np.linalg.det(replaced)) * np.sign(below))
    point, below = np.stack(above, axis=1), np.abs(below)
    c, e = point[:, 0], point[:, 1:]
    inside = (e[:, :-1] >= e[:, 1:]).all(axis=1) & (e[:, -1] >= 0) & (np.abs(c) + e.sum(axis=1) <= below)
    if attention == "equal":
        inside &= sparsity * e[:, 0] <= below
    corners = np.column_stack([point, below])[inside]
    return np.unique(corners // np.gcd.reduce(corners, axis=1, keepdims=True), axis=0)


def _whole(numbers: np.ndarray) -> np.ndarray:
    """Numbers that are whole up to rounding, as whole numbers."""
    whole = np.rint(numbers)
    if np.abs(numbers - whole).max(initial=0.0) > 1e-6:
        raise CompileError("A determinant of whole numbers was not whole; nothing was proved.")
    return np.asarray(whole, dtype=np.int64)


def _solve(columns: np.ndarray, target: np.ndarray, demand: Demand) -> tuple[np.ndarray, np.ndarray]:
    """Weights of least Σ|w_j| on these columns, and the prices y of the patterns."""
    from scipy.optimize import linprog  # noqa: PLC0415  (slow to import)

    both = np.concatenate([columns, -columns]).T
    constraints: dict[str, Any] = (
        {"A_ub": -target[:, None] * both, "b_ub": -np.ones(len(target))}
        if demand == "margin"
        else {"A_eq": both, "b_eq": target}
    )
    solution = linprog(np.ones(both.shape[1]), **constraints, method="highs")
    if solution.status != 0:
        raise CompileError(f"The linear programme of the least path norm was not solved: {solution.message}")
    dual = -target * solution.ineqlin.marginals if demand == "margin" else solution.eqlin.marginals
    return solution.x[: len(columns)] - solution.x[len(columns) :], np.asarray(dual)


def _proved(known: UnitClass, target: np.ndarray, dual: np.ndarray, demand: Demand) -> float:
    """⟨y, f⟩ over the largest |⟨y, g⟩| of the class, in exact fractions and rounded down: a lower bound for every y.

    The prices are tried as they were computed, and as fractions of small denominators near them, which they often are.
    """
    if demand == "margin":  # only prices with the sign of the function count
        dual = np.where(dual * target > 0, dual, 0.0)
    exact = [Fraction(price) for price in dual.tolist()]
    near = [price.limit_denominator(DENOMINATOR) for price in exact]
    best = 0.0
    for prices in (exact, near):
        common = lcm(*(price.denominator for price in prices))
        whole = np.array([int(price * common) for price in prices], dtype=object)
        worth = int(np.abs(known.outputs.astype(object) @ whole).max())  # times L and the common denominator
        reached = int(whole @ target.astype(np.int64).astype(object)) * known.denominator
        if worth and reached > 0:
            bound = Fraction(reached, worth)
            rounded = float(bound)
            best = max(best, rounded if Fraction(rounded) <= bound else float(np.nextafter(rounded, 0.0)))
    return best


class LeastNormConstruction(Construction):
    """The smallest P_∞ of one head with equal attention; taken only by name, as a programme is solved for it."""

    name = "least"
    targets = ("L1",)
    layout: ClassVar[type[Layout]] = PairLayout
    rebuild_slack: ClassVar[float] = 1e-9  # the weights are solved for

    def plans(self, function: SparseFunction, context: int, leak: float, output: Output, seed: int = 0) -> list[Plan]:
        """One plan, of a function of few positions."""
        return [least_plan(function, context, leak, output)]

    def theorem_norms(self, plan: Plan) -> dict[str, TheoremNorm]:
        """P_∞ is at most the optimum of the programme over 1 − γ.

        Source     Ours: `least_norm`.
        """
        optimum = least_norm(plan.function.table, "equal", plan.output)
        return {"path_inf": TheoremNorm("≤", optimum.norm / (1 - plan.parameters["gamma"]))}


def least_plan(function: SparseFunction, context: int, gamma: float, output: Output) -> Plan:
    """The head of Construction A with the units of least norm.

    Statement  A unit c + Σ e_i χ_i with |e_i| ≤ 1/s and |c| + Σ|e_i| ≤ 1 is read from values of size at most 1 by equal
               attention (1−γ)/s, up to the factor 1 − γ.
    Proof      The value at position i is m_i + s e_i χ_i, with m_i = (1 − s|e_i|) c/(1 − Σ|e|): then Σ m_i = s c, and
               |m_i| ≤ 1 − s|e_i|.
    """
    check_leak(gamma)
    s = function.sparsity
    if s > MAX_BITS:
        raise CompileError(
            f"The least path norm was asked for a function of {s} positions; it is computed for at most {MAX_BITS}. "
            "Use fewer, or another construction."
        )
    optimum = least_norm(function.table, "equal", output)
    beta = log((context + 1 - s) * (1 - gamma) / (s * gamma))
    tilt = s * optimum.units[:, 1:].T  # (s, k)
    room = 1 - np.abs(tilt)
    spare = room.sum(axis=0)
    middle = room * np.where(spare > 0, s * optimum.units[:, 0] / np.where(spare > 0, spare, 1.0), 0.0)
    head = HeadPlan(
        focus=np.full(s, beta),
        values=np.stack([middle - tilt, middle + tilt], axis=1),
        rest_logits=0.0,
        rest_values=np.zeros((2, len(optimum.weights))),
    )
    names = tuple(" ".join(f"{number:+.6g}" for number in unit) for unit in optimum.units.tolist())
    return Plan(
        function=function,
        layout=PairLayout(context),
        output=output,
        construction="L1",
        heads=(head,),
        readout=optimum.weights / (1 - gamma),
        units=names,
        parameters={"beta": beta, "attention": (1 - gamma) / s, "gamma": gamma},
    )
