"""Which part of a trained head's excess risk is approximation, generalization, optimisation?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.kept_runs import make_groups, seeds
from keyhole.apps.ledger.verdict import fitted_slope, mean_of, verdict_of
from keyhole.apps.pretrain.latent_heads import LatentHead
from keyhole.apps.pretrain.tasks import RiskParts, numbers_of
from keyhole.figure import Axis, line_figure

CLAIM = Claim(
    id="risk-parts",
    title="The excess risk of a trained head is approximation, generalization and optimisation, each measured",
    statement=(
        "The excess log loss of a trained head over the exact prediction is the sum of three parts: what the best head of its class loses, which no data cure; what the head of least training loss loses to that, which falls like 1/n; "
        "and what training, stopped as it was, loses to the head of least training loss."
    ),
    formula=r"R(\hat f)-R^*=\underbrace{R(f_{\mathcal F})-R^*}_{\text{approximation}}+\underbrace{R(\hat f_{\rm ERM})-R(f_{\mathcal F})}_{\text{generalization}}+\underbrace{R(\hat f)-R(\hat f_{\rm ERM})}_{\text{optimisation}}",
    kind="measurement",
    source="keyhole; that the excess risk has these three terms is textbook",
    prediction=(
        "Three latents, four letters, 16 tokens, one masked; heads with room for 1, 2 and 3 latent values, n = 2000, 8000, 32,000: the approximation part falls with the room and is 0 at 3; the slope of the generalization part in log n has −1 in its 99.9 % interval for each; "
        "optimisation adds at most 1 % of the generalization part when training ends by itself, and more than 0, with its whole 99.9 % interval, when it is stopped after 3 steps."
    ),
    could_fail="Another order of the approximation parts, a generalization part of another rate, or training that does not reach the least loss.",
)

TASK = RiskParts(((0.6, 0.3, 0.1), (0.2, 0.3, 0.1), (0.1, 0.2, 0.2), (0.1, 0.2, 0.6)), (1 / 3, 1 / 3, 1 / 3))
LENGTH = 16
VALUES = (1, 2, 3)  # latent values a head has room for; the model has three
SIZES = (2000, 8000, 32_000)
RUNS = {"quick": 24, "paper": 100}
FEW = 3  # steps of L-BFGS, where training is stopped early
LITTLE = 0.01  # of the generalization part, that optimisation may add when training ends by itself


@dataclass(frozen=True)
class Parts:
    """The parts of a head's excess at each size, one number a run."""

    values: int
    approximation: float
    generalization: Mapping[int, Sequence[float]]
    optimisation: Mapping[int, Sequence[float]]


@partial(Experiment, CLAIM)
def experiment(scale: Scale, seed: int) -> Outcome:
    """Heads with room for one, two and three latent values at each size, and one that is stopped early."""
    runs = seeds(seed, RUNS[scale])
    heads = [LatentHead(values, starts=8) for values in VALUES]
    cells = [(TASK, head, LENGTH, n) for head in heads for n in SIZES]
    stopped = (TASK, LatentHead(VALUES[-1], starts=1, steps=FEW), LENGTH, SIZES[0])
    *groups, early = make_groups([*cells, stopped], runs)
    parts = []
    for place, values in enumerate(VALUES):
        found = dict(zip(SIZES, groups[place * len(SIZES) :], strict=False))
        generalization, optimisation = (
            {n: numbers_of(some, name) for n, some in found.items()} for name in ("generalization", "optimisation")
        )
        parts.append(Parts(values, found[SIZES[0]][0].numbers["approximation"], generalization, optimisation))
    return conclude(parts, numbers_of(early, "optimisation"))


def conclude(found: Sequence[Parts], early: Sequence[float]) -> Outcome:
    """The verdict."""
    slopes = {
        part.values: fitted_slope(list(part.generalization), list(part.generalization.values()), level=0.999)
        for part in found
    }
    falling = all(before.approximation > after.approximation for before, after in pairwise(found))
    left = {
        part.values: float(
            np.max([abs(np.mean(part.optimisation[n])) / np.mean(part.generalization[n]) for n in SIZES])
        )
        for part in found
    }
    stopped = mean_of(early)
    missed = [values for values, slope in slopes.items() if not slope.contains(-1.0)]
    unfinished = not all(share <= LITTLE for share in left.values())
    contradicted = missed or not falling or found[-1].approximation > 1e-9 or unfinished or stopped.high < 0
    rows: list[dict[str, Any]] = []
    for part in found:
        name = f"{part.values} latent value{'s' * (part.values != 1)}"
        rows += [
            {"n": n, "excess": float(np.mean(values)), "part": f"generalization, {name}"}
            for n, values in part.generalization.items()
        ]
        if part.approximation > 0:
            rows += [{"n": n, "excess": part.approximation, "part": f"approximation, {name}"} for n in SIZES]
    return Outcome(
        verdict=verdict_of(holds=stopped.low > 0, fails=bool(contradicted)),
        measurement=(
            ".\n".join(
                f"room for {part.values}: approximation {part.approximation:.5f}, generalization "
                f"{', '.join(f'{np.mean(part.generalization[n]):.5f}' for n in SIZES)} (slope {slopes[part.values]:.2f}), "
                f"optimisation at most {left[part.values]:.2g} of that"
                for part in found
            )
            + f".\nStopped after {FEW} steps, optimisation {stopped.value:.5f} ({stopped.low:.5f} to {stopped.high:.5f})."
        ),
        numbers={
            **{f"approximation, room for {part.values}": part.approximation for part in found},
            **{f"slope of generalization, room for {values}": slope.value for values, slope in slopes.items()},
            "optimisation, stopped early": stopped.value,
        },
        interval="Slopes and the early stop: 99.9 %.",
        figures=(
            line_figure(
                "The parts of the excess log loss",
                rows,
                Axis("n", "training sequences n", "log"),
                Axis("excess", "nats", "log"),
                Axis("part", "", "category"),
                subtitle=f"three latents, four letters, {LENGTH} tokens, one masked",
            ),
        ),
        caveats=("The least training loss is the lowest of several starts and of one from the law's own minimum.",),
    )
