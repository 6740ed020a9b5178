"""Construction B′: one head per relevant position, summed before the activation.

Head i reads r_i = b_i + δ_i with its own small leak; signed sums of the r_i tell every pattern from every other.

Source: ours, following Edelman et al. (2022).
"""

from math import exp, log, sqrt

import numpy as np

from keyhole.boolean import SparseFunction
from keyhole.compiler.constructions.additive import PositionLayout
from keyhole.compiler.constructions.plan import Construction, HeadPlan, Output, Plan, TheoremNorm, check_leak, wanted
from keyhole.errors import CompileError

MAX_HEADS = 8  # relevant positions: 2^8 patterns, two units each


class HeadPerPosition(Construction):
    """Construction B′: one head per relevant position, for any function of few positions."""

    name = "heads"
    targets = ("B′",)
    layout = PositionLayout
    parameter = "target"
    competes = True

    def plans(self, function: SparseFunction, context: int, leak: float, output: Output, seed: int = 0) -> list[Plan]:
        """A head per position, and two units per pattern."""
        return [head_per_position_plan(function, context, leak, output)]

    def theorem_norms(self, plan: Plan) -> dict[str, TheoremNorm]:
        """‖M_h‖_F = |β| for each head; ‖w‖ by the number of patterns, two units each.

        Source     Ours: the exact norms of Construction B′, as its statement gives them.
        """
        s, rho, beta = plan.function.sparsity, plan.parameters["rho"], abs(plan.parameters["beta"])
        return {
            "score_frobenius": TheoremNorm("=", beta),
            "score_21": TheoremNorm("=", beta),
            "score_transposed_21": TheoremNorm("=", beta),
            "readout": TheoremNorm("=", sqrt(plan.width) / ((1 - s * rho) * plan.parameters["attention"])),
        }


def head_per_position_plan(function: SparseFunction, context: int, rho: float, output: Output) -> Plan:
    """One head per relevant position, for any function of few positions.

    Statement  With leak ρ' = ρ/s per head, u = Σ_{c_i=1} r_i − Σ_{c_i=0} r_i, lo = |c| − 1 + |c|ρ' and
               hi = |c| − (s−|c|)ρ': [ReLU(u − lo) − ReLU(u − hi)]/(1 − sρ') = 1[b_I = c].
    Proof      If b_I = c then u ≥ hi; otherwise one term is off by a whole unit and u ≤ lo.
    """
    check_leak(rho)
    s = function.sparsity
    if s > MAX_HEADS:
        raise CompileError(
            f"One head per position was asked for a function of {s} positions, which needs 2^{s} patterns; at most "
            f"{MAX_HEADS} positions are compiled so. Use the pair construction."
        )
    leak = rho / s if context > 1 else 0.0
    beta = log((context - 1) / leak) if context > 1 else 0.0
    attention, share = 1 / (1 + leak + exp(-beta)), 1 / (1 + leak)
    signs, thresholds, readout, units = [], [], [], []
    for code, truth in enumerate(function.table.tolist()):
        value = wanted(truth, output)
        pattern = [code >> i & 1 for i in range(s)]
        ones = sum(pattern)
        if value == 0:
            continue
        for threshold, sign in ((ones - 1 + ones * leak, 1), (ones - (s - ones) * leak, -1)):
            signs.append([1.0 if bit else -1.0 for bit in pattern])
            thresholds.append(threshold)
            readout.append(sign * value / ((1 - s * leak) * attention))
            units.append(f"pattern {''.join(map(str, pattern))} above {threshold:g}")
    heads = []
    for i in range(s):
        moved = -share * np.array(thresholds) if i == 0 else np.zeros(len(units))  # the threshold is read once
        values = np.stack([moved, np.array(signs)[:, i] + moved])
        focus = np.where(np.arange(s) == i, beta, 0.0)
        heads.append(HeadPlan(focus, np.tile(values, (s, 1, 1)), 0.0, values))
    parameters = {"beta": beta, "attention": attention, "rho": leak, "target": rho}
    return Plan(
        function, PositionLayout(context), output, "B′", tuple(heads), np.array(readout), tuple(units), parameters
    )
