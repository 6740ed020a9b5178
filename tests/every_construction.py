"""Plans of every construction, for the tests of what is made from them."""

import numpy as np

from keyhole.boolean.text import read_function
from keyhole.compiler.additive import additive_plan, coded_plan
from keyhole.compiler.pair import pair_plans
from keyhole.compiler.separate import separate_plan

FORMULAS = ("x3", "x1 & ~x4", "x0 | x2 | x5", "x1 ^ x5", "maj(x1, x2, x5)", "x1 & ~x4 | x2", "table(0110; x0, x4)")
CONTEXT = 6


def all_plans(formula, context=CONTEXT, output="signs"):
    """Every construction of the function: A in all its targets, B with one-hot and with random codes, B′."""
    function = read_function(formula)
    return [
        *pair_plans(function, context, 0.5, output),
        additive_plan(function, context, 0.5, output),
        coded_plan(function, context, 0.5, output, 0),
        separate_plan(function, context, 0.5, output),
    ]


def every_input(context):
    """All 2^T inputs."""
    return (np.arange(1 << context)[:, None] >> np.arange(context)) & 1


def wanted_outputs(plan, bits):
    """What the plan's function is to read as."""
    return np.where(plan.function(bits.astype(bool)), 1.0, -1.0 if plan.output == "signs" else 0.0)
