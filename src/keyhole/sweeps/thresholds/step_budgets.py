"""Budgets of steps on fresh samples: few at first, then twice as many, until enough runs succeed or time is up.

A run that succeeds stops by itself; one that does not uses up its steps. So nothing is known of a hard task until the
first budget ends, and a small one ends soon.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from keyhole.sweeps.thresholds.sweeps import Sweep, SweepPlan
from keyhole.training.learners import Learner

FIRST = 16  # the first budget is this part of the steps that the learner may take


@dataclass(frozen=True)
class Attempt:
    """The runs of one budget of steps at one context."""

    context: int
    steps: int  # each run may take
    trials: int
    successes: int
    seconds: float  # of all these runs together


def sweep_by_steps(
    plan: SweepPlan,
    make: Callable[[SweepPlan], Sweep],
    *,
    seconds: float,
    workers: int,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Sweep, tuple[Attempt, ...]]:
    """Sweep with a first budget of steps, and with twice as many while they are wanted and can be had in the time.

    They are wanted where fewer runs succeed than the quantile asks for, at some context. They can be had if twice what
    the last budget took, by the runs' own clocks, is left of the time. The runs of a budget depend on nothing else, so
    that the same ones are found again. The sweep that is returned has the runs of the last budget, and counts what
    was made, and the time, of all.
    """
    began, attempts, made, took = clock(), [], 0, 0.0
    for learner in budgets(plan.learner):
        swept = make(replace(plan, learner=learner))
        last = []
        for tally in swept.tallies:
            seconds_here = sum(row.seconds for row in swept.rows if row.context == tally.context)
            last.append(Attempt(tally.context, learner.steps or 0, tally.trials, tally.successes, seconds_here))
        attempts += last
        made, took = made + swept.made, took + swept.seconds
        enough = all(attempt.successes >= plan.quantile * attempt.trials for attempt in last)
        forecast = 2 * sum(attempt.seconds for attempt in last) / workers
        if enough or clock() - began + forecast > seconds:
            break
    return replace(swept, made=made, seconds=took), tuple(attempts)


def budgets(learner: Learner) -> Iterator[Learner]:
    """The learner with a part of its steps, twice as many each time, and with all of them; others as they are."""
    if learner.steps is not None:
        part = FIRST
        while part > 1:
            yield learner.with_steps(learner.steps // part)
            part //= 2
    yield learner
