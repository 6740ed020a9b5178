"""Does the excess risk grow with the length of the input, of least squares and of masked-token training?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.kept_runs import make_groups, seeds
from keyhole.apps.ledger.verdict import NORMAL, fitted_slope, mean_of, verdict_of
from keyhole.apps.pretrain.latent_heads import LatentHead
from keyhole.apps.pretrain.masked import fisher_spectrum
from keyhole.apps.pretrain.tasks import LeastSquares, MaskedLetters, PooledLabels, numbers_of
from keyhole.figure import Axis, line_figure
from keyhole.papers import ZHANG_2022

SUPERVISED = Claim(
    id="supervised-length",
    title="With tied weights the excess risk of supervised learning does not grow with the input; with a weight for each place it does",
    statement=(
        "In a Gaussian location, least squares on the mean of the tokens has the expected excess risk v_T d/(n − d − 1), where v_T is the Bayes risk, which falls with T. "
        "Least squares with a weight for each place has v_T Td/(n − Td − 1), which grows. Both classes hold the Bayes predictor."
    ),
    formula=r"\mathbb E[R(\hat f)-R^*]=v_T\,\frac{P}{n-P-1},\qquad P=d\ \text{(tied)},\ Td\ \text{(untied)}",
    kind="identity",
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
SEQUENCES = 300
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


@partial(Experiment, SUPERVISED)
def supervised(scale: Scale, seed: int) -> Outcome:
    """Least squares at every length, tied and untied, and at every size, tied."""
    wanted = [(tied, length, SEQUENCES) for tied in (True, False) for length in LENGTHS] + [
        (True, 8, n) for n in SIZES if n != SEQUENCES
    ]
    runs = seeds(seed, BATCHES[scale])
    groups = make_groups([(TASK, LeastSquares(tied), length, n) for tied, length, n in wanted], runs)
    return conclude_supervised(
        [
            Cell(*cell, numbers_of(found, "excess"), found[0].numbers["expected"])
            for cell, found in zip(wanted, groups, strict=True)
        ]
    )


def conclude_supervised(cells: Sequence[Cell]) -> Outcome:
    """The verdict: closed forms inside their intervals, no growth with the length when tied, growth when untied."""
    by_length = {tied: [cell for cell in cells if cell.tied == tied and cell.n == SEQUENCES] for tied in (True, False)}
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
                subtitle=f"{SEQUENCES} sequences of a Gaussian location in four dimensions; tied: one weight for all places",
                band=True,
            ),
        ),
        caveats=(
            "Only the estimation error is free of the length: the Bayes risk itself falls, since the posterior sharpens.",
        ),
    )


MASKED = Claim(
    id="masked-length",
    title="Masked-token training from a random start reaches maximum likelihood, at every length alike",
    statement=(
        "Attention to latent values, trained on masked tokens by gradients from a random start, has the excess KL of the maximum-likelihood estimate. As n grows at a fixed length that is rank(F)/(2n), "
        "F the Fisher matrix of one sequence; it does not grow with the length."
    ),
    formula=r"n\,\mathbb E\,\mathrm{KL}\to\tfrac12\operatorname{rank}F",
    kind="measurement",
    source="claim (c) of Zhang et al. (2022, abstract), self-supervised; the instance is keyhole's, the limit textbook",
    prediction=(
        "Two latents, four letters, n = 2000, T = 2, 3, 4, 8, …, 64 tokens, one masked: at each T the mean excess KL of trained heads is within the 99.9 % interval of the difference to that of the exact estimate on other data sets. "
        "Over the lengths with rank 7 the slope in log T lies below 0.1 with its whole 95 % interval; at T = 8 and n = 500 to 8000 the slope in log n has −1 in its 99.9 % interval. Rank 6 at T = 2, 7 beyond."
    ),
    could_fail="A length at which training ends away from the estimate, an excess that grows with the length, or one that falls at another rate in n.",
    papers=(ZHANG_2022,),
)

LETTERS = MaskedLetters(((0.4, 0.1), (0.3, 0.15), (0.2, 0.3), (0.1, 0.45)), (0.6, 0.4))
TOKENS = (2, 3, 4, 8, 16, 32, 64)
N = 2000
SAMPLES = (500, N, 8000)  # sequences, at eight tokens
MIDDLE = 8
RUNS = {"quick": 40, "paper": 200}  # for training, and as many for the estimate beside it
GROWTH = 0.1  # the largest slope in log T that counts as none


@dataclass(frozen=True)
class MaskedCell:
    """n times the excess KL at one length: trained runs, the exact estimate on other data, and the Fisher limit."""

    length: int
    trained: tuple[float, ...]
    likeliest: tuple[float, ...]
    unoptimised: int  # trained runs whose training loss is above the least that is known
    rank: int
    least: float  # the least nonzero eigenvalue of the Fisher matrix

    @property
    def difference(self) -> tuple[float, float]:
        """The difference of the two means, and the reach of its 99.9 % interval."""
        spread = sum(float(np.var(values, ddof=1)) / len(values) for values in (self.trained, self.likeliest))
        return float(np.mean(self.trained) - np.mean(self.likeliest)), NORMAL[0.999] * spread**0.5


@partial(Experiment, MASKED)
def masked(scale: Scale, seed: int) -> Outcome:
    """Train at every length; the second half of the seeds is for the maximum-likelihood estimate."""
    count = RUNS[scale]
    runs = seeds(seed, 2 * count)
    groups = make_groups([(LETTERS, LatentHead(2), length, N) for length in TOKENS], runs)
    cells = []
    for length, results in zip(TOKENS, groups, strict=True):
        spectrum = [value for value in fisher_spectrum(LETTERS.model, length) if value]
        cells.append(
            MaskedCell(
                length,
                tuple(N * excess for excess in numbers_of(results[:count], "excess")),
                tuple(N * excess for excess in numbers_of(results[count:], "likeliest_excess")),
                sum(not each.fitted for each in results[:count]),
                len(spectrum),
                spectrum[-1],
            )
        )
    others = [n for n in SAMPLES if n != N]
    beside = make_groups([(LETTERS, LatentHead(2), MIDDLE, n) for n in others], runs[:count])
    excess = {n: numbers_of(some, "excess") for n, some in zip(others, beside, strict=True)}
    excess[N] = tuple(value / N for cell in cells if cell.length == MIDDLE for value in cell.trained)
    return conclude_masked(cells, dict(sorted(excess.items())))


def conclude_masked(cells: Sequence[MaskedCell], by_size: Mapping[int, Sequence[float]]) -> Outcome:
    """The verdict: the trained mean in the estimate's interval at each length, no growth with it, and the rate 1/n."""
    in_n = fitted_slope(list(by_size), list(by_size.values()), level=0.999)
    away = [cell for cell in cells if abs(cell.difference[0]) > cell.difference[1]]
    same_rank = [cell for cell in cells if cell.rank == max(each.rank for each in cells)]
    growth = fitted_slope([cell.length for cell in same_rank], [cell.trained for cell in same_rank])
    contradicted = bool(away) or growth.low > GROWTH or not in_n.contains(-1.0)
    rows: list[dict[str, Any]] = []
    for cell in cells:
        for name, values in (
            ("trained from a random start", cell.trained),
            ("maximum likelihood, other data", cell.likeliest),
        ):
            mean = mean_of(values)
            rows.append({"T": cell.length, "excess": mean.value, "low": mean.low, "high": mean.high, "curve": name})
        limit = cell.rank / 2
        rows.append({"T": cell.length, "excess": limit, "low": limit, "high": limit, "curve": "limit as n → ∞: rank/2"})
    small = [cell.length for cell in cells if cell.least * N < 10]
    failed = {cell.length: cell.unoptimised for cell in cells if cell.unoptimised}
    sentence = (
        f"Not optimised, by a training loss above the least known: {failed}."
        if failed
        else "Every run reached the least training loss known."
    )
    return Outcome(
        verdict=verdict_of(holds=growth.high < GROWTH, fails=contradicted),
        measurement=(
            f"n × excess KL at n = {N}, trained (in brackets: maximum likelihood, on other data): "
            + ", ".join(
                f"T = {cell.length} {np.mean(cell.trained):.2f} ({np.mean(cell.likeliest):.2f})" for cell in cells
            )
            + f".\nSlope in log T at rank 7: {growth:.3f}; in log n at T = {MIDDLE}, n = {SAMPLES[0]} to {SAMPLES[-1]}: {in_n:.3f}. Limits rank/2: {', '.join(f'{cell.rank / 2:g}' for cell in cells)}; "
            f"n is below 10/(least Fisher eigenvalue) at T = {', '.join(map(str, small)) or 'none'}, where they need not be reached. {sentence}"
        ),
        numbers={
            "slope in log T": growth.value,
            "slope in log n": in_n.value,
            "lengths outside the interval": float(len(away)),
            "runs not optimised": float(sum(cell.unoptimised for cell in cells)),
            "largest distance from the estimate's mean": max(abs(cell.difference[0]) for cell in cells),
        },
        interval="Differences of means, and the slope in log n: 99.9 %. Slope in log T: 95 %, runs resampled at each length.",
        figures=(
            line_figure(
                "Masked-token training against the length",
                rows,
                Axis("T", "tokens T, one of them masked", "log"),
                Axis("excess", "n × excess KL, nats"),
                Axis("curve", "", "category"),
                subtitle=f"two latents, four letters, n = {N}; means with 99.9 % intervals",
                band=True,
            ),
        ),
        caveats=(
            "L-BFGS with exact slopes, log-ratios N(0, 0.3²) at the start, the better of two starts by training loss. The head has the model's own architecture, so that nothing is lost to approximation.",
            "With two tokens in all only the law of pairs is seen: rank 6, and no part of the slope.",
        ),
    )
