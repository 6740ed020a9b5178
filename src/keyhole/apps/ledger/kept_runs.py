"""Training on behalf of a claim: runs are kept in keyhole's folder, so that a second measurement finds them done.

An experiment that runs alone uses every core; beside others, in a process of its own, it uses one.
"""

from collections.abc import Iterable, Sequence
from multiprocessing import parent_process
from typing import Any

from keyhole.api.learn import learn
from keyhole.api.sample_complexity import SampleComplexity
from keyhole.apps.pretrain.tasks import Cell, run_groups
from keyhole.files.atomic import home
from keyhole.sweeps import Execution, Schedule
from keyhole.sweeps.runs import RunResult, RunSpec, RunSummary, Store, core_count, gather_runs
from keyhole.training import SparseTask
from keyhole.training.learners import Learner

FIRST_SEED = 10_000  # seeds below belong to the keyboard, seeds from a million on to the tuning of presets


def train(
    task: SparseTask,
    contexts: Sequence[int],
    seed: int,
    learner: str | Learner = "transformer",
    *,
    keep_weights: bool = False,
    **schedule: Any,
) -> SampleComplexity:
    """Learn on seeds that are kept for experiments."""
    rounds = Schedule(first_seed=FIRST_SEED * (1 + seed), **schedule)
    execution = Execution(workers=worker_count(), keep_weights=keep_weights)
    return learn(task, contexts, learner, schedule=rounds, execution=execution)


def worker_count() -> int:
    """Every core for an experiment that runs alone; one beside others, in a process of its own."""
    return core_count() if parent_process() is None else 1


def read_runs(learned: SampleComplexity) -> list[tuple[RunSummary, RunResult]]:
    """Every run of a sweep with its readings."""
    with Store(home()) as store:
        return [(row, store.run(row.identity).result) for row in learned.sweep.rows]


def seeds(seed: int, count: int) -> range:
    """Seeds that are kept for claims, `count` of them."""
    return range(FIRST_SEED * (1 + seed), FIRST_SEED * (1 + seed) + count)


def make_runs(specs: Sequence[RunSpec]) -> list[RunResult]:
    """Make the runs that are not in the store, and return all in order."""
    with Store(home()) as store:
        return gather_runs(specs, store, Execution(workers=worker_count()))


def make_groups(cells: Iterable[Cell], seeds: Sequence[int]) -> list[list[RunResult]]:
    """Make the runs of each cell that are not in the store; return them by cell."""
    return run_groups(cells, seeds, Execution(home(), workers=worker_count()))
