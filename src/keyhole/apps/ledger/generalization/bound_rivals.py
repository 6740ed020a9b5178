"""Are these bounds never above the same calculus with the constants recalled of the paper?"""

from dataclasses import replace
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.bounds import hypothetical, pair_construction
from keyhole.bounds.theorems import RECALLED_CONSTANTS, SCALAR, TABULATED, guarantee, rivals
from keyhole.figure import Axis, Figure
from keyhole.norm_profile import NormProfile
from keyhole.papers import CATONI_2007, EDELMAN_2022, LOTFI_2023, MCALLESTER_1999, TRAUGER_2023, ZHANG_2002

CLAIM = Claim(
    id="bound-rivals",
    title="The cover bound here is never above the same calculus with the recalled constants",
    statement=(
        "With softmax constant 1 instead of 2 and the Frobenius instead of the (2,1) norm of the score matrix, every term "
        "of the cover bound is at most as large. Other published bounds stand beside it on one profile."
    ),
    formula=r"C(c_N=1,\|M\|_F)\;\le\;C(c_N=2,\|M\|_{2,1})",
    kind="inequality",
    source="keyhole, with proof (term by term); the constants compared with follow Edelman et al. (2022), from memory",
    prediction="The ratio of the two capacities never exceeds 1 on random norms.",
    could_fail="One profile whose ratio exceeds 1.",
    papers=(EDELMAN_2022, ZHANG_2002, TRAUGER_2023, LOTFI_2023, MCALLESTER_1999, CATONI_2007),
)

SAMPLES = 10**6


def measure(scale: Scale, seed: int) -> Outcome:
    """The ratio of sample sizes on random norms; and every rival's number on one compiled AND."""
    rng = np.random.default_rng(seed)
    ratios = []
    for _ in range(200 if scale == "quick" else 2000):
        value = float(rng.uniform(0.1, 5))
        profile = hypothetical(
            tokens=int(10 ** rng.uniform(1, 6)),
            value21=value * float(rng.uniform(1, 4)),
            value=value,
            score=float(rng.uniform(0.1, 20)),
            width=int(rng.integers(1, 64)),
            readout=float(rng.uniform(0.1, 10)),
        )
        profile = with_larger_columns(profile, float(rng.uniform(1, 4)))
        ours, theirs = (route.complexity(profile, 1e14).value for route in (SCALAR, RECALLED_CONSTANTS))
        ratios.append(ours / theirs)
    profile = pair_construction("and", 1000, 3)
    rows: list[dict[str, Any]] = [
        {"bound": f"{rival.key}: {rival.name}", "gap": rival.value}
        for rival in rivals(profile, SAMPLES)
        if rival.kind == "bound" and rival.value is not None and "gap" in rival.quantity
    ]
    rows = [
        {"bound": "Theorem T (ours)", "gap": guarantee(TABULATED, profile, SAMPLES).value},
        {"bound": "Theorem S (ours)", "gap": guarantee(SCALAR, profile, SAMPLES).value},
        *rows,
    ]
    rows.sort(key=lambda row: row["gap"])
    return Outcome(
        verdict="holds" if max(ratios) <= 1 + 1e-12 else "fails here",
        measurement=f"Ratio of complexities from {min(ratios):.3f} to {max(ratios):.3f} over {len(ratios)} random profiles.",
        numbers={"largest ratio": max(ratios), "smallest ratio": min(ratios), "profiles": len(ratios)},
        interval="None: an inequality with a proof.",
        figures=(
            Figure(
                title="Gap bounds side by side",
                subtitle=f"exact 3-way AND at T = 1000, m = {SAMPLES:,}; 1 or more is vacuous",
                kind="points",
                rows=tuple(rows),
                x=Axis("gap", "bound on the gap", "log"),
                y=Axis("bound", "", "category"),
            ),
        ),
        caveats=("Nothing is claimed against the paper's own bound, whose constants are not known here.",),
    )


def with_larger_columns(profile: NormProfile, factor: float) -> NormProfile:
    """The same profile with a (2,1) norm of the scores above their Frobenius norm, as matrices have it."""
    block = profile.blocks[0]
    head = block.heads[0]
    score = replace(head.score, columns21=factor * head.score.frobenius)
    return replace(profile, blocks=(replace(block, heads=(replace(head, score=score),)),))


EXPERIMENTS = (Experiment(CLAIM, measure),)
