"""Does softmax move by at most 2 tanh(Δ/2) in ℓ1 when its scores move by Δ in ℓ∞, at every length?"""

from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.attention import Softmax
from keyhole.bounds import softmax_move
from keyhole.figure import Axis, line_figure
from keyhole.papers import EDELMAN_2022

CLAIM = Claim(
    id="softmax-smoothness",
    title="Softmax is smooth from ℓ∞ to ℓ1, with a constant free of T",
    statement=(
        "However many scores there are, moving each by at most Δ moves the attention weights by at most 2 tanh(Δ/2) in "
        "ℓ1. This is why capacity grows only with log T."
    ),
    formula=r"\|\mathrm{softmax}(u)-\mathrm{softmax}(u')\|_1\le 2\tanh\left(\tfrac{1}{2}\|u-u'\|_\infty\right)",
    kind="inequality",
    source="keyhole, with proof; the smoothness is the key fact of Edelman et al. (2022), whose constant is recalled as 2",
    prediction="The ratio of move to bound never exceeds 1, at any T, and is 1 for two opposite scores.",
    could_fail="One pair of score vectors whose ratio exceeds 1 by more than rounding, or a best ratio that stays below 1.",
    papers=(EDELMAN_2022,),
)

ROUNDING = 1e-9  # both sides are sums of up to 10^4 rounded terms near 1


def measure(scale: Scale, seed: int) -> Outcome:
    """The largest ratio over random scores and moves, and over the worst moves: a sign for every score."""
    rng = np.random.default_rng(seed)
    draws = 400 if scale == "quick" else 10_000
    rows: list[dict[str, Any]] = []
    for tokens in (2, 4, 16, 64, 256, 1024, 4096) if scale == "quick" else (2, 3, 4, 8, 16, 64, 256, 1024, 4096, 16384):
        best = {"random moves": 0.0, "worst moves": 0.0}
        for _ in range(max(20, draws // tokens)):
            scores = rng.normal(size=tokens) * rng.choice([0.1, 1.0, 5.0])
            size = float(rng.choice([1e-3, 0.1, 1.0, 5.0]))
            random = size * rng.uniform(-1, 1, tokens)
            best["random moves"] = max(best["random moves"], ratio(scores, scores + random))
            worst = size * split_signs(scores)
            best["worst moves"] = max(best["worst moves"], ratio(scores - worst / 2, scores + worst / 2))
        rows.extend({"T": tokens, "ratio": value, "moves": name} for name, value in best.items())
    pair = np.array([0.5, -0.5])
    attained = ratio(pair, -pair)
    largest = max(row["ratio"] for row in rows)
    holds = largest <= 1 + ROUNDING and abs(attained - 1) <= ROUNDING
    return Outcome(
        verdict="holds" if holds else "fails here",
        measurement=f"Largest ratio {largest:.6f} over T from 2 to {rows[-1]['T']}; two opposite scores give {attained:.9f}.",
        numbers={"largest ratio": largest, "ratio of two opposite scores": attained},
        interval="None: an inequality with a proof. The slack is 1 minus the ratio.",
        figures=(
            line_figure(
                "How much of the bound is used",
                rows,
                Axis("T", "number of scores T", "log"),
                Axis("ratio", "move / bound"),
                Axis("moves", "moves", "category"),
                subtitle="largest ‖Δp‖₁ / 2 tanh(Δ/2) found; 1 is the bound",
            ),
        ),
    )


def ratio(before: np.ndarray, after: np.ndarray) -> float:
    """The ℓ1 move of the softmax over its bound."""
    softmax = Softmax()
    moved = float(np.abs(softmax(after) - softmax(before)).sum())
    return moved / softmax_move(float(np.abs(after - before).max()))


def split_signs(scores: np.ndarray) -> np.ndarray:
    """Signs that put as near to half of the mass as a greedy choice can on each side: the worst move is such a split."""
    mass, side, signs = Softmax()(scores), 0.0, np.empty(len(scores))
    for i in np.argsort(-mass):
        signs[i] = 1.0 if side <= 0 else -1.0
        side += signs[i] * mass[i]
    return signs


EXPERIMENTS = (Experiment(CLAIM, measure),)
