"""What does a trained head compute, on every input, and what error does its own training set promise?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keyhole.bounds.binomial import clopper_pearson
from keyhole.figure import Axis, Figure
from keyhole.files.folder import home
from keyhole.lab.running import FRESH
from keyhole.lab.store import Row
from keyhole.lab.task import SparseTask
from keyhole.papers import EDELMAN_2022, GROSS_2024
from keyhole.studies.finding import Claim, Outcome, Scale, Study, Verdict
from keyhole.studies.trained import study_workers, trained
from keyhole.verbs.settle import Settled, settle

CLAIM = Claim(
    id="trained-heads-settled",
    title="Trained heads can be read back, proved equal to a sparse function on all inputs, and promised an error",
    statement=(
        "From the weights of a one-layer transformer trained on a 3-way AND the function it computes is read off and proved equal to the "
        "model on all 2^T inputs; its training set alone then bounds the error, below the trivial 1/8 once m is a few hundred."
    ),
    formula=r"\forall b\in\{0,1\}^T:\ \operatorname{sign} f(b)=g(b_I),\qquad \Pr[f\ne y]\le 1-\exp\!\left(-\tfrac{\text{nats}}{m}\right)",
    kind="measurement",
    source="keyhole (extraction, verification and the Occam bound are proved; how often they succeed is measured). All-input proofs for trained attention: Gross et al. (2024)",
    prediction=(
        "Of the runs at m = 300 without an error on 100,000 fresh inputs at least 85 % are proved; every promised bound, above and below the "
        "learning threshold, is at least the lower end of the measured error."
    ),
    could_fail="Fewer than 85 % proved beyond the interval, or a single bound below the error measured.",
    papers=(EDELMAN_2022, GROSS_2024),
)
TASK = SparseTask("and:3")
SIZES = (50, 300)
CONTEXTS = {"quick": (50, 200), "paper": (50, 100, 200, 400)}
SEEDS = {"quick": (6, 6), "paper": (80, 20)}  # at each of the two sizes
ENOUGH = 0.85


def look(scale: Scale, seed: int) -> Outcome:
    """Train below and above the threshold, and certify every run that came out."""
    rows: list[Row] = []
    for size, seeds in zip(SIZES, SEEDS[scale], strict=True):
        rows += trained(TASK, CONTEXTS[scale], seed, samples=(size,), seeds=seeds, keep_weights=True).sweep.rows
    return judge(settle(rows, home(), assume_junta=3, workers=study_workers()))


def judge(settled: Sequence[Settled]) -> Outcome:
    """The share proved among models without a mistake, and every bound against the measured error."""
    clean = [one for one in settled if one.samples == max(SIZES) and one.clean]
    proved = sum(one.status == "PROVED" for one in clean)
    low, high = clopper_pearson(proved, len(clean), 0.05) if clean else (0.0, 1.0)
    broken = [one for one in settled if one.error_bound is not None and one.error_bound < _least_error(one)]
    useful = [one for one in settled if one.error_bound is not None and one.error_bound < (one.trivial_error or 0.0)]
    verdict: Verdict = "undecided at this scale"
    if broken or high < ENOUGH:
        verdict = "fails here"
    elif clean and proved >= ENOUGH * len(clean):
        verdict = "holds"
    slack = [one.error_bound - one.true_error for one in settled if one.error_bound is not None]
    return Outcome(
        verdict=verdict,
        measurement=(
            f"{proved} of {len(clean)} models without a mistake are proved; {len(broken)} of {len(slack)} bounds lie below the measured error; "
            f"{len(useful)} bounds lie below the trivial error; {sum(bool(one.identified) for one in settled)} targets identified."
        ),
        numbers={
            "models without a mistake": float(len(clean)),
            "proved": float(proved),
            "bounds": float(len(slack)),
            "bounds below the measured error": float(len(broken)),
            "bounds below the trivial error": float(len(useful)),
            "counterexamples": float(sum(one.status == "COUNTEREXAMPLE" for one in settled)),
            "median slack": float(np.median(slack)) if slack else 1.0,
            "median seconds": float(np.median([one.seconds for one in settled])),
        },
        interval=f"95 % Clopper–Pearson of the share proved: {low:.2f} to {high:.2f}; measured errors by 99.9 % lower ends over 10,000 inputs.",
        figures=(_figure(settled),),
        caveats=(
            "The default settings were chosen, among equals, by the share proved at another context (T = 350) on other seeds.",
            "PROVED says that model and function agree everywhere, not that either is right. Bounds from norms do not cover the LayerNorm of these models.",
        ),
    )


def _least_error(one: Settled) -> float:
    return clopper_pearson(round(one.true_error * FRESH), FRESH, 0.001)[0]


def _figure(settled: Sequence[Settled]) -> Figure:
    rows: list[dict[str, Any]] = [
        {"bound": one.error_bound, "error": one.true_error, "what": f"m = {one.samples}, {one.status.lower()}"}
        for one in settled
        if one.error_bound is not None
    ] or [{"bound": 1.0, "error": 1.0, "what": "no bound"}]
    return Figure(
        title="Promised and measured error of trained heads",
        subtitle="one point a run; every point lies on or below the diagonal if no promise is broken",
        kind="points",
        rows=tuple(rows),
        x=Axis("bound", "promised: error at most"),
        y=Axis("error", "measured on fresh inputs"),
        colour=Axis("what", "", "category"),
    )


STUDY = Study(CLAIM, look)
