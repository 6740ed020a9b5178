"""The veto: a conjunction by one head whose attention goes to any literal that is violated.

Every token has value 1, a violated literal −1 and a logit so much higher that one of them outweighs all other tokens
together. So the unit reads 1 where no literal is violated, and nothing elsewhere: P_∞ is 1 for every number of literals
and every context. What is paid is the spread R of the scores over a position's symbols, log(s − 1) to log T.

Source: ours.
"""

from math import log, sqrt
from typing import ClassVar

import numpy as np

from keyhole.boolean import SparseFunction, conjunction_pattern
from keyhole.compiler.constructions.pairs import PairLayout
from keyhole.compiler.constructions.plan import (
    Construction,
    HeadPlan,
    Layout,
    Output,
    Plan,
    TheoremNorm,
    check_leak,
    wanted,
)
from keyhole.errors import CompileError


class VetoConstruction(Construction):
    """Conjunctions by a veto, and disjunctions by negation: one head that reads pairs of position and symbol."""

    name = "veto"
    targets = ("V1", "V2")
    layout: ClassVar[type[Layout]] = PairLayout
    competes = True

    def plans(self, function: SparseFunction, context: int, leak: float, output: Output, seed: int = 0) -> list[Plan]:
        """V1 for a conjunction of literals, V2 for a disjunction; a single literal is both."""
        return veto_plans(function, context, leak, output)

    def theorem_norms(self, plan: Plan) -> dict[str, TheoremNorm]:
        """P_∞ = Σ_j |w_j|, as every value is 1 or −1; M by its logits β and β + r; W_V by columns of length √(2T+1).

        Source     Ours: the exact norms of the construction, as its statement gives them.
        """
        s, beta, spread = plan.function.sparsity, plan.parameters["beta"], plan.parameters["spread"]
        weights = [abs(weight) for _, weight in _units(plan.target, plan.output)]
        score = sqrt(s) * sqrt(beta**2 + (beta + spread) ** 2)
        column = sqrt(2 * plan.context + 1)  # a row for every pair and [CLS], each 1 or −1
        return {
            "score_frobenius": TheoremNorm("=", score),
            "score_21": TheoremNorm("=", score),
            "score_transposed_21": TheoremNorm("=", s * (abs(beta) + abs(beta + spread))),
            "value_21": TheoremNorm("=", len(weights) * column),
            "readout": TheoremNorm("=", sqrt(sum(weight**2 for weight in weights))),
            "path": TheoremNorm("=", sum(weights) * column),
            "path_inf": TheoremNorm("=", sum(weights)),
        }


def veto_plans(function: SparseFunction, context: int, gamma: float, output: Output) -> list[Plan]:
    """The plans of a conjunction or disjunction of s literals.

    Statement  Let β = log((T+1−s)(1−γ)/(sγ)) be the logit of a true literal, β + r that of a violated one with
               e^r = s − 1 + sγ/(1−γ), and 0 that of every other token; the spread is R = |r|. With the values
               of the head's summary, u = 1 if no literal is violated, and u ≤ 0 otherwise. So ReLU(u) is the
               conjunction, exactly, with P_∞ = 1.
    Proof      With v literals violated, u Z = −v e^{β+r} + (s−v) e^β + T + 1 − s, and (T+1−s) e^{−β} = sγ/(1−γ). So
               u Z e^{−β} = −v e^r + (s−v) + sγ/(1−γ) is 0 at v = 1 and falls with v; at v = 0 every value is 1.
    Refuses    All else. One unit with P_∞ = 1 reads 1 only where every token in sight has the largest value. There each
               position shows one of the symbols that have it, which is a conjunction of literals.
    Source     Ours. At β = 0 it is R = log T, for a head that looks at nothing in particular.
    """
    check_leak(gamma)
    s = function.sparsity
    beta = log((context + 1 - s) * (1 - gamma) / (s * gamma))
    spread = log(s - 1 + s * gamma / (1 - gamma))
    parameters = {"beta": beta, "spread": spread, "gamma": gamma}
    plans = []
    for target, rule in (("V1", function.rule), ("V2", (~function).rule)):
        if (pattern := conjunction_pattern(rule)) is None:
            continue
        names, readout = zip(*_units(target, output), strict=True)
        violated = np.eye(2, dtype=bool)[1 - np.array(pattern, dtype=int)]  # (s, 2)
        veto = np.where(violated, -1.0, 1.0)
        head = HeadPlan(
            focus=beta + np.where(violated, spread, 0.0),
            values=np.stack([veto if name == "no literal violated" else np.ones((s, 2)) for name in names], axis=-1),
            rest_logits=0.0,
            rest_values=np.ones((2, len(names))),
            cls_values=np.ones(len(names)),
        )
        layout, weights = PairLayout(context), np.array(readout)
        plans.append(Plan(function, layout, output, target, (head,), weights, names, parameters))
    if not plans:
        raise CompileError(
            "The veto was asked for, and this function is neither a conjunction nor a disjunction of literals, which "
            "is all that the veto computes; use the construction auto, which takes the one with the smallest bound."
        )
    return plans


def _units(target: str, output: Output) -> list[tuple[str, float]]:
    """Each unit with its read-out: the conjunction's, and a constant where the value beside it is not 0."""
    false = wanted(truth=False, output=output)
    base, top = (false, 1.0) if target == "V1" else (1.0, false)
    units = [("no literal violated", top - base), ("constant", base)]
    return [(name, weight) for name, weight in units if weight]
