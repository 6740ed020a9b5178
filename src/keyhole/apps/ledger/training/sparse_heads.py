"""Where do the heads of a trained layer look: at the few positions that matter, or everywhere?"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from keyhole.api.train import PROBED, Trained
from keyhole.api.train import train as watch_training
from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.kept_runs import read_runs, train
from keyhole.apps.ledger.verdict import Share
from keyhole.figure import Axis, Figure, Row
from keyhole.papers import EDELMAN_2022
from keyhole.sweeps.runs import RunResult
from keyhole.training import SparseTask

CLAIM = Claim(
    id="sparse-heads",
    title="Heads that generalise look at the relevant positions",
    statement=(
        "After training on a 3-way AND the attention of the best head at [CLS] lies mostly on the three relevant positions in runs that "
        "generalise; uniform attention would put 3/(T+1) there. Runs that do not generalise are reported beside them."
    ),
    formula=r"\max_h\ \mathbb{E}_b\sum_{t\in I}\alpha_{h,t}(b)\ \ge\ \tfrac12\ \gg\ \frac{3}{T+1}",
    kind="measurement",
    source="Following Edelman et al. (2022), who show attention of trained models concentrating on the relevant positions",
    prediction=(
        "At T = 100 and m = 80, where some runs generalise and some do not, with the default settings: in more than half of the runs that "
        "generalise the best head has at least half of its attention on the three positions, by the whole 95 % interval of the share."
    ),
    could_fail="A share of generalising runs whose 95 % interval lies below ½.",
    papers=(EDELMAN_2022,),
    revision=2,
)

TASK = SparseTask("and:3")
CONTEXT = 100
SAMPLES = 80  # near m*
SEEDS = {"quick": 40, "paper": 120}


@partial(Experiment, CLAIM)
def experiment(scale: Scale, seed: int) -> Outcome:
    """Train near the threshold, and read the last attention of every run; draw one that generalised."""
    runs = read_runs(train(TASK, (CONTEXT,), seed, samples=(SAMPLES,), seeds=SEEDS[scale]))
    outcome = conclude([result for _, result in runs])
    learned = next((row for row, result in runs if result.success), None)
    if learned is None:
        return outcome
    shown = watch_training(TASK.function, CONTEXT, SAMPLES, seed=learned.seed)  # the same run once more, watched
    return replace(outcome, figures=(*outcome.figures, before_and_after(shown)))


def conclude(results: Sequence[RunResult]) -> Outcome:
    """The best head's attention on the relevant set, by whether the run generalised; all of one sample size."""
    masses = {
        kind: np.array([result.numbers["mass_best"] for result in results if result.success == (kind == "generalised")])
        for kind in ("generalised", "not")
    }
    won, lost = masses["generalised"], masses["not"]
    share = Share(int((won >= 0.5).sum()), len(won))
    uniform = len(results[0].positions) / (CONTEXT + 1)
    medians = {kind: float(np.median(mass)) if len(mass) else 0.0 for kind, mass in masses.items()}
    return Outcome(
        verdict=share.most,
        measurement=(
            f"{share.hits} of {share.runs} generalising runs have a head with at least half of its attention on the relevant positions; median "
            f"{medians['generalised']:.2f} against {medians['not']:.2f} in {len(lost)} runs that do not, uniform {uniform:.3f}."
        ),
        numbers={
            "share of generalising runs with mass at least one half": share.value,
            "generalising runs": float(len(won)),
            "other runs": float(len(lost)),
            "median mass, generalising": medians["generalised"],
            "median mass, others": medians["not"],
            "uniform attention": uniform,
        },
        interval=f"{share}. Every run is shown; medians have no interval here.",
        figures=(
            Figure(
                title="Attention of the best head on the relevant positions",
                subtitle=f"3-way AND, T = {CONTEXT}, m = {SAMPLES}, one point a run",
                kind="points",
                rows=tuple(
                    {
                        "accuracy": result.accuracy,
                        "mass": result.numbers["mass_best"],
                        "run": "generalises" if result.success else "does not",
                    }
                    for result in results
                ),
                x=Axis("accuracy", "accuracy on fresh inputs"),
                y=Axis("mass", "attention mass", "log"),
                colour=Axis("run", "", "category"),
            ),
        ),
        caveats=("Sparsity of the best head: other heads of the same layer may look anywhere.",),
    )


def before_and_after(shown: Trained) -> Figure:
    """The attention of the head that looks most at the relevant positions, before the first step and after the last."""
    best, relevant = shown.best_head, set(shown.positions)
    before: list[Row] = [
        {"position": place, "share": share, "when": "before training"} for place, share in enumerate(shown.start[best])
    ]
    rows: list[Row] = []
    for place, share in enumerate(shown.frames[-1].attention[best]):
        kind = "relevant position" if place in relevant else "any other position"
        rows.append({"position": place, "share": share, "none": 0.0, "when": f"after training, {kind}"})
    across, up = Axis("position", "position"), Axis("share", "share of the attention")
    which = Axis("when", "", "category")
    return Figure(
        title="Where a head looks, before and after training",
        subtitle=f"head {best + 1} of a network that {shown.outcome}; mean over {PROBED} inputs",
        kind="points",
        rows=tuple(rows),
        x=across,
        y=up,
        colour=which,
        low="none",
        high="share",
        over=(Figure("before training", "curves", tuple(before), across, up, which),),
    )
