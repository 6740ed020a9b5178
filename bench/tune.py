"""How the presets were chosen: a rule written down before it was run, on contexts and seeds that are never reported.

Candidates: embedding scale .03, .1, .3 or 1; rate 1e-3 or 3e-3; decay 0 or .1; all else as in `TransformerSettings`.
Conjunctions: and:3 on uniform bits at T = 70, twenty seeds at each of m = 20, 30, 45, 68, 100; the score is the number
of the hundred runs that generalise. Parities: parity:3 from fresh samples at T = 18, batches of 256, at most 8,000
steps, eight seeds; the score is the number that generalise, ties going to the fewest mean steps.

Rule: candidates within ten runs of the best conjunction score (two standard errors) count as equal to it. If one of
them has at least seven of eight parities, only those are kept, and one preset serves both; otherwise `parity` is the
best at parities. `default` is, of the candidates kept, the one of which the largest share is proved: and:3 at T = 350
with m = 250, twenty seeds, runs without an error on fresh inputs certified; ties go to the better conjunction score.
Last, `default` is tried with a dropout of .1, and keeps it if its conjunction score stays within ten runs of the best
and a larger share is proved, at T = 350 with m = 200 on sixty seeds.

Seeds count from one million, those of claims and of the keyboard from less; no claim is measured at T = 18, 70 or 350.
Run it with `make tune`.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from keyhole.api.learn import learn
from keyhole.api.prove_runs import prove_runs
from keyhole.sweeps import Execution, Schedule
from keyhole.sweeps.runs import WorkerPool, core_count
from keyhole.sweeps.runs.run import RunResult, RunSpec, run
from keyhole.training.learners.settings import TransformerSettings
from keyhole.training.learners.transformer import TransformerLearner
from keyhole.training.task import SparseTask

FIRST_SEED = 1_000_000
CONJUNCTION = SparseTask("and:3")
CONJUNCTION_CONTEXT, CONJUNCTION_SAMPLES, CONJUNCTION_SEEDS = 70, (20, 30, 45, 68, 100), 20
PARITY = SparseTask("parity:3")
PARITY_CONTEXT, PARITY_BATCH, PARITY_STEPS, PARITY_SEEDS = 18, 256, 8000, 8
PROOF_CONTEXT, PROOF_SAMPLES, PROOF_SEEDS = 350, 250, 20
DROPOUT, DROPOUT_SAMPLES, DROPOUT_SEEDS = 0.1, 200, 60
ENOUGH_PARITIES, EQUAL = 7, 10


@dataclass(frozen=True)
class Score:
    """What one candidate came to."""

    settings: TransformerSettings
    conjunctions: int
    parities: int
    steps: float  # mean over the parity runs, unsuccessful ones at their limit

    def __str__(self) -> str:
        one = self.settings
        return (
            f"scale {one.embedding_scale:<4} rate {one.rate:<6} decay {one.decay:<4} and:3 {self.conjunctions:>3}/100"
            f"   parity:3 {self.parities}/{PARITY_SEEDS}, mean {self.steps:.0f} steps"
        )


def candidates() -> tuple[TransformerSettings, ...]:
    """The settings among which the rule chooses."""
    return tuple(
        TransformerSettings(embedding_scale=scale, rate=rate, decay=decay)
        for scale, rate, decay in product((0.03, 0.1, 0.3, 1.0), (1e-3, 3e-3), (0.0, 0.1))
    )


def online(settings: TransformerSettings) -> TransformerSettings:
    """The same settings for fresh samples: larger batches and more steps."""
    return replace(settings, batch=PARITY_BATCH, steps=PARITY_STEPS)


def conjunctions(settings: TransformerSettings) -> int:
    """How many of the hundred conjunctions a candidate learns."""
    learner = TransformerLearner(settings)
    return _successes(
        [
            run(RunSpec(CONJUNCTION, learner, CONJUNCTION_CONTEXT, samples, FIRST_SEED + seed))
            for samples in CONJUNCTION_SAMPLES
            for seed in range(CONJUNCTION_SEEDS)
        ]
    )


def score(settings: TransformerSettings) -> Score:
    """Run one candidate on both tasks."""
    learner = TransformerLearner(online(settings))
    parities = [run(RunSpec(PARITY, learner, PARITY_CONTEXT, None, FIRST_SEED + seed)) for seed in range(PARITY_SEEDS)]
    mean = sum(result.steps for result in parities) / len(parities)
    return Score(settings, conjunctions(settings), _successes(parities), mean)


def kept(scores: Sequence[Score]) -> tuple[list[Score], Score | None]:
    """The candidates among which proofs decide, and, where none of them serves parities, the one that does."""
    best = max(one.conjunctions for one in scores)
    equal = [one for one in scores if one.conjunctions >= best - EQUAL]
    both = [one for one in equal if one.parities >= ENOUGH_PARITIES]
    return (both, None) if both else (equal, max(scores, key=lambda one: (one.parities, -one.steps)))


def with_dropout(settings: TransformerSettings, best: int, folder: Path) -> TransformerSettings:
    """The settings with dropout, if they learn as well and more of their models are proved."""
    dropped = replace(settings, dropout=DROPOUT)
    learned = conjunctions(dropped)
    found = [proved(one, folder, DROPOUT_SAMPLES, DROPOUT_SEEDS) for one in (settings, dropped)]
    (won, clean), (won_dropped, clean_dropped) = found
    print(
        f"dropout {DROPOUT}: and:3 {learned}/100; proved {won_dropped} of {clean_dropped}, without it {won} of {clean}",
        flush=True,
    )
    better = won_dropped * max(1, clean) > won * max(1, clean_dropped)
    return dropped if better and learned >= best - EQUAL else settings


def proved(
    settings: TransformerSettings, folder: Path, samples: int = PROOF_SAMPLES, seeds: int = PROOF_SEEDS
) -> tuple[int, int]:
    """How many runs without an error on fresh inputs are proved, and how many there are."""
    schedule = Schedule(samples=(samples,), seeds=seeds, first_seed=FIRST_SEED)
    execution = Execution(folder, keep_weights=True)
    learner = TransformerLearner(settings)
    learned = learn(CONJUNCTION, (PROOF_CONTEXT,), learner, schedule=schedule, execution=execution)
    clean = [row for row in learned.sweep.rows if row.accuracy == 1]
    settled = prove_runs(clean, execution)
    return sum(one.status == "PROVED" for one in settled), len(clean)


def _successes(results: list[RunResult]) -> int:
    return sum(result.success for result in results)


def main() -> None:
    """Run the rule and print what it saw and chose."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with WorkerPool(core_count(), folder) as pool:
            found = pool.map(score, candidates())
            scores = []
            for one in found:
                scores.append(one)
                print(one, flush=True)
        left, parity = kept(scores)
        shares = {}
        for one in left:
            won, clean = proved(one.settings, folder)
            shares[one.settings] = won / max(1, clean)
            print(f"proved {won} of {clean}: {one}", flush=True)
        chosen = max(left, key=lambda one: (shares[one.settings], one.conjunctions)).settings
        default = with_dropout(chosen, max(one.conjunctions for one in scores), folder)
    print(f"default: {default}")
    print("parity:", chosen if parity is None else online(parity.settings))


if __name__ == "__main__":
    main()
