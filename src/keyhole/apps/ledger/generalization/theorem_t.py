"""Is a head with content-blind scores really no richer than functions of one position, and those below their rate?"""

from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.arrays import Float
from keyhole.attention import Softmax
from keyhole.bounds.theorems import one_position_rate
from keyhole.decimals import at_least, at_most
from keyhole.figure import Axis, Figure

CLAIM = Claim(
    id="theorem-t",
    title="A head whose scores ignore the symbol is no richer than 2T + 2 one-position functions",
    statement=(
        "With spread R = 0 a head is a convex combination of functions of one position each, so its Rademacher complexity is "
        "that of 2T + 2 signs, whatever its logits and positions. Checked on drawn bits and signs, and on random heads."
    ),
    formula=r"R_m(G)=\mathbb{E}\max_{t,\,e}\frac{1}{m}\sum_i\xi_i\,e(b_{i,t})\;\le\;\sqrt{\frac{2\ln(2T+2)}{m}}",
    kind="inequality",
    source="keyhole, with proof (Theorem T at R = 0); the measured values are new draws",
    prediction=(
        "On every draw no random head correlates more with the signs than the best function of one position. The mean of the latter is "
        "below the bound at every (T, m), and within a factor 2 of it."
    ),
    could_fail="A head above the best function, a lower end of the interval above the bound, or an upper end below half of it.",
)

Bits = Float[np.ndarray, "m T"]
Signs = Float[np.ndarray, "m"]

HEADS = 4  # random heads tried on every draw
SLACK = 1e-12  # rounding
CASES = ((10, 20), (30, 60), (100, 50), (300, 100), (1000, 200))


def measure(scale: Scale, seed: int) -> Outcome:
    """The mean over draws of the largest correlation with signs, with its 99.9 % interval; and heads beside it."""
    rng = np.random.default_rng(seed)
    draws = 300 if scale == "quick" else 3000
    rows: list[dict[str, Any]] = []
    high, low, richest = 0.0, 1.0, 0.0
    for context, samples in CASES:
        values = np.empty(draws)
        for draw in range(draws):
            bits, signs = rng.integers(0, 2, (samples, context)).astype(np.float64), rng.choice([-1.0, 1.0], samples)
            values[draw] = largest_correlation(bits, signs)
            richest = max(richest, best_head(rng, bits, signs) / values[draw])
        mean, half = float(values.mean()), 3.29 * float(values.std(ddof=1)) / draws**0.5
        bound = one_position_rate(context, samples)
        high, low = max(high, (mean - half) / bound), min(low, (mean + half) / bound)
        common = {"T": context, "m": samples}
        rows.append({**common, "complexity": mean, "low": mean - half, "high": mean + half, "what": "measured"})
        rows.append({**common, "complexity": bound, "low": bound, "high": bound, "what": "bound"})
    first = rows[0]
    as_predicted = high <= 1 and low >= 0.5 and richest <= 1 + SLACK
    return Outcome(
        verdict="holds" if as_predicted else "fails here",
        measurement=f"The complexity measured is {at_least(low, places=3)} to {at_most(high, places=3)} times its bound, by the smallest upper and the largest lower end. "
        f"At T = 10, m = 20 the complexity itself is {first['complexity']:.3f}. "
        f"None of {HEADS * draws * len(CASES):,} random heads correlates more than the best function; the largest ratio is {richest:.3f}.",
        numbers={
            "measured at T = 10, m = 20": first["complexity"],
            "largest lower end / bound": high,
            "best head / best function of one position": richest,
        },
        interval=f"99.9 % normal intervals over {draws} draws each; at T = 10: {first['low']:.3f} to {first['high']:.3f}.",
        figures=(
            Figure(
                title="Complexity of content-blind heads",
                subtitle="measured by drawing bits and signs, and the bound √(2 ln(2T+2)/m)",
                kind="points",
                rows=tuple(rows),
                x=Axis("T", "context length T", "log"),
                y=Axis("complexity", "Rademacher complexity"),
                colour=Axis("what", "", "category"),
                low="low",
                high="high",
            ),
        ),
    )


def largest_correlation(bits: Bits, signs: Signs) -> float:
    """Max over positions and sign patterns of the correlation with the signs.

    For one position the four patterns e ∈ {±1}² give ±(sum over zeros) ± (sum over ones), so the best is the sum of their
    absolute values.
    """
    ones = signs @ bits
    zeros = signs.sum() - ones
    return float((np.abs(ones) + np.abs(zeros)).max()) / len(signs)


def best_head(rng: np.random.Generator, bits: Bits, signs: Signs) -> float:
    """The largest correlation of some random heads with the signs: scores by position alone, values in [−1, 1].

    Each head's scores are spread by 0 to 30, from uniform attention to one position; half of them lean to the position
    that correlates best, so that the maximum is nearly reached.
    """
    samples, context = bits.shape
    gains = np.abs(signs @ (2 * bits - 1))
    best = 0.0
    for head in range(HEADS):
        scores = rng.uniform(0, 30) * (rng.random(context) if head % 2 else gains / max(gains.max(), 1.0))
        weights = Softmax()(scores)
        values = rng.choice([-1.0, 1.0], 2) if head % 4 < 2 else np.array([-1.0, 1.0])
        answers = np.where(bits > 0, values[1], values[0]) @ weights
        best = max(best, abs(float(signs @ answers)) / samples)
    return best


EXPERIMENTS = (Experiment(CLAIM, measure),)
