"""Where do the heads of a trained layer look: at the few positions that matter, or everywhere?"""

from collections.abc import Sequence

import numpy as np

from keyhole.claims.finding import Claim, Outcome, Scale, Study, Verdict
from keyhole.claims.training.trained import in_full, trained
from keyhole.figure import Axis, Figure
from keyhole.lab.runs.run import RunResult
from keyhole.lab.task import SparseTask
from keyhole.papers import EDELMAN_2022

CLAIM = Claim(
    id="sparse-heads",
    title="Heads that generalise look at the relevant positions",
    statement=(
        "After training on a 3-way AND the attention of the best head at [CLS] lies mostly on the three relevant positions in runs that "
        "generalise, more than in runs that do not; uniform attention would put 3/(T+1) there."
    ),
    formula=r"\max_h\ \mathbb{E}_b\sum_{t\in I}\alpha_{h,t}(b)\ \ge\ \tfrac12\ \gg\ \frac{3}{T+1}",
    kind="measurement",
    source="Following Edelman et al. (2022), who show attention of trained models concentrating on the relevant positions",
    prediction=(
        "At T = 100 and m = 30 and 300 with the default settings: in at least 90 % of the runs that generalise the best head has at least half "
        "of its attention on the three positions; in the runs that do not, the median is below that of the runs that do."
    ),
    could_fail="Generalising runs whose best head looks elsewhere in more than a tenth of the cases.",
    papers=(EDELMAN_2022,),
)
TASK = SparseTask("and:3")
CONTEXT = 100
SIZES = (30, 300)
SEEDS = {"quick": 12, "paper": 60}


def look(scale: Scale, seed: int) -> Outcome:
    """Train below and above the threshold, and read the last attention of every run."""
    runs = in_full(trained(TASK, (CONTEXT,), seed, samples=SIZES, seeds=SEEDS[scale]))
    return judge([result for _, result in runs])


def judge(results: Sequence[RunResult]) -> Outcome:
    """The best head's attention on the relevant set, by whether the run generalised."""
    masses = {
        kind: np.array([result.numbers["mass_best"] for result in results if result.success == (kind == "generalised")])
        for kind in ("generalised", "not")
    }
    won, lost = masses["generalised"], masses["not"]
    verdict: Verdict = "undecided at this scale"
    share = float((won >= 0.5).mean()) if len(won) else 0.0
    if len(won) >= 10 and len(lost) >= 5:
        verdict = "holds" if share >= 0.9 and np.median(lost) < np.median(won) else "fails here"
    uniform = len(results[0].positions) / (CONTEXT + 1)
    medians = {kind: float(np.median(mass)) if len(mass) else 0.0 for kind, mass in masses.items()}
    return Outcome(
        verdict=verdict,
        measurement=(
            f"{share:.0%} of {len(won)} generalising runs have a head with at least half of its attention on the relevant positions; median "
            f"{medians['generalised']:.2f} against {medians['not']:.2f} in {len(lost)} runs that do not, uniform {uniform:.3f}."
        ),
        numbers={
            "share of generalising runs with mass at least one half": share,
            "generalising runs": float(len(won)),
            "other runs": float(len(lost)),
            "median mass, generalising": medians["generalised"],
            "median mass, others": medians["not"],
            "uniform attention": uniform,
        },
        interval="Every run is shown; medians have no interval here.",
        figures=(
            Figure(
                title="Attention of the best head on the relevant positions",
                subtitle=f"3-way AND, T = {CONTEXT}, one point a run",
                kind="points",
                rows=tuple(
                    {"accuracy": result.accuracy, "mass": result.numbers["mass_best"], "m": f"m = {size}"}
                    for size, result in zip(_sizes(results), results, strict=True)
                ),
                x=Axis("accuracy", "accuracy on fresh inputs"),
                y=Axis("mass", "attention mass", "log"),
                colour=Axis("m", "", "category"),
            ),
        ),
        caveats=("Sparsity of the best head: other heads of the same layer may look anywhere.",),
    )


def _sizes(results: Sequence[RunResult]) -> list[int]:
    """The sample size of each run: runs come by size, the same number each."""
    each = len(results) // len(SIZES)
    return [SIZES[min(index // each, len(SIZES) - 1)] for index in range(len(results))]


STUDY = Study(CLAIM, look)
