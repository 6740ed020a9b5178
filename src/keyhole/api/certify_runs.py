"""Settle many runs: what each trained model computes, proved or not, and what its own training set promises."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from keyhole.api.stored_run import TrainedRun, read_run
from keyhole.attention.evaluation import evaluate
from keyhole.attention.tables import Tabulated
from keyhole.boolean.junta import Junta
from keyhole.boolean.symbols import uniform_law
from keyhole.certifier.certificate import ModelCertificate, Terms, certificate_of
from keyhole.certifier.read.scope import LONGEST, WIDEST, certifiable
from keyhole.certifier.record import formula, warnings
from keyhole.errors import AssumptionError, KeyholeError
from keyhole.lab.learners.base import Learner
from keyhole.lab.learners.transformer import Transformer
from keyhole.lab.runs.engine import leashed, starting
from keyhole.lab.runs.store import Row
from keyhole.lab.task import Instance, SparseTask, Task

FRESH = 100_000  # inputs on which a model without proof is compared with its function, and with the target
BLOCK = 10_000  # of them at once
MOST_CELLS = 2**20  # assignments on which a function is compared with the target
REDRAWN = (
    "Training sets that were redrawn until balanced were to be certified, and a bound must know how likely a set is "
    "kept. "
)


@dataclass(frozen=True)
class Settled:
    """One run's certificate in short."""

    identity: str
    context: int
    samples: int | None
    seed: int
    function: str | None  # as read off the model
    right: bool | None  # whether that is the hidden target; None: not known
    status: str
    margin: float | None
    eta: float | None  # rate at which model and function can disagree
    disagreements: int | None  # of model and function on fresh inputs, 0 after a proof
    mistakes: int | None  # of the model on 100,000 fresh inputs; None: it could not be asked
    error_bound: float | None
    trivial_error: float | None
    held_out_bound: float | None  # what a half set aside would have said
    identified: bool | None  # None: nothing was assumed
    true_error: float  # on the run's fresh inputs
    proof_seconds: float  # comparing model and function on every input
    seconds: float  # all of it, but for training
    reason: str = ""  # why it is undecided
    identified_by: str = ""  # the rule: enumeration is certain if what is assumed holds, sample size holds at level δ
    warnings: tuple[str, ...] = ()  # what speaks against the model or its sample

    @property
    def clean(self) -> bool:
        """Whether the model made no error on 100,000 fresh inputs, whatever could be read off it."""
        return self.mistakes == 0

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def settle(
    rows: Sequence[Row],
    folder: Path,
    *,
    assume_junta: int | None = None,
    repair: bool = False,
    time_limit: float = 10.0,
    workers: int = 1,
    executor: Executor | None = None,
    watch: Callable[[int, int], None] = lambda _done, _of: None,
) -> tuple[Settled, ...]:
    """Certify each run from its own training set, in the order given; weights that were not kept are made again."""
    _require_terms(assume_junta, time_limit)
    asked = [(row, folder, assume_junta, repair, time_limit) for row in rows]
    if workers == 1 and executor is None:
        found = []
        for done, arguments in enumerate(asked, 1):
            found.append(settle_one(*arguments))
            watch(done, len(rows))
        return tuple(found)
    pool, leash = leashed(workers) if executor is None else (executor, None)
    try:
        with starting(folder):
            waiting = [pool.submit(settle_one, *arguments) for arguments in asked]
        for done, _ in enumerate(as_completed(waiting), 1):
            watch(done, len(rows))
        return tuple(future.result() for future in waiting)
    except BaseException:  # a certificate under way may take long, and is given up
        if leash is not None:
            leash.close()
        raise
    finally:
        if leash is not None:
            pool.shutdown(cancel_futures=True)
            leash.close()


def require_settleable(task: Task, learner: Learner, contexts: Sequence[int], assume_junta: int | None = None) -> None:
    """Refuse, before anything is trained, what could not be certified afterwards."""
    _require_terms(assume_junta)
    if not isinstance(learner, Transformer):
        raise AssumptionError(
            f"Runs of {learner.name} were to be certified, and it has no weights. Leave out --certify, or train the "
            "transformer."
        )
    if isinstance(task, SparseTask) and task.balanced_sets:
        raise AssumptionError(f"{REDRAWN}Use --any-sets, or certify one run with --accepted.")
    symbols = task.symbols if isinstance(task, SparseTask) else 2
    if symbols > WIDEST or max(contexts) > LONGEST:
        raise AssumptionError(
            f"Runs over {symbols} symbols at a context of {max(contexts)} were to be certified; up to {WIDEST} symbols "
            f"and {LONGEST} positions are read. Leave out --certify."
        )


def settle_one(row: Row, folder: Path, assume_junta: int | None, repair: bool, time_limit: float) -> Settled:  # noqa: FBT001
    """Certify one run; one that cannot be is undecided, with the reason, and the others go on."""
    began = time.perf_counter()
    try:
        run = read_run(row.identity, folder)
        if run.conditioned:
            return _refused(row, f"{REDRAWN}Certify one run with --accepted instead.", 0.0)
        began = time.perf_counter()
        subject = certifiable(run.model)
        terms = Terms(
            law=run.law,
            assume_junta=assume_junta,
            noise=run.noise,
            repair=repair,
            time_limit=time_limit,
            fresh=FRESH,
        )
        found = certificate_of(subject.tables, run.sample, drifts=subject.drifts, terms=terms)
    except KeyholeError as error:
        return _refused(row, str(error), time.perf_counter() - began)
    seconds = time.perf_counter() - began
    return _in_short(row, run, found, mistakes(subject.tables, run.instance, found), seconds)


def mistakes(model: Tabulated, instance: Instance, found: ModelCertificate) -> int:
    """The model's errors on fresh inputs: none where it is proved to be the target, else they are counted."""
    if found.repair is None and found.status == "PROVED" and found.junta and is_target(found.junta, instance):
        return 0
    rng, wrong = np.random.default_rng(found.terms.seed), 0
    for start in range(0, FRESH, BLOCK):
        inputs = instance.inputs(min(BLOCK, FRESH - start), rng)
        wrong += int(np.count_nonzero((np.asarray(evaluate(model, inputs)) > 0) != instance.truth(inputs)))
    return wrong


def _require_terms(assume_junta: int | None, time_limit: float = 10.0) -> None:
    """Refuse what no run could be asked."""
    Terms(uniform_law(2), assume_junta=assume_junta, time_limit=time_limit)


def _refused(row: Row, reason: str, seconds: float) -> Settled:
    return Settled(
        identity=row.identity,
        context=row.context,
        samples=row.samples,
        seed=row.seed,
        function=None,
        right=None,
        status="UNDECIDED",
        margin=None,
        eta=None,
        disagreements=None,
        mistakes=None,
        error_bound=None,
        trivial_error=None,
        held_out_bound=None,
        identified=None,
        true_error=1 - row.accuracy,
        proof_seconds=0.0,
        seconds=seconds,
        reason=reason,
    )


def is_target(junta: Junta, instance: Instance) -> bool | None:
    """Whether the function is the hidden target on every input; None where too many cells were to be compared."""
    target = instance.function.positions
    union = sorted({*junta.positions, *target})
    count = junta.symbols ** len(union)
    if count > MOST_CELLS:
        return None
    cells = (np.arange(count)[:, None] // junta.symbols ** np.arange(len(union))) % junta.symbols
    moved = Junta(tuple(union.index(place) for place in junta.positions), junta.symbols, junta.table)
    relevant = cells[:, [union.index(place) for place in target]]
    return bool(np.array_equal(moved(cells), instance.function_of_relevant(instance.letters[relevant])))


def _in_short(row: Row, run: TrainedRun, found: ModelCertificate, wrong: int, seconds: float) -> Settled:
    junta = found.junta
    identification = found.identification
    return Settled(
        identity=row.identity,
        context=row.context,
        samples=row.samples,
        seed=row.seed,
        function=None if junta is None else formula(junta),
        right=None if junta is None else is_target(junta, run.instance),
        status=found.status,
        margin=found.verification.margin,
        eta=None if found.disagreement is None else found.disagreement.rate,
        disagreements=0 if found.status == "PROVED" else None if found.sampled is None else found.sampled.disagreements,
        mistakes=wrong,
        error_bound=found.error_bound,
        trivial_error=found.trivial_error,
        held_out_bound=None if found.held_out is None else found.held_out.bound,
        identified=None if identification is None else identification.identified,
        true_error=1 - row.accuracy,
        proof_seconds=(found.before or found.verification).seconds,
        seconds=seconds,
        reason=found.verification.reason,
        identified_by="" if identification is None else identification.by,
        warnings=tuple(warnings(found)),
    )


def shares(settled: Sequence[Settled]) -> list[dict[str, Any]]:
    """For each (T, m): the runs settled, without an error, proved, refuted and identified; median bound and time."""
    groups: dict[tuple[int, int | None], list[Settled]] = {}
    for one in settled:
        groups.setdefault((one.context, one.samples), []).append(one)
    rows = []
    for (context, samples), members in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or 0)):
        bounds = [one.error_bound for one in members if one.error_bound is not None]
        rows.append(
            {
                "context": context,
                "samples": samples,
                "settled": len(members),
                "clean": sum(one.clean for one in members),
                "proved": sum(one.status == "PROVED" for one in members),
                "counterexamples": sum(one.status == "COUNTEREXAMPLE" for one in members),
                "identified": sum(bool(one.identified) for one in members),
                "error_bound": median(bounds) if bounds else None,
                "seconds": median(one.seconds for one in members),
            }
        )
    return rows
