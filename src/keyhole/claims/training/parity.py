"""Does gradient descent find a sparse parity from fresh samples, and what moves before the loss does?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import median

import numpy as np

from keyhole.bounds.finite import clopper_pearson
from keyhole.claims.finding import Outcome, Scale
from keyhole.claims.training.sweeps import read_runs, train
from keyhole.decimals import at_least, at_most
from keyhole.figure import Figure
from keyhole.lab import PROBE, SparseTask
from keyhole.lab.laws import course_figure
from keyhole.lab.learners import TransformerLearner, preset
from keyhole.lab.runs import RunResult
from keyhole.verdicts import ClaimVerdict

TASK = SparseTask("parity:3")
NETWORK = TransformerLearner(replace(preset("parity"), every=10))  # readings close enough to tell what moves first
SEEDS = {"quick": {10: 6, 15: 10, 20: 10}, "paper": {10: 20, 15: 20, 20: 20, 30: 20, 40: 20}}
POOLED = (15, 20)
ENOUGH = 0.9
UNUSUAL = 5.0  # a square of a standard normal: what both marks of noise are exceeded by with the same small chance
NOISE = UNUSUAL / PROBE  # of the share of one character on the probe inputs
CHANCE = 0.5 + (UNUSUAL / PROBE) ** 0.5 / 2  # of the accuracy on them
LOW, HIGH = 0.6, 0.95
EARLIER = 0.1  # of the plateau
SHOWN = 3  # runs that are drawn


@dataclass(frozen=True)
class Transition:
    """One run in four numbers: when Fourier weight and accuracy left their noise, when accuracy rose, when it was high."""

    context: int
    success: bool
    steps: int
    progress: float | None
    stirs: float | None
    leaves: float | None
    arrives: float | None

    @property
    def sudden(self) -> bool:
        """Whether the rise took at most half of the plateau."""
        if self.leaves is None or self.arrives is None:
            return False
        return self.arrives - self.leaves <= self.leaves / 2

    @property
    def foretold(self) -> bool:
        """Whether the Fourier weight moved before the accuracy, by at least a tenth of the time that took."""
        return self.progress is not None and self.stirs is not None and self.progress <= (1 - EARLIER) * self.stirs


def measure(scale: Scale, seed: int) -> Outcome:
    """Train on fresh samples at several T and read the transition of every run."""
    runs = []
    for context, seeds in SEEDS[scale].items():
        learned = train(TASK, (context,), seed, learner=NETWORK, online=True, seeds=seeds)
        runs += [(context, result) for _, result in read_runs(learned)]
    return conclude(runs)


def conclude(runs: Sequence[tuple[int, RunResult]]) -> Outcome:
    """Success pooled, suddenness and hidden progress in the median run."""
    read = [transition(context, result) for context, result in runs]
    pooled = [one for one in read if one.context in POOLED]
    wins = sum(one.success for one in pooled)
    low, high = clopper_pearson(wins, len(pooled), 0.05)
    won = [one for one in read if one.success]
    sudden = float(np.mean([one.sudden for one in won])) if won else 0.0
    foretold = float(np.mean([one.foretold for one in won])) if won else 0.0
    verdict: ClaimVerdict = "undecided at this scale"
    if high < ENOUGH or (won and (sudden < 0.5 or foretold < 0.5)):
        verdict = "fails here"
    elif wins >= ENOUGH * len(pooled) and sudden > 0.5 and foretold > 0.5:
        verdict = "holds"
    numbers = {"successes pooled": float(wins), "runs pooled": float(len(pooled))}
    numbers |= {"share of sudden transitions": sudden, "share foretold by Fourier weight": foretold}
    said = []
    for context in dict.fromkeys(one.context for one in read):
        here = [one for one in read if one.context == context]
        wins_here = sum(one.success for one in here)
        middle = median(one.steps if one.success else inf for one in here)
        numbers |= {f"successes at T = {context}": float(wins_here)}
        numbers |= {f"median steps at T = {context}": middle} if middle < inf else {}
        steps = f"median {middle:.0f} steps" if middle < inf else "no median: half of the runs or more never succeed"
        said.append(f"T = {context}: {wins_here} of {len(here)}, {steps}")
    return Outcome(
        verdict=verdict,
        measurement="; ".join(said)
        + f". Sudden in {sudden:.0%}, foretold by the Fourier weight in {foretold:.0%} of the successes.",
        numbers=numbers,
        interval=f"95 % Clopper–Pearson of the pooled success rate: {at_least(low, places=2)} to {at_most(high, places=2)}. Medians are over all runs, one that never succeeds counting as infinite.",
        figures=(_curves(runs),),
        caveats=(
            "Steps are counted to the reading (every 10 steps) at which 1024 probe inputs are answered without error.",
        ),
    )


def transition(context: int, result: RunResult) -> Transition:
    """When a run's readings passed each mark for good."""
    return Transition(
        context,
        result.success,
        result.steps,
        _first(result, "fourier", NOISE),
        _first(result, "accuracy", CHANCE),
        _first(result, "accuracy", LOW),
        _first(result, "accuracy", HIGH),
    )


def _first(result: RunResult, name: str, mark: float) -> float | None:
    """The first reading from which on every one is above the mark."""
    above = None
    for reading in reversed(result.readings):
        if reading.get(name, 0.0) <= mark:
            break
        above = reading["step"]
    return above


def _curves(runs: Sequence[tuple[int, RunResult]]) -> Figure:
    """Accuracy and hidden progress of three runs: the first successes at the longest context that has one."""
    won = [(context, result) for context, result in runs if result.success] or list(runs)
    longest = max(context for context, _ in won)
    shown = [result.readings for context, result in won if context == longest][:SHOWN]
    return course_figure(
        f"Hidden progress before the jump, T = {longest}",
        {f"run {index}": readings for index, readings in enumerate(shown, 1)},
        ("accuracy", "fourier", "mass_best"),
        subtitle="runs from fresh samples, parity of three bits",
    )
