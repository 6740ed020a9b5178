"""Plans of every construction for one function, and all inputs of a short context."""

import numpy as np

from keyhole.boolean.families import read_function
from keyhole.boolean.function import SparseFunction, from_table
from keyhole.compiler.constructions.additive import additive_plan, coded_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.constructions.per_position import head_per_position_plan
from keyhole.compiler.constructions.veto import veto_plans
from keyhole.errors import CompileError

FORMULAS = ("x3", "x1 & ~x4", "x0 | x2 | x5", "x1 ^ x5", "maj(x1, x2, x5)", "x1 & ~x4 | x2", "table(0110; x0, x4)")
CONTEXT = 6


def all_plans(formula, context=CONTEXT, output="signs"):
    """Every construction of a formula's function."""
    return every_plan(read_function(formula), context, output)


def every_plan(function, context, output="signs", mass=0.5):
    """Each target of A, then B1 or B2, B with codes, B′, and the veto where there is one."""
    return [
        *pair_plans(function, context, mass, output),
        additive_plan(function, context, mass, output),
        coded_plan(function, context, mass, output, 0),
        head_per_position_plan(function, context, mass, output),
        *vetoes(function, context, output, mass),
    ]


def vetoes(function, context, output="signs", mass=0.5):
    """The veto's plans; none of a function that is neither a conjunction nor a disjunction."""
    try:
        return veto_plans(function, context, mass, output)
    except CompileError:
        return []


def all_inputs(context):
    """Every input of the context, one per row."""
    return ((np.arange(1 << context)[:, None] >> np.arange(context)) & 1).astype(bool)


def functions_of(positions) -> list[SparseFunction]:
    """Every function that depends on exactly these positions."""
    patterns = 1 << len(positions)
    tables = ((np.arange(1 << patterns)[:, None] >> np.arange(patterns)) & 1).astype(bool)
    made = [from_table(positions, table) for table in tables]
    return [function for function in made if function.sparsity == len(positions)]


def targets(plan, bits):
    """What the output is to be on each input."""
    false = -1.0 if plan.output == "signs" else 0.0
    return np.where(plan.function(bits), 1.0, false)


def float_allowance(plan):
    """What double precision adds to the proved error when tables are evaluated.

    Numerators and normaliser are sums of T + 1 rounded terms, the read-out of k, and exp and the quotient round once
    each: a relative (2(T+1) + k + 6) u at most, in units of P_∞ = Σ|w_j| max|v_j|; doubled, for second-order terms.
    """
    return 4 * (plan.context + plan.width + 8) * 2.0**-53 * plan.path_inf
