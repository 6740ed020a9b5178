"""Certify many runs: what each trained model computes, proved or not, and what its own training set promises."""

import time
from collections.abc import Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from pathlib import Path

import numpy as np

from keyhole.api.run_certificate import RunCertificate
from keyhole.api.stored_run import read_run
from keyhole.attention import Tabulated, evaluate
from keyhole.boolean import Junta, uniform_law
from keyhole.errors import AssumptionError, KeyholeError
from keyhole.progress import Progress, Watch, ignore
from keyhole.prover import ModelCertificate, Terms, certificate_of
from keyhole.prover.extraction import LONGEST, WIDEST, certifiable
from keyhole.sweeps import Execution
from keyhole.sweeps.runs import RunSummary
from keyhole.training import Instance, SparseTask, Task
from keyhole.training.learners import Learner, TransformerLearner

FRESH = 100_000  # inputs on which a model without proof is compared with its function, and with the target
BLOCK = 10_000  # of them at once
MOST_CELLS = 2**20  # assignments on which a function is compared with the target
REDRAWN = (
    "Training sets that were redrawn until balanced were to be certified, and a bound must know how likely a set is "
    "kept. "
)


def prove_runs(
    rows: Sequence[RunSummary],
    execution: Execution,
    *,
    assume_junta: int | None = None,
    watch: Watch = ignore,
) -> tuple[RunCertificate, ...]:
    """Certify each run from its own training set, in the order given; weights that were not kept are made again."""
    Terms(uniform_law(2), assume_junta=assume_junta)  # refuses what no run can be asked
    watch(Progress(0, len(rows), "certifying runs", milestone=True))
    with execution.open_executor() as executor:
        waiting = [executor.submit(prove_run, row, execution.folder, assume_junta) for row in rows]
        for done, _ in enumerate(as_completed(waiting), 1):
            watch(Progress(done, len(rows), "certifying runs"))
        return tuple(future.result() for future in waiting)


def require_certifiable(task: Task, learner: Learner, contexts: Sequence[int], assume_junta: int | None) -> None:
    """Refuse, before anything is trained, what could not be certified afterwards."""
    Terms(uniform_law(2), assume_junta=assume_junta)
    if not isinstance(learner, TransformerLearner):
        raise AssumptionError(
            f"Runs of {learner.name} were to be certified, and it has no weights. Train the transformer, or "
            "certify nothing."
        )
    if isinstance(task, SparseTask) and task.balanced_sets:
        raise AssumptionError(
            f"{REDRAWN}Take training sets as they are drawn, or certify one run and say how likely its set is kept."
        )
    symbols = task.symbols if isinstance(task, SparseTask) else 2
    if symbols > WIDEST or max(contexts) > LONGEST:
        raise AssumptionError(
            f"Runs over {symbols} symbols at a context of {max(contexts)} were to be certified; up to {WIDEST} symbols "
            f"and {LONGEST} positions are read. Ask for fewer of either, or certify nothing."
        )


def prove_run(row: RunSummary, folder: Path, assume_junta: int | None) -> RunCertificate:
    """Certify one run; one that cannot be is undecided, with the reason, and the others go on."""
    none = RunCertificate(row.identity, row.context, row.samples, row.seed, true_error=1 - row.accuracy)
    began = time.perf_counter()
    try:
        run = read_run(row.identity, folder)
        if run.conditioned:
            return replace(none, reason=f"{REDRAWN}Certify the run by itself, and say how likely its set is kept.")
        began = time.perf_counter()
        subject = certifiable(run.model)
        terms = Terms(law=run.law, assume_junta=assume_junta, noise=run.noise, fresh=FRESH)
        found = certificate_of(
            subject.tables, run.sample, drifts=subject.drifts, of_weights=subject.of_weights, terms=terms
        )
    except KeyholeError as error:
        return replace(none, reason=str(error), seconds=time.perf_counter() - began)
    seconds = time.perf_counter() - began
    junta, identification, sampled = found.junta, found.identification, found.sampled
    return replace(
        none,
        function=None if junta is None else str(junta),
        right=None if junta is None else is_target(junta, run.instance),
        status=found.status,
        margin=found.verification.margin,
        eta=None if found.disagreement is None else found.disagreement.rate,
        disagreements=0 if found.status == "PROVED" else None if sampled is None else sampled.disagreements,
        mistakes=mistakes(subject.tables, run.instance, found),
        error_bound=found.error_bound,
        trivial_error=found.trivial_error,
        held_out_bound=None if found.held_out is None else found.held_out.bound,
        identified=None if identification is None else identification.identified,
        proof_seconds=found.verification.seconds,
        seconds=seconds,
        reason=found.verification.reason,
        identified_by="" if identification is None else identification.by,
        wrong_low=None if found.wrong_share is None else found.wrong_share.low,
        wrong_high=None if found.wrong_share is None else found.wrong_share.high,
        delta=found.terms.delta,
        warnings=found.warnings,
    )


def mistakes(model: Tabulated, instance: Instance, found: ModelCertificate) -> int:
    """The model's errors on fresh inputs: none where it is proved to be the target, else they are counted."""
    if found.status == "PROVED" and found.junta and is_target(found.junta, instance):
        return 0
    rng, wrong = np.random.default_rng(found.terms.seed), 0
    for start in range(0, FRESH, BLOCK):
        inputs = instance.inputs(min(BLOCK, FRESH - start), rng)
        wrong += int(np.count_nonzero((np.asarray(evaluate(model, inputs)) > 0) != instance.truth(inputs)))
    return wrong


def is_target(junta: Junta, instance: Instance) -> bool | None:
    """Return whether the function is the hidden target on every input; None for too many cells to compare."""
    target = instance.function.positions
    union = sorted({*junta.positions, *target})
    count = junta.symbols ** len(union)
    if count > MOST_CELLS:
        return None
    cells = (np.arange(count)[:, None] // junta.symbols ** np.arange(len(union))) % junta.symbols
    moved = Junta(tuple(union.index(place) for place in junta.positions), junta.symbols, junta.table)
    relevant = cells[:, [union.index(place) for place in target]]
    return bool(np.array_equal(moved(cells), instance.function_of_relevant(instance.letters[relevant])))
