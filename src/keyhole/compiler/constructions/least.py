"""The least path norm: one head with equal attention on the relevant positions, and the units of a linear programme.

The head is that of Construction A; the units are those of the least Σ|w_j| over all that such a head can feed, which
`least_norm` finds together with a lower bound.

Source: ours.
"""

from math import log
from typing import ClassVar

import numpy as np

from keyhole.boolean import SparseFunction
from keyhole.compiler.constructions.pairs import PairLayout
from keyhole.compiler.constructions.plan import Construction, HeadPlan, Layout, Output, Plan, TheoremNorm, check_leak
from keyhole.compiler.least_norm import MAX_BITS, least_norm
from keyhole.errors import CompileError


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
