"""A claim of your own: state it with a prediction, write the function that measures it, and have it judged.

Run with: python examples/own_claim.py
"""

import tempfile

import numpy as np

from keyhole.apps.ledger import Claim, Experiment, Outcome, Scale, register, reproduce
from keyhole.bounds import softmax_move
from keyhole.figure import Axis, Figure

CLAIM = Claim(
    id="softmax-pairs",
    title="For small moves of two opposite scores the bound of softmax is used up",
    statement="Two scores that move against each other by a small Δ move the weights by 2 tanh(Δ/2), to one per cent.",
    formula=r"\|\Delta p\|_1 = 2\tanh(\Delta/2)",
    kind="measurement",
    source="the author of this file",
    prediction="The ratio of move to bound is at least 0.99 for scores drawn within 0.1 of each other.",
    could_fail="One pair of scores whose ratio is below 0.99.",
)


def measure(scale: Scale, seed: int) -> Outcome:
    """Draw pairs of near scores, move them apart by a small Δ, and compare the move of the weights with its bound."""
    rng = np.random.default_rng(seed)
    moves = np.geomspace(1e-3, 0.1, 9)
    rows = [{"move": float(move), "ratio": used(rng, move, 100 if scale == "quick" else 10_000)} for move in moves]
    least = min(row["ratio"] for row in rows)
    return Outcome(
        verdict="holds" if least >= 0.99 else "fails here",
        measurement=f"The least ratio is {least:.4f}.",
        numbers={"least ratio": least},
        interval="None: every pair must do.",
        figures=(
            Figure("Share of the bound", "lines", tuple(rows), Axis("move", "Δ", "log"), Axis("ratio", "least ratio")),
        ),
    )


def used(rng: np.random.Generator, move: float, draws: int) -> float:
    """The least share of the bound that a pair of near scores uses when it is moved by ±Δ/2."""
    gaps = rng.uniform(-0.1, 0.1, draws)
    first, second = (1 / (1 + np.exp(-(gaps + turn * move))) for turn in (-1, 1))  # weight of the first score
    return float((2 * np.abs(second - first)).min() / softmax_move(move))


if __name__ == "__main__":
    register(Experiment(CLAIM, measure))
    with tempfile.TemporaryDirectory() as folder:
        found = reproduce([CLAIM.id], folder=folder)
        outcome = found.findings[0].outcome
        print(f"predicted: {CLAIM.prediction}\nmeasured: {outcome.measurement}\nverdict: {outcome.verdict}")
        print(f"page: {found.page.name}, {found.page.stat().st_size:,} bytes")
