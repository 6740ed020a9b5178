"""As the context grows, how many samples does this learner need? Runs, thresholds and the laws of their growth."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from math import inf
from pathlib import Path
from types import MappingProxyType

import numpy as np

import keyhole.api.compiled_start  # noqa: F401  (registers started:compiled)
from keyhole.api.run_certificate import RunCertificate
from keyhole.api.sample_complexity import SampleComplexity
from keyhole.errors import ArgumentError
from keyhole.files.paths import home
from keyhole.progress import Progress, Watch, ignore
from keyhole.sweeps.laws import LAWS, GrowthLaw, LawVerdict, comparable, compare_laws, read_laws, task_floor
from keyhole.sweeps.runs import (
    FRESH,
    Lane,
    Store,
    borrow,
    core_count,
    require_cores,
    require_learnable,
    start_processes,
)
from keyhole.sweeps.thresholds import (
    BUDGET,
    LARGEST,
    Adaptive,
    Design,
    Grid,
    Online,
    Schedule,
    Sweep,
    SweepPlan,
    Threshold,
    sweep,
    sweep_by_steps,
)
from keyhole.training import SparseTask, Task
from keyhole.training.learners import (
    PRESET_DISTRIBUTIONS,
    GradientLearner,
    Learner,
    change_settings,
    learner_named,
)

LEAST_SHARE = 0.01  # of runs that succeed at m*: with fewer, or with all but fewer, hundreds of runs show nothing
LEAST_PRECISION = 0.001  # of m*; half a million runs would not reach it
LONGEST = 10**6  # context: every run is judged on 10,000 fresh inputs, 10^10 symbols there
LARGEST_SEED = 2**62  # with as many runs as anyone makes after it, a seed stays a number of 63 bits
SEEDS = 20  # at each size of a fixed grid, and online: as many as the definition of m* asks for


def learn(
    task: str | Task,
    contexts: Sequence[int],
    *,
    samples: Sequence[int] = (),
    online: bool = False,
    time_limit: float | None = None,
    learner: str | Learner = "transformer",
    beside: Sequence[str | Learner] = (),
    preset: str = "default",
    settings: Mapping[str, str | float | None] = MappingProxyType({}),
    quantile: float = 0.5,
    precision: float = 0.2,
    confidence: float = 0.9,
    seeds: int | None = None,
    budget: int = BUDGET,
    largest: int = LARGEST,
    laws: Sequence[str | GrowthLaw] = LAWS,
    law: str | None = None,
    label_noise: float = 0.0,
    feature_noise: float = 0.0,
    symbols: int = 2,
    balanced_sets: bool | None = None,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    store: str | Path | None = None,
    keep_weights: bool = False,
    certify: bool = False,
    assume_junta: int | None = None,
    watch: Watch = ignore,
) -> SampleComplexity:
    """How many samples the learner needs at each context; runs that the store holds are not made again.

    Without `samples` the sizes are chosen in rounds, until the interval of m* lies within the precision or `budget`
    runs are made. With `samples` every size gets `seeds` runs; `online`, every context does, on fresh samples. With a
    `time_limit`, in seconds, such runs get a sixteenth of the learner's steps at first, and twice as many while fewer
    than the quantile succeed and as much time is left. A learner in `beside` that reads training sets gets those.
    Runs are made by spawned processes (`workers`, one per core if not said), or by any `executor`, which then gets at
    most twice so many at once. All that is asked of it is a `submit(function, *arguments)` that returns futures of
    `concurrent.futures` (a Dask client has `get_executor()`); where it works in other processes or on other machines,
    task and learner must pickle, and keyhole be installed there. Only this process writes to the store, and the
    executor is left open. Seeds count from `seed`. The bits follow `law`, or, where none is named, the law of the
    preset; the paper's preset redraws training sets until they are balanced, unless told otherwise. With `certify`
    every successful run of the learner is certified from its own training set. The learners named in `beside` are put
    the same question; each draws samples of its own. `laws` are the growth laws that are compared, by name or as
    objects of your own: `(*LAWS, mine)` puts yours beside those of `keyhole.sweeps.laws`.
    `settings` changes the transformer's by name, such as {"width": 32, "heads": 2, "rate": 1e-3}: the fields of
    `keyhole.training.learners.TransformerSettings`. `watch` hears how far the sweep and the certificates have come.
    """
    if isinstance(task, str):
        usual = PRESET_DISTRIBUTIONS.get(_preset_of(learner, preset), "uniform")
        law = usual if law is None else law
        redrawn = law == usual == "balanced" and not online if balanced_sets is None else balanced_sets
        task = SparseTask(task, law, label_noise, feature_noise, symbols, redrawn)
    _require_sensible(quantile, precision, seed)
    _require_limit(time_limit, online=online)
    learners = _named((learner, *beside), preset, settings)
    growth_laws = read_laws(laws)
    schedule = _fixed_schedule(tuple(samples), online, seeds)
    lengths = _lengths(contexts)
    in_rounds = Adaptive(Design(quantile, precision, confidence, largest=largest, budget=budget))
    plans = [
        SweepPlan(task, each, lengths, _own(schedule, each, first=not index) or in_rounds, quantile, confidence, seed)
        for index, each in enumerate(learners.values())
    ]
    instance = task.instance(lengths[0], np.random.default_rng(0))  # refuses a context that is too short
    for plan in plans:
        require_learnable(plan.learner, instance, online=isinstance(plan.schedule, Online))
    if certify:
        from keyhole.api.prove_runs import prove_runs, require_certifiable  # imports the certifier

        require_certifiable(task, plans[0].learner, lengths, assume_junta)
    workers = core_count() if workers is None else workers if executor else require_cores(workers)
    folder = home(store)
    with Store(folder) as runs:
        kept = keep_weights or certify

        def make(plan: SweepPlan) -> Sweep:
            start = lanes_of(executor, workers, folder, watch, [plan.learner])
            return sweep(plan, runs, start, workers=workers, keep_weights=kept, watch=watch)

        swept = [
            sweep_by_steps(plan, make, seconds=time_limit, workers=workers)
            if time_limit is not None and isinstance(plan.schedule, Online)
            else (make(plan), ())
            for plan in plans
        ]
    answer, *others = (
        replace(
            answer_of(by, each, growth_laws),
            attempts=attempts,
            time_limit=time_limit if attempts else None,
            full_steps=plan.learner.steps if attempts else None,
        )
        for by, plan, (each, attempts) in zip(learners, plans, swept, strict=True)
    )
    certificates: tuple[RunCertificate, ...] = ()
    if certify:
        won = [row for row in answer.sweep.rows if row.success]
        options = {"assume_junta": assume_junta, "workers": workers, "executor": executor}
        watch(Progress(0, len(won), "certifying runs", milestone=True))
        certificates = prove_runs(won, folder, watch=watch, **options)  # type: ignore[arg-type]
    return replace(answer, settled=certificates, beside=tuple(others))


def lanes_of(
    executor: Executor | None, workers: int, folder: Path, watch: Watch, learners: Sequence[Learner]
) -> Callable[[], list[Lane]]:
    """What starts the lanes when they are first needed: those of an executor, or of spawned processes."""
    compiled = any(isinstance(each, GradientLearner) for each in learners)
    slow = "; a network's first run takes longer: jax compiles it" if compiled else ""

    def start() -> list[Lane]:
        if executor is not None:
            return borrow(executor, 2 * workers)
        watch(Progress(0, None, f"starting {workers} worker{'s' * (workers != 1)}{slow}", milestone=True))
        return start_processes(workers, folder)

    return start


def answer_of(by: str, swept: Sweep, growth_laws: Sequence[GrowthLaw]) -> SampleComplexity:
    """The answer that a sweep comes to, by the name a person has for its learner."""
    plan = swept.plan
    floors = {context: task_floor(plan.task, context, plan.quantile) for context in plan.contexts}
    verdict = _verdict(swept.thresholds, growth_laws, plan.confidence)
    what = f"{plan.task.name}{_circumstances(plan.task)}"
    return SampleComplexity(what, by, swept, swept.thresholds, floors, verdict, tuple(law.name for law in growth_laws))


def _require_sensible(quantile: float, precision: float, seed: int) -> None:
    """Refuse numbers with which a sweep could not end in an answer."""
    if not LEAST_SHARE <= quantile <= 1 - LEAST_SHARE:
        raise ArgumentError(
            f"A quantile of success of {quantile:g} was asked for; use {LEAST_SHARE} to {1 - LEAST_SHARE}."
        )
    if not LEAST_PRECISION <= precision < 1:
        raise ArgumentError(
            f"A precision of {precision:g} was asked for; it is relative: {LEAST_PRECISION} or more, below 1, such as "
            "0.2."
        )
    if not 0 <= seed <= LARGEST_SEED:
        raise ArgumentError(f"The first seed {seed} was given; use one from 0 to {LARGEST_SEED:,}.")


def _require_limit(seconds: float | None, *, online: bool) -> None:
    """Refuse a limit of time that is none, or is not for these runs."""
    if seconds is None:
        return
    if not online:
        raise ArgumentError(
            f"A time limit of {seconds:g} s was asked for with training sets; it is for fresh samples (`online`). "
            "Limit a sweep over training sets by a number of runs (`budget`)."
        )
    if not 0 < seconds < inf:
        raise ArgumentError(f"A time limit of {seconds:g} s was asked for; give seconds above 0.")


def _lengths(contexts: Sequence[int]) -> tuple[int, ...]:
    """The contexts in order, each once."""
    lengths = tuple(sorted({int(context) for context in contexts}))
    if not lengths:
        raise ArgumentError("A sweep was asked for at no context; give at least one.")
    if not 1 <= lengths[0] <= lengths[-1] <= LONGEST:
        shown = ", ".join(str(length) for length in lengths)
        raise ArgumentError(
            f"The contexts {shown} were asked for; each is from 1 to {LONGEST:,}, since every run is judged on "
            f"{FRESH:,} fresh inputs of that length. Bounds, compiled models and descriptions go further."
        )
    return lengths


def _named(
    learners: Sequence[str | Learner], preset: str, settings: Mapping[str, str | float | None]
) -> dict[str, Learner]:
    """The learners by what a person calls them: a transformer with its preset, others of one name numbered."""
    if preset != "default" and not any(_preset_of(given, preset) for given in learners):
        raise ArgumentError(f"The preset {preset!r} was given, and no transformer is asked; leave it out.")
    if settings and not any(_preset_of(given, preset) or _has_settings(given) for given in learners):
        raise ArgumentError("Settings of the transformer were given, and no transformer is asked; leave them out.")
    by_name: dict[str, Learner] = {}
    words = [f"{name} = {value}" for name, value in settings.items()]
    for given in learners:
        if own := _preset_of(given, preset):
            learner = _with_settings(learner_named(f"transformer:{own}"), settings)
            name = f"transformer ({', '.join([own, *words])})"
        elif isinstance(given, str):
            learner = _with_settings(learner_named(given), settings)
            name = f"{given} ({', '.join(words)})" if words and _has_settings(given) else given
        else:
            name, learner = given.name, given
        if learner in by_name.values():
            raise ArgumentError(f"The learner {name} was named twice; name each once.")
        same = sum(other.split(" #")[0] == name for other in by_name)
        by_name[f"{name} #{same + 1}" if same else name] = learner
    return by_name


def _with_settings(learner: Learner, settings: Mapping[str, str | float | None]) -> Learner:
    """A transformer, of one layer or of several, with these settings changed; any other learner as it is."""
    if not settings or not isinstance(learner, GradientLearner):
        return learner
    return replace(learner, settings=change_settings(learner.settings, settings))


def _has_settings(learner: str | Learner) -> bool:
    """Whether a transformer of several layers, or one from a start of its own, is named."""
    return isinstance(learner, str) and learner.partition(":")[0] in {"deep", "started"}


def _preset_of(learner: str | Learner, preset: str) -> str:
    """The preset of a transformer that is named; empty for any other learner."""
    kind, _, own = learner.partition(":") if isinstance(learner, str) else ("", "", "")
    return (own or preset) if kind == "transformer" else ""


def _fixed_schedule(samples: tuple[int, ...], online: bool, seeds: int | None) -> Schedule | None:  # noqa: FBT001
    """The schedule of given sizes or of fresh samples; None where the sizes are to be chosen in rounds."""
    if online and samples:
        raise ArgumentError(
            "Fresh samples (`online`) and training sets of given sizes (`samples`) were both asked for; choose one."
        )
    if online:
        return Online(SEEDS if seeds is None else seeds)
    if samples:
        return Grid(tuple(sorted(set(samples))), SEEDS if seeds is None else seeds)
    if seeds is not None:
        raise ArgumentError(
            f"{seeds} seeds were asked for, and no sizes of training sets; a sweep that chooses its own sizes also "
            "chooses how often to run each. Give sizes (`samples`), or ask for fresh samples (`online`), or limit the "
            "runs at each context (`budget`) instead."
        )
    return None


def _own(schedule: Schedule | None, learner: Learner, *, first: bool) -> Schedule | None:
    """The schedule of a learner: one beside another that reads training sets gets those, not fresh samples."""
    reads = isinstance(schedule, Online) and not first and not learner.learns_online
    return None if reads else schedule


def _circumstances(task: Task) -> str:
    """What is not usual about the inputs, in brackets."""
    if not isinstance(task, SparseTask):
        return ""
    facts = [] if task.law == "uniform" else [f"bits are 1 with probability {task.bits_law().p:.3g}"]
    facts[:0] = ["both labels equally likely"] if task.law == "balanced" else []
    facts += [f"label noise {task.label_noise:g}"] if task.label_noise else []
    facts += [f"feature noise {task.feature_noise:g}"] if task.feature_noise else []
    facts += [f"{task.symbols} symbols"] if task.symbols != 2 else []
    facts += ["balanced sets"] if task.balanced_sets else []
    return f" ({', '.join(facts)})" if facts else ""


def _verdict(thresholds: Sequence[Threshold], laws: Sequence[GrowthLaw], confidence: float) -> LawVerdict | None:
    """The laws compared, where the contexts suffice."""
    return compare_laws(thresholds, laws=laws, confidence=confidence) if comparable(thresholds) else None
