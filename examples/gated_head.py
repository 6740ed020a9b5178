"""A gated head, which is in no paper: a new architecture gets a bound in a few lines, and is put to the test.

The head's output is multiplied by one gate, sigmoid(⟨u, z⟩), before it is read out. A gate lies in [0, 1] and
sigmoid is ¼-Lipschitz, so |γh − γ̂ĥ| ≤ ‖h − ĥ‖ + radius · ¼ |⟨u − û, z⟩|: one more term, and no more theory.
"""

from math import exp, hypot, inf
from random import Random
from typing import NamedTuple

from keyhole.bounds.construction_norms import hypothetical
from keyhole.bounds.covers.calculus import Cover
from keyhole.bounds.covers.chaining import chained
from keyhole.bounds.covers.heads import heads_cover
from keyhole.bounds.covers.linear import scalar_cover
from keyhole.norm_profile import NormProfile

STEEPEST = 1 / 4  # of the sigmoid, at zero


def gated_cover(profile: NormProfile, gate_norm: float, samples: float) -> Cover:
    """Covers v · sigmoid(⟨u, z⟩) · head(X), ‖u‖ ≤ `gate_norm`."""
    head, radius = heads_cover(profile.blocks[0], profile, samples)
    gate = scalar_cover(gate_norm, profile.query_radius, samples, "gate").through(STEEPEST * radius)
    readout = scalar_cover(profile.readout, radius, samples)
    return (head + gate).through(profile.readout) + readout


Pair = tuple[float, float]
Case = tuple[float, float, Pair, Pair]  # two gate scores, two head outputs


def sides(case: Case, steepest: float = STEEPEST) -> tuple[float, float]:
    """Both sides of the inequality above, outputs in the unit disc."""
    s, t, h, g = case
    a, b = 1 / (1 + exp(-s)), 1 / (1 + exp(-t))
    left = hypot(a * h[0] - b * g[0], a * h[1] - b * g[1])
    return left, hypot(h[0] - g[0], h[1] - g[1]) + steepest * abs(s - t)


class Hunt(NamedTuple):
    """The outcome of a random search for a violation: it refutes, and never proves."""

    refuted: bool
    ratio: float  # the largest ratio of left to right side that was met


def hunt(rng: Random, tries: int = 4000, steepest: float = STEEPEST) -> Hunt:
    """Look for gates and outputs that break the inequality; half of the tries climb from the worst case so far."""

    def in_disc(x: float, y: float) -> tuple[float, float]:
        length = max(1.0, hypot(x, y))
        return x / length, y / length

    def draw() -> Case:
        first = in_disc(rng.gauss(0, 1), rng.gauss(0, 1))
        return rng.gauss(0, 2), rng.gauss(0, 2), first, in_disc(rng.gauss(0, 1), rng.gauss(0, 1))

    def near(x: float) -> float:
        return x + rng.gauss(0, 0.2)

    def vary(s: float, t: float, h: Pair, g: Pair) -> Case:
        return near(s), near(t), in_disc(near(h[0]), near(h[1])), in_disc(near(g[0]), near(g[1]))

    worst, ratio, refuted = draw(), 0.0, False
    for attempt in range(tries):
        case = vary(*worst) if attempt % 2 else draw()
        left, right = sides(case, steepest)
        if left > ratio * right:
            worst, ratio = case, left / right
        refuted = refuted or left > right + 1e-9 * (1 + right)  # more than rounding can explain
    return Hunt(refuted, ratio)


def report(samples: float = 1e10) -> str:
    """The bound with and without the gate, the share of the gate, and the outcome of the hunt."""
    profile = hypothetical(tokens=101, value21=2.0, value=1.0, score=5.0, width=4, readout=3.0)
    cover = gated_cover(profile, 2.0, samples)
    shares = {part.name: part.share for part in cover.step.parts}
    value = chained(cover.capacity, samples).value
    assert value < inf  # noqa: S101  (an example may say what it expects)
    found = hunt(Random(0))  # noqa: S311
    outcome = "refuted" if found.refuted else f"not refuted in 4000 tries, left/right reached {found.ratio:.4f}"
    return f"R_m ≤ {value:.4f}; the gate's share is {shares['gate']:.0%}; {outcome}"


if __name__ == "__main__":
    print(report())
