"""What do exact weights of an s-sparse function cost: 2^O(s) in general, poly(s) when symmetric?"""

from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Outcome, Scale
from keyhole.boolean import SparseFunction, majority, parity, random_junta
from keyhole.bounds.theorems import compiled_path_inf
from keyhole.compiler import prove
from keyhole.compiler.constructions import Plan, pair_plans
from keyhole.decimals import at_most
from keyhole.figure import Axis, line_figure

CONTEXT, GAMMA = 1024, 0.5


def measure(scale: Scale, seed: int) -> Outcome:
    """Random tables, majorities and parities of growing s, each compiled and proved at T = 1024."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    worst, off = 0.0, 0.0
    for s in range(1, 8 if scale == "quick" else 11):
        plan = named(random_junta(places(s, rng), rng), "A1")
        stated = compiled_path_inf(s, GAMMA)
        worst, off = max(worst, prove(plan).error), max(off, abs(plan.path_inf / stated - 1))
        rows.append({"s": s, "P": plan.path_inf, "family": "random table", "units": plan.width})
    for family, make in (("majority", majority), ("parity", parity)):
        for s in (1, 3, 5, 9, 17, 33, 65) if scale == "quick" else (1, 3, 5, 9, 17, 33, 65, 129, 257):
            plan = named(make(places(s, rng)), "A5")
            worst = max(worst, prove(plan).error)
            off = max(off, plan.path_inf / compiled_path_inf(s, GAMMA, symmetric=True) - 1)
            rows.append({"s": s, "P": plan.path_inf, "family": family, "units": plan.width})
    tables = [row["P"] for row in rows if row["family"] == "random table"]
    return Outcome(
        verdict="holds" if worst <= 1e-9 and off <= 1e-9 else "fails here",
        measurement=(
            f"{len(rows)} functions, largest proved error {at_most(worst, 2)}; tables up to P_∞ = {tables[-1]:.4g} at s = {len(tables)}; "
            f"symmetric ones at most {at_most(max(row['P'] / row['s'] ** 2 for row in rows if row['family'] != 'random table'))} s²."
        ),
        numbers={"largest proved error": worst, "largest excess over the formula": off},
        interval="None: enclosures of every input, not samples.",
        figures=(
            line_figure(
                "Path norm of exact weights",
                rows,
                Axis("s", "sparsity s", "log"),
                Axis("P", "P_∞", "log"),
                Axis("family", "function", "category"),
                subtitle=f"T = {CONTEXT}, γ = {GAMMA}, outputs ±1",
            ),
        ),
    )


def named(function: SparseFunction, target: str) -> Plan:
    """The plan of one target of Construction A."""
    return next(plan for plan in pair_plans(function, CONTEXT, GAMMA, "signs") if plan.construction == target)


def places(s: int, rng: np.random.Generator) -> tuple[int, ...]:
    """A random set of s positions."""
    return tuple(sorted(rng.choice(CONTEXT, s, replace=False).tolist()))
