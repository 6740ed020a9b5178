"""Does masked-token training from a random start reach the maximum-likelihood estimate, at any length, and no worse for it?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.apps.ledger.pretraining.keeping_runs import NORMAL, fitted_slope, make_groups, mean_of, seeds
from keyhole.apps.ledger.verdict import verdict_of
from keyhole.apps.pretrain.latent_heads import LatentHead
from keyhole.apps.pretrain.masked import fisher_spectrum
from keyhole.apps.pretrain.tasks import MaskedLetters, numbers_of
from keyhole.figure import Axis, line_figure
from keyhole.papers import ZHANG_2022

CLAIM = Claim(
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

TASK = MaskedLetters(((0.4, 0.1), (0.3, 0.15), (0.2, 0.3), (0.1, 0.45)), (0.6, 0.4))
LENGTHS = (2, 3, 4, 8, 16, 32, 64)
N = 2000
SIZES = (500, N, 8000)  # sequences, at eight tokens
MIDDLE = 8
RUNS = {"quick": 40, "paper": 200}  # for training, and as many for the estimate beside it
GROWTH = 0.1  # the largest slope in log T that counts as none


@dataclass(frozen=True)
class Cell:
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


def measure(scale: Scale, seed: int) -> Outcome:
    """Train at every length; the second half of the seeds is for the maximum-likelihood estimate."""
    count = RUNS[scale]
    runs = seeds(seed, 2 * count)
    groups = make_groups([(TASK, LatentHead(2), length, N) for length in LENGTHS], runs)
    cells = []
    for length, results in zip(LENGTHS, groups, strict=True):
        spectrum = [value for value in fisher_spectrum(TASK.model, length) if value]
        cells.append(
            Cell(
                length,
                tuple(N * excess for excess in numbers_of(results[:count], "excess")),
                tuple(N * excess for excess in numbers_of(results[count:], "likeliest_excess")),
                sum(not each.fitted for each in results[:count]),
                len(spectrum),
                spectrum[-1],
            )
        )
    others = [n for n in SIZES if n != N]
    beside = make_groups([(TASK, LatentHead(2), MIDDLE, n) for n in others], runs[:count])
    excess = {n: numbers_of(some, "excess") for n, some in zip(others, beside, strict=True)}
    excess[N] = tuple(value / N for cell in cells if cell.length == MIDDLE for value in cell.trained)
    return conclude(cells, dict(sorted(excess.items())))


def conclude(cells: Sequence[Cell], by_size: Mapping[int, Sequence[float]]) -> Outcome:
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
            + f".\nSlope in log T at rank 7: {growth:.3f}; in log n at T = {MIDDLE}, n = {SIZES[0]} to {SIZES[-1]}: {in_n:.3f}. Limits rank/2: {', '.join(f'{cell.rank / 2:g}' for cell in cells)}; "
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


EXPERIMENTS = (Experiment(CLAIM, measure),)
