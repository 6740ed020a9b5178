"""Exact weights: what sharp attention buys, and what any function and any symmetric one cost."""

from functools import partial
from math import log, sqrt
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.boolean import SparseFunction, conjunction, majority, parity, random_junta
from keyhole.bounds.finite import logit_range_floor
from keyhole.compiler import prove
from keyhole.compiler.constructions import Plan, pair_plans
from keyhole.decimals import at_least, at_most
from keyhole.figure import Axis, line_figure
from keyhole.papers import EDELMAN_2022

SHARP = Claim(
    id="sharpness",
    title="Sharp attention buys norms free of T, not exactness",
    statement=(
        "A 3-way AND is represented exactly at every attention mass, uniform attention included; what large logits buy is "
        "a read-out that does not grow with T. At fixed output norms a logit range of log T − O(1) is necessary."
    ),
    formula=r"2B\;\ge\;\log\frac{\mu T}{4\,\Lambda_{\mathrm{out}}V}",
    kind="identity",
    source="keyhole, with proof (Construction A; the logit-range floor)",
    prediction=(
        "Proved error below 10⁻⁹ at every mass and every T; with uniform attention the read-out is T + 1; the logit range "
        "used always exceeds the necessary one."
    ),
    could_fail="A mass at which the proof's error exceeds 10⁻⁹, or a logit range below the floor.",
)

SPARSITY = 3


@partial(Experiment, SHARP)
def sharpness(scale: Scale, seed: int) -> Outcome:  # noqa: ARG001  (nothing is drawn)
    """Compile the AND at several masses and lengths, prove each, and compare its logits with the floor."""
    function = conjunction(tuple(range(SPARSITY)))
    rows: list[dict[str, Any]] = []
    worst, tightest = 0.0, float("inf")
    for context in (10, 100, 1000, 10_000) if scale == "quick" else (10, 100, 1000, 10_000, 100_000, 1_000_000):
        uniform = 1 - SPARSITY / (context + 1)
        for name, gamma in (("γ = 0.01", 0.01), ("γ = 0.5", 0.5), ("uniform attention", uniform)):
            plan = pair_plans(function, context, gamma, "bits")[0]
            worst = max(worst, prove(plan).error)
            readout = float(abs(plan.readout).max())
            reach = float(abs(plan.heads[0].values).max())
            floor = logit_range_floor(1.0, context, readout, reach)
            if floor > 0:  # with a read-out that grows with T nothing is necessary
                tightest = min(tightest, plan.parameters["beta"] - floor)
            rows.append(
                {"T": context, "readout": readout, "logit": plan.parameters["beta"], "floor": floor, "mass": name}
            )
    flat = [row["readout"] for row in rows if row["mass"] == "γ = 0.5"]
    grown = [row["readout"] / (row["T"] + 1) for row in rows if row["mass"] == "uniform attention"]
    exact = worst <= 1e-9
    as_predicted = max(flat) - min(flat) < 1e-9 and all(abs(value - 1) < 1e-9 for value in grown) and tightest >= -1e-9
    return Outcome(
        verdict="holds" if exact and as_predicted else "fails here",
        measurement=(
            f"Largest proved error {at_most(worst, 2)}; read-out {flat[0]:.3g} at γ = ½ for every T, T + 1 when uniform; logits lie "
            f"{at_least(tightest, places=2)} or more above the floor (log T = {log(rows[-1]['T']):.2f} at the largest T)."
        ),
        numbers={"largest proved error": worst, "least logit above the floor": tightest, "read-out at γ = ½": flat[0]},
        interval="None: enclosures of every input, not samples.",
        figures=(
            line_figure(
                "The price of blunt attention",
                rows,
                Axis("T", "context length T", "log"),
                Axis("readout", "read-out weight", "log"),
                Axis("mass", "attention off the relevant positions", "category"),
                subtitle="read-out weight of an exact 3-way AND",
            ),
        ),
    )


EXACT = Claim(
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


@partial(Experiment, EXACT)
def norms(scale: Scale, seed: int) -> Outcome:
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


def compiled_path_inf(sparsity: int, leak: float, *, symmetric: bool = False) -> float:
    """P_∞ of an exact head for any ±1 table of s bits, or for a symmetric one; free of T.

    Statement  2^s max(1, s−1)/(1−γ) for a table, at most 4s²/(1−γ) for a symmetric function.
    Source     Ours (Construction A).

    >>> compiled_path_inf(3, 0.5)
    32.0
    """
    return (4 * sparsity**2 if symmetric else 2**sparsity * max(1, sparsity - 1)) / (1 - leak)


def joined_samples(context: int, sparsity: int, *, error: float, delta: float, leak: float) -> float:
    """Samples from which a bounded attention layer learns any s-sparse function of T bits, by minimisation.

    Statement  m ≥ (4P√(2 ln(2T+2)) + √(ln(1/δ)/2))²/ε² gives error ≤ ε with probability ≥ 1 − δ, under every
               law of the bits, P = `compiled_path_inf`: 2^{O(s)} log T.
    Proof      With R = 0 and P_∞ ≤ P the class holds the target at margin 1; Theorem T and Rule 3, one side.
    Source     Ours (Corollary J). About minimisers of the ramp loss, not about gradient descent.

    >>> round(joined_samples(100, 3, error=0.1, delta=0.01, leak=0.01) / 1e6, 1)
    4.5
    """
    complexity = 4 * compiled_path_inf(sparsity, leak) * sqrt(2 * log(2 * context + 2))
    return ((complexity + sqrt(log(1 / delta) / 2)) / error) ** 2


def places(s: int, rng: np.random.Generator) -> tuple[int, ...]:
    """A random set of s positions."""
    return tuple(sorted(rng.choice(CONTEXT, s, replace=False).tolist()))
