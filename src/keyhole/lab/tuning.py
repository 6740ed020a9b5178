"""How the presets were chosen: a rule written down before it was run, on contexts and seeds that are never reported.

Rule. Candidates: embedding scale .1, .3 or 1; rate 1e-3 or 3e-3; decay 0 or .1; all else as in `Transformer`.
Conjunctions: and:3 on uniform bits at T = 70, twenty seeds at each of m = 20, 30, 45, 68, 100; the score is the number
of runs that generalise. Parities: parity:3 from fresh samples at T = 18, batches of 256, at most 8,000 steps, eight
seeds; the score is the number that generalise, ties going to the fewest mean steps. One preset serves both if some
candidate has at least seven of eight parities and at least 90 % of the best conjunction score; the best conjunction
score among those is taken. Otherwise there are two presets, each the best for its task. Seeds count from one million;
the laboratory's own count from zero, and T = 18 and T = 70 are in no study.

Run it with `make tune`.
"""

from dataclasses import dataclass, replace
from itertools import product

from keyhole.lab.cell import Cell
from keyhole.lab.running import Result, run
from keyhole.lab.task import SparseTask
from keyhole.lab.transformer import Transformer

FIRST_SEED = 1_000_000
CONJUNCTION = SparseTask("and:3")
CONJUNCTION_CONTEXT, CONJUNCTION_SAMPLES, CONJUNCTION_SEEDS = 70, (20, 30, 45, 68, 100), 20
PARITY = SparseTask("parity:3")
PARITY_CONTEXT, PARITY_BATCH, PARITY_STEPS, PARITY_SEEDS = 18, 256, 8000, 8
ENOUGH_PARITIES, ENOUGH_CONJUNCTIONS = 7, 0.9


@dataclass(frozen=True)
class Score:
    """What one candidate came to."""

    settings: Transformer
    conjunctions: int
    parities: int
    steps: float  # mean over the parity runs, unsuccessful ones at their limit


def candidates() -> tuple[Transformer, ...]:
    """The settings among which the rule chooses."""
    return tuple(
        Transformer(embedding_scale=scale, rate=rate, decay=decay)
        for scale, rate, decay in product((0.1, 0.3, 1.0), (1e-3, 3e-3), (0.0, 0.1))
    )


def online(settings: Transformer) -> Transformer:
    """The same settings for fresh samples: larger batches and more steps."""
    return replace(settings, batch=PARITY_BATCH, steps=PARITY_STEPS)


def score(settings: Transformer) -> Score:
    """Run one candidate on both tasks."""
    conjunctions = [
        run(Cell(CONJUNCTION, settings, CONJUNCTION_CONTEXT, samples, FIRST_SEED + seed))
        for samples in CONJUNCTION_SAMPLES
        for seed in range(CONJUNCTION_SEEDS)
    ]
    parities = [
        run(Cell(PARITY, online(settings), PARITY_CONTEXT, None, FIRST_SEED + seed)) for seed in range(PARITY_SEEDS)
    ]
    return Score(
        settings, _successes(conjunctions), _successes(parities), sum(r.steps for r in parities) / len(parities)
    )


def choose(scores: tuple[Score, ...]) -> dict[str, Transformer]:
    """The presets the rule makes of the scores: `default` alone, or `default` for conjunctions and `parity`."""
    best = max(scores, key=lambda one: one.conjunctions)
    both = [
        one
        for one in scores
        if one.parities >= ENOUGH_PARITIES and one.conjunctions >= ENOUGH_CONJUNCTIONS * best.conjunctions
    ]
    if both:
        return {"default": max(both, key=lambda one: one.conjunctions).settings}
    parity = max(scores, key=lambda one: (one.parities, -one.steps))
    return {"default": best.settings, "parity": online(parity.settings)}


def _successes(results: list[Result]) -> int:
    return sum(result.success for result in results)


def main() -> None:
    """Run the rule and print what it saw and chose."""
    scores = []
    for settings in candidates():
        scores.append(score(settings))
        one = scores[-1]
        print(  # noqa: T201  (a program of its own)
            f"scale {settings.embedding_scale:<4} rate {settings.rate:<6} decay {settings.decay:<4} "
            f"and:3 {one.conjunctions:>3}/100   parity:3 {one.parities}/8, mean {one.steps:.0f} steps",
            flush=True,
        )
    for name, settings in choose(tuple(scores)).items():
        print(f"{name}: {settings}")  # noqa: T201


if __name__ == "__main__":
    main()
