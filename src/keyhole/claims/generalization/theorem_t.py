"""Is the complexity of a head with content-blind scores really below the one-position rate?"""

from typing import Any

import numpy as np

from keyhole.bounds.theorems import one_position_rate
from keyhole.claims.finding import Outcome, Scale
from keyhole.decimals import at_least, at_most
from keyhole.figure import Axis, Figure

CASES = ((10, 20), (30, 60), (100, 50), (300, 100), (1000, 200))


def measure(scale: Scale, seed: int) -> Outcome:
    """The mean over draws of the largest correlation with signs, with its 99.9 % interval."""
    rng = np.random.default_rng(seed)
    draws = 300 if scale == "quick" else 3000
    rows: list[dict[str, Any]] = []
    high, low = 0.0, 1.0
    for context, samples in CASES:
        values = np.array([largest_correlation(rng, context, samples) for _ in range(draws)])
        mean, half = float(values.mean()), 3.29 * float(values.std(ddof=1)) / draws**0.5
        bound = one_position_rate(context, samples)
        high, low = max(high, (mean - half) / bound), min(low, (mean + half) / bound)
        common = {"T": context, "m": samples}
        rows.append({**common, "complexity": mean, "low": mean - half, "high": mean + half, "what": "measured"})
        rows.append({**common, "complexity": bound, "low": bound, "high": bound, "what": "bound"})
    first = rows[0]
    as_predicted = high <= 1 and low >= 0.5
    return Outcome(
        verdict="holds" if as_predicted else "fails here",
        measurement=f"Measured over bound between {at_least(low, places=3)} and {at_most(high, places=3)}; {first['complexity']:.3f} at T = 10, m = 20.",
        numbers={"measured at T = 10, m = 20": first["complexity"], "largest lower end / bound": high},
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


def largest_correlation(rng: np.random.Generator, context: int, samples: int) -> float:
    """Max over positions and sign patterns of the correlation with random signs, for one draw of uniform bits.

    For one position the four patterns e ∈ {±1}² give ±(sum over zeros) ± (sum over ones), so the best is the sum of their
    absolute values.
    """
    bits = rng.integers(0, 2, (samples, context)).astype(np.float64)
    signs = rng.choice([-1.0, 1.0], samples)
    ones = signs @ bits
    zeros = signs.sum() - ones
    return float((np.abs(ones) + np.abs(zeros)).max()) / samples
