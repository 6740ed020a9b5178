"""Does the excess risk of a tied learner depend on the length of its input, and that of an untied one?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.pretraining.keeping_runs import fitted_slope, make_groups, mean_of, seeds
from keyhole.apps.ledger.verdict import verdict_of
from keyhole.apps.pretrain.tasks import LeastSquares, PooledLabels, numbers_of
from keyhole.figure import Axis, line_figure
from keyhole.papers import ZHANG_2022

CLAIM = Claim(
    id="supervised-length",
    title="With tied weights the excess risk of supervised learning does not grow with the input; with a weight for each place it does",
    statement=(
        "In a Gaussian location, least squares on the mean of the tokens has the expected excess risk v_T d/(n − d − 1), where v_T is the Bayes risk, which falls with T. "
        "Least squares with a weight for each place has v_T Td/(n − Td − 1), which grows. Both classes hold the Bayes predictor."
    ),
    formula=r"\mathbb E[R(\hat f)-R^*]=v_T\,\frac{P}{n-P-1},\qquad P=d\ \text{(tied)},\ Td\ \text{(untied)}",
    kind="measurement",
    source="claim (c) of Zhang et al. (2022, abstract) is a generalization error independent of the input size; this instance and its closed form are keyhole's",
    prediction=(
        "At d = 4, n = 300 and T = 2, 4, …, 64: both closed forms in the 99.9 % intervals of the measured means; the slope of the tied excess in log T is at most 0 and that of the untied one above 0, "
        "with their whole 95 % intervals; the slope in log n at T = 8 has that of the closed form, about −1, in its 99.9 % interval."
    ),
    could_fail="A closed form outside its interval, a tied excess that grows with T, an untied one that does not, or another slope in n.",
    papers=(ZHANG_2022,),
)

LENGTHS = (2, 4, 8, 16, 32, 64)
SIZES = (75, 150, 300, 600, 1200)  # sequences, at eight tokens
N = 300
BATCHES = {"quick": 40, "paper": 200}  # runs of 10 training sets each
TASK = PooledLabels(repeats=10)
LEVEL = 0.999


@dataclass(frozen=True)
class Cell:
    """The excess risks of a learner at a length and a size, a number per run, and their exact expectation."""

    tied: bool
    length: int
    n: int
    found: tuple[float, ...]
    expected: float


def measure(scale: Scale, seed: int) -> Outcome:
    """Least squares at every length, tied and untied, and at every size, tied."""
    wanted = [(tied, length, N) for tied in (True, False) for length in LENGTHS] + [
        (True, 8, n) for n in SIZES if n != N
    ]
    runs = seeds(seed, BATCHES[scale])
    groups = make_groups([(TASK, LeastSquares(tied), length, n) for tied, length, n in wanted], runs)
    return conclude(
        [
            Cell(*cell, numbers_of(found, "excess"), found[0].numbers["expected"])
            for cell, found in zip(wanted, groups, strict=True)
        ]
    )


def conclude(cells: Sequence[Cell]) -> Outcome:
    """The verdict: closed forms inside their intervals, no growth with the length when tied, growth when untied."""
    by_length = {tied: [cell for cell in cells if cell.tied == tied and cell.n == N] for tied in (True, False)}
    slopes = {
        tied: fitted_slope([cell.length for cell in some], [cell.found for cell in some])
        for tied, some in by_length.items()
    }
    by_size = sorted((cell for cell in cells if cell.tied and cell.length == 8), key=lambda cell: cell.n)
    in_n = fitted_slope([cell.n for cell in by_size], [cell.found for cell in by_size], level=LEVEL)
    exact_in_n = float(
        np.polyfit(np.log([cell.n for cell in by_size]), np.log([cell.expected for cell in by_size]), 1)[0]
    )
    missed = [cell for cell in cells if not mean_of(cell.found, LEVEL).contains(cell.expected)]
    contradicted = missed or slopes[True].low > 0 or slopes[False].high < 0 or not in_n.contains(exact_in_n)
    decided = slopes[True].high <= 0 and slopes[False].low > 0
    rows: list[dict[str, Any]] = []
    for tied, some in by_length.items():
        name = "tied" if tied else "untied"
        for cell in some:
            mean = mean_of(cell.found, LEVEL)
            low, exact = max(mean.low, mean.value / 10), cell.expected
            rows += [
                {"T": cell.length, "excess": mean.value, "low": low, "high": mean.high, "learner": name},
                {"T": cell.length, "excess": exact, "low": exact, "high": exact, "learner": f"{name}, exact"},
            ]
    ends = {tied: (some[0], some[-1]) for tied, some in by_length.items()}
    return Outcome(
        verdict=verdict_of(holds=decided, fails=bool(contradicted)),
        measurement=(
            f"Excess risk, whose slope in log T says whether it grows, from T = {LENGTHS[0]} to {LENGTHS[-1]}: tied {np.mean(ends[True][0].found):.5f} to {np.mean(ends[True][1].found):.5f}, "
            f"slope in log T {slopes[True]:.3f}; untied {np.mean(ends[False][0].found):.4f} to {np.mean(ends[False][1].found):.4f}, slope {slopes[False]:.3f}. "
            f"Slope in log n, tied, {in_n:.3f}; exact {exact_in_n:.3f}. {len(cells) - len(missed)} of {len(cells)} closed forms in their 99.9 % intervals."
        ),
        numbers={
            "tied slope in log T": slopes[True].value,
            "untied slope in log T": slopes[False].value,
            "tied slope in log n": in_n.value,
            "closed forms missed": float(len(missed)),
        },
        interval="Slopes in log T: 95 %, runs resampled at each length. Slope in log n, and means: 99.9 %.",
        figures=(
            line_figure(
                "Excess risk of least squares against the length",
                rows,
                Axis("T", "tokens T", "log"),
                Axis("excess", "excess risk", "log"),
                Axis("learner", "", "category"),
                subtitle=f"{N} sequences of a Gaussian location in four dimensions; tied: one weight for all places",
                band=True,
            ),
        ),
        caveats=(
            "Only the estimation error is free of the length: the Bayes risk itself falls, since the posterior sharpens.",
        ),
    )


EXPERIMENTS = (Experiment(CLAIM, measure),)
