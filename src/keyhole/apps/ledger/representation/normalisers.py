"""How far do attention weights move when scores do: by softmax, and by other normalisers?"""

from functools import partial
from typing import Any

import numpy as np

from keyhole.apps.ledger.finding import Claim, Experiment, Outcome, Scale
from keyhole.attention import Entmax15, Linear, Normaliser, Sigmoid, Softmax, Sparsemax, Uniform
from keyhole.bounds import softmax_move
from keyhole.figure import Axis, line_figure
from keyhole.papers import EDELMAN_2022

SMOOTH = Claim(
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


@partial(Experiment, SMOOTH)
def smoothness(scale: Scale, seed: int) -> Outcome:
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


CONSTANTS = Claim(
    id="normaliser-constants",
    title="Softmax keeps its constant as T grows; sparsemax, entmax and sigmoid do not",
    statement=(
        "The ℓ∞→ℓ1 constant is 1 for softmax at every T. It grows like T for sparsemax, like √T for entmax-1.5, like T/4 "
        "for sigmoid gates and like T for linear attention, so the log T argument is not theirs."
    ),
    formula=r"\sup_{u\ne u'}\frac{\|N(u)-N(u')\|_1}{\|u-u'\|_\infty}\in\left\{1,\;T,\;\sqrt{T},\;\tfrac{T}{4},\;T\right\}",
    kind="inequality",
    source="keyhole, with proof (even T)",
    prediction="Slopes of the constant against T on log axes: softmax 0, sparsemax 1, entmax-1.5 ½, sigmoid 1, linear 1.",
    could_fail="A stretch above the stated constant, or a slope off by more than 0.02.",
    papers=(EDELMAN_2022,),
)

NORMALISERS: dict[str, tuple[Normaliser, float]] = {  # each with its slope
    "softmax": (Softmax(), 0.0),
    "sparsemax": (Sparsemax(), 1.0),
    "entmax-1.5": (Entmax15(), 0.5),
    "sigmoid": (Sigmoid(), 1.0),
    "linear": (Linear(), 1.0),
    "uniform": (Uniform(), 0.0),
}
STEP = 1e-4  # a small move; the stretch of a smooth map differs from its limit by O(STEP²)


@partial(Experiment, CONSTANTS)
def constants(scale: Scale, seed: int) -> Outcome:
    """The stretch of each normaliser at even scores, moved up on one half and down on the other, and at random."""
    rng = np.random.default_rng(seed)
    lengths = [2**power for power in range(1, 9 if scale == "quick" else 13)]
    rows: list[dict[str, Any]] = []
    above = 0.0
    for name, (normaliser, _) in NORMALISERS.items():
        for tokens in lengths:
            best = stretch(normaliser, np.zeros(tokens), np.where(np.arange(tokens) % 2, 1.0, -1.0))
            for _ in range(20 if scale == "quick" else 100):
                best = max(best, stretch(normaliser, rng.normal(size=tokens), rng.choice([-1.0, 1.0], tokens)))
            stated = normaliser.constant_at(tokens)
            above = max(above, best - stated * (1 + 1e-6) - 1e-9)
            rows.append({"T": tokens, "stretch": best, "stated": stated, "normaliser": name})
    slopes = {name: slope([row for row in rows if row["normaliser"] == name]) for name in NORMALISERS}
    off = max(abs(slopes[name] - expected) for name, (_, expected) in NORMALISERS.items())
    return Outcome(
        verdict="holds" if above <= 0 and off <= 0.02 else "fails here",
        measurement="Slopes against T: "
        + ", ".join(f"{name} {round(value, 3) + 0.0:.3f}" for name, value in slopes.items())
        + ".",
        numbers={f"slope of {name}": value for name, value in slopes.items()},
        interval="None: constants with a proof; the slopes are fitted to exact stretches.",
        figures=(
            line_figure(
                "Stretch of a normaliser against length",
                [row for row in rows if row["normaliser"] != "uniform"],
                Axis("T", "number of scores T", "log"),
                Axis("stretch", "ℓ1 move per ℓ∞ move", "log"),
                Axis("normaliser", "normaliser", "category"),
                subtitle="largest ‖ΔN‖₁ / ‖Δu‖∞ found at small moves",
            ),
        ),
        caveats=("Uniform weights never move; they have no place on a logarithmic axis.",),
    )


def stretch(normaliser: Normaliser, scores: np.ndarray, signs: np.ndarray) -> float:
    """The ℓ1 move per unit of ℓ∞ when the scores move a little along these signs."""
    moved = normaliser(scores + STEP * signs / 2) - normaliser(scores - STEP * signs / 2)
    return float(np.abs(moved).sum()) / STEP


def slope(rows: list[dict[str, Any]]) -> float:
    """The slope of log stretch against log T, over the upper half of the lengths; 0 where nothing moves."""
    upper = rows[len(rows) // 2 :]
    if min(row["stretch"] for row in upper) <= 0:
        return 0.0
    lengths, stretches = (np.log([row[name] for row in upper]) for name in ("T", "stretch"))
    return float(np.polyfit(lengths, stretches, 1)[0])
