"""What is sharp attention needed for: exactness, or norms free of T?"""

from math import log
from typing import Any

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.boolean import conjunction
from keyhole.bounds.finite import logit_range_floor
from keyhole.compiler import prove
from keyhole.compiler.constructions import pair_plans
from keyhole.decimals import at_least, at_most
from keyhole.figure import Axis, line_figure

CLAIM = Claim(
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


def measure(scale: Scale, seed: int) -> Outcome:  # noqa: ARG001  (nothing is drawn)
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


EXPERIMENTS = (Experiment(CLAIM, measure),)
