"""Budgets of steps: twice as many each time, until enough runs succeed, all steps are used or the time is up."""

from dataclasses import dataclass, replace

import pytest

from keyhole.sweeps.runs.store import RunSummary
from keyhole.sweeps.thresholds.design import Online
from keyhole.sweeps.thresholds.sweeps import Sweep, SweepPlan, budgets, sweep_by_steps
from keyhole.training.learners import TransformerLearner, TransformerSettings
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin

LEARNER = TransformerLearner(TransformerSettings(steps=1600, every=50))
PLAN = SweepPlan(SparseTask("parity:2"), LEARNER, (8, 16), Online(4))


@dataclass
class Laboratory:
    """Runs that take a thousandth of a second a step, and succeed at a context with so many steps or more."""

    needed: dict[int, int]
    now: float = 0.0
    made: tuple[int, ...] = ()

    def clock(self):
        """The time."""
        return self.now

    def sweep(self, plan):
        """All runs of a plan, two at a time."""
        steps = plan.learner.steps
        self.made += (steps,)
        rows = tuple(
            replace(ROW, context=T, seed=seed, steps=steps, success=steps >= self.needed[T], seconds=steps / 1e3)
            for T in plan.contexts
            for seed in range(plan.schedule.seeds)
        )
        self.now += sum(row.seconds for row in rows) / 2
        return Sweep(plan, rows, len(rows), dict.fromkeys(plan.contexts, 0), self.now, {})


ROW = RunSummary("", "", "", 0, None, 0, success=False, fitted=True, accuracy=0.0, steps=0, seconds=0.0, created="")


def made(needed, seconds):
    """The budgets that were tried, and the attempts."""
    laboratory = Laboratory(needed)
    swept, attempts = sweep_by_steps(PLAN, laboratory.sweep, seconds=seconds, workers=2, clock=laboratory.clock)
    assert swept.plan.learner.steps == laboratory.made[-1]
    assert swept.made == sum(one.trials for one in attempts)
    return laboratory, attempts


@pytest.mark.parametrize(
    ("needed", "seconds", "tried"),
    [
        ({8: 90, 16: 150}, 1e9, (100, 200)),
        ({8: 1, 16: 1}, 1e9, (100,)),
        ({8: 10**6, 16: 1}, 1e9, (100, 200, 400, 800, 1600)),
        ({8: 10**6, 16: 1}, 2.9, (100, 200, 400)),  # 0.4 + 0.8 + 1.6, and 3.2 more would be too many
        ({8: 10**6, 16: 1}, 0.1, (100,)),
    ],
)
def test_steps_are_doubled_while_wanted_and_affordable(needed, seconds, tried):
    """Half of the runs at every context are enough; the time is never exceeded but by the first budget."""
    laboratory, attempts = made(needed, seconds)
    assert laboratory.made == tried
    assert laboratory.now <= max(seconds, 0.4)
    assert [(one.context, one.steps) for one in attempts] == [(T, steps) for steps in tried for T in (8, 16)]
    assert all(one.successes == (4 if one.steps >= needed[one.context] else 0) for one in attempts)


def test_budgets_are_whole_stretches_and_end_with_all_steps():
    """Parts are rounded up to readings; a learner that counts no steps is asked once, as it is."""
    assert [one.steps for one in budgets(LEARNER)] == [100, 200, 400, 800, 1600]
    short = TransformerLearner(TransformerSettings(steps=100, every=50))
    assert [one.steps for one in budgets(short)] == [50, 50, 50, 50, 100]
    assert list(budgets(Coin())) == [Coin()]
