"""What do exact weights of an s-sparse function cost: 2^O(s) in general, poly(s) when symmetric?"""

from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.boolean import SparseFunction, majority, parity, random_junta
from keyhole.bounds.theorems import compiled_path_inf
from keyhole.compiler import prove
from keyhole.compiler.constructions import Plan, pair_plans
from keyhole.decimals import at_most
from keyhole.figure import Axis, line_figure
from keyhole.papers import EDELMAN_2022

CLAIM = Claim(
    id="representation",
    title="Every s-sparse function has exact weights: norms 2^O(s), symmetric ones poly(s)",
    statement=(
        "One head represents any function of s of T bits exactly. For a table the path norm P_∞ is 2^s max(1, s−1)/(1−γ), "
        "for a symmetric function at most 4s²/(1−γ); neither grows with T."
    ),
    formula=r"P_\infty=\frac{2^s\max(1,s-1)}{1-\gamma},\qquad P_\infty\le\frac{4s^2}{1-\gamma}\ \text{(symmetric)}",
    kind="identity",
    source="Exactness with norms 2^O(s) and poly(s): Edelman et al. (2022). These constants: keyhole's own, with proof",
    prediction="Every compiled function is proved exact (error ≤ 10⁻⁹) on all 2^T inputs, with exactly these path norms.",
    could_fail="A function whose proof leaves an error above 10⁻⁹, or a path norm off the formula.",
    papers=(EDELMAN_2022,),
)

CONTEXT, GAMMA = 1024, 0.5


def measure(scale: Scale, seed: int) -> Outcome:
    """Random tables, majorities and parities of growing s, each compiled and proved at T = 1024."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    worst, off = 0.0, 0.0
    for s in range(1, 8 if scale == "quick" else 11):
        plan = find_plan(random_junta(places(s, rng), rng), CONTEXT, GAMMA, "A1")
        stated = compiled_path_inf(s, GAMMA)
        worst, off = max(worst, prove(plan).error), max(off, abs(plan.path_inf / stated - 1))
        rows.append({"s": s, "P": plan.path_inf, "family": "random table", "units": plan.width})
    for family, make in (("majority", majority), ("parity", parity)):
        for s in (1, 3, 5, 9, 17, 33, 65) if scale == "quick" else (1, 3, 5, 9, 17, 33, 65, 129, 257):
            plan = find_plan(make(places(s, rng)), CONTEXT, GAMMA, "A5")
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


def find_plan(function: SparseFunction, context: int, gamma: float, target: str) -> Plan:
    """The plan of one target of Construction A."""
    return next(plan for plan in pair_plans(function, context, gamma, "signs") if plan.construction == target)


def places(s: int, rng: np.random.Generator) -> tuple[int, ...]:
    """A random set of s positions."""
    return tuple(sorted(rng.choice(CONTEXT, s, replace=False).tolist()))


EXPERIMENTS = (Experiment(CLAIM, measure),)
