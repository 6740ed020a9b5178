"""As the context grows, how many samples does this learner need? Runs, thresholds and the laws of their growth."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from types import MappingProxyType

import numpy as np

import keyhole.api.compiled_start  # noqa: F401  (registers started:compiled)
from keyhole.api.sample_complexity import Floor, Needed, Ratio, SampleComplexity
from keyhole.boolean import balanced
from keyhole.errors import ArgumentError, AssumptionError, require_whole
from keyhole.progress import Watch, ignore
from keyhole.sweeps import Execution as Execution
from keyhole.sweeps import Schedule as Schedule
from keyhole.sweeps.laws import (
    LAWS,
    GrowthLaw,
    comparable,
    compare_laws,
    read_laws,
    slope_beside_floor,
    task_floor,
    trivial_accuracy,
)
from keyhole.sweeps.runs import SUCCESS, Store, require_learnable
from keyhole.sweeps.thresholds import Design, Online, Sweep, SweepPlan, sweep, sweep_by_steps
from keyhole.training import SparseTask, Task
from keyhole.training.learners import (
    PRESET_DISTRIBUTIONS,
    GradientLearner,
    Learner,
    change_settings,
    learner_named,
)

Learners = str | Learner | Sequence[str | Learner]
Settings = Mapping[str, str | float | None]
USUAL = Schedule()
HERE = Execution()
INPUTS = tuple(field.name for field in fields(SparseTask) if field.name != "function")


def learn(
    task: str | Task,
    contexts: Sequence[int],
    learner: Learners = "transformer",
    *,
    schedule: Schedule = USUAL,
    execution: Execution = HERE,
    settings: Settings = MappingProxyType({}),
    laws: Sequence[str | GrowthLaw] = LAWS,
    watch: Watch = ignore,
) -> SampleComplexity:
    """Estimate how many samples the learner needs at each context; runs that the store holds are not made again.

    Of several learners the first is asked about, and the others are put the same question beside it. `settings` are
    those of the inputs (`law`, `label_noise`, `feature_noise`, `symbols`, `balanced_sets`) and of the transformers
    (`width`, `heads`, `rate`: the fields of `keyhole.training.learners.TransformerSettings`). `laws` are the growth
    laws that are compared, by name or as objects of your own. `watch` is called as the sweep goes on.
    """
    if execution.time_limit is not None and not schedule.online:
        raise ArgumentError("A time limit is for fresh samples; limit a sweep over training sets by its budget.")
    plans = plan_sweeps(task, contexts, learner, schedule=schedule, settings=settings)
    growth_laws = read_laws(laws)
    answers, limit = [], execution.time_limit
    with Store(execution.folder) as runs:
        make = partial(sweep, store=runs, execution=execution, watch=watch)
        for name, plan in plans.items():
            if limit is None or not isinstance(plan.schedule, Online):
                answers.append(answer_of(name, make(plan), growth_laws))
            else:  # with few steps first
                swept, attempts = sweep_by_steps(plan, make, seconds=limit, workers=execution.parallel)
                answer = answer_of(name, swept, growth_laws)
                answers.append(replace(answer, attempts=attempts, time_limit=limit, full_steps=plan.learner.steps))
    first, *others = answers
    return replace(first, beside=tuple(replace(other, ratios=_ratios(first, other)) for other in others))


def learn_certified(
    task: str | Task,
    contexts: Sequence[int],
    learner: Learners = "transformer",
    *,
    assume_junta: int | None = None,
    schedule: Schedule = USUAL,
    execution: Execution = HERE,
    settings: Settings = MappingProxyType({}),
    watch: Watch = ignore,
) -> SampleComplexity:
    """Learn, and certify every successful run of the first learner from its own training set."""
    from keyhole.api.prove_runs import prove_runs, require_certifiable  # imports the prover

    plan, *_ = plan_sweeps(task, contexts, learner, schedule=schedule, settings=settings).values()
    require_certifiable(plan.task, plan.learner, plan.contexts, assume_junta)
    keeping = replace(execution, keep_weights=True)
    answer = learn(task, contexts, learner, schedule=schedule, execution=keeping, settings=settings, watch=watch)
    won = [row for row in answer.sweep.rows if row.success]
    return replace(answer, certificates=prove_runs(won, execution, assume_junta=assume_junta, watch=watch))


def plan_sweeps(
    task: str | Task,
    contexts: Sequence[int],
    learner: Learners,
    *,
    schedule: Schedule = USUAL,
    settings: Settings,
) -> dict[str, SweepPlan]:
    """Return the sweep of each learner, by what a person calls it; raise where one could not learn the task."""
    named = (learner,) if isinstance(learner, str | Learner) else tuple(learner)
    inputs = {name: value for name, value in settings.items() if name in INPUTS}
    learners = _named(named, {name: value for name, value in settings.items() if name not in INPUTS})
    if isinstance(task, str):
        task = _read_task(task, inputs, _preset_of(named[0]), online=schedule.online)
    elif inputs:
        raise ArgumentError(f"The setting {next(iter(inputs))} was given beside a task that has its own; leave it out.")
    for context in contexts:
        require_whole(context=context)
    lengths = tuple(sorted({int(context) for context in contexts}))
    plans: dict[str, SweepPlan] = {}
    for name, each in learners.items():  # one that stands beside others and cannot learn online gets training sets
        reads = plans and schedule.online and not each.learns_online
        rounds = (replace(schedule, online=False, seeds=None) if reads else schedule).rounds()
        plans[name] = SweepPlan(
            task, each, lengths, rounds, schedule.quantile, schedule.confidence, schedule.first_seed
        )
    instance = task.instance(lengths[0], np.random.default_rng(0))  # refuses a context that is too short
    for plan in plans.values():
        require_learnable(plan.learner, instance, online=isinstance(plan.schedule, Online))
    return plans


def answer_of(by: str, swept: Sweep, growth_laws: Sequence[GrowthLaw], *, smooth: bool = True) -> SampleComplexity:
    """Return the answer that a sweep comes to, by the name a person has for its learner.

    Without `smooth` rivals laws are named by the rule of plans, which were fixed before there were any.
    """
    plan, task, schedule = swept.plan, swept.plan.task, swept.plan.schedule
    floors = {context: task_floor(task, context, plan.quantile) for context in plan.contexts}
    limits = [plan.learner.remark] if plan.learner.remark else []
    verdict, slopes = None, []
    if comparable(swept.thresholds):
        verdict = compare_laws(swept.thresholds, laws=growth_laws, confidence=plan.confidence, smooth=smooth)
    if isinstance(task, SparseTask):
        if not plan.learner.bears_noise and (task.label_noise or task.feature_noise):
            limits.append(f"warning: {plan.learner.name} does not bear noise, and this task has some")
        for law in () if verdict is None or None in floors.values() else verdict.laws:
            if law.name == "log":
                slope = slope_beside_floor(law, task.parsed.sparsity, plan.confidence)
                slopes.append(f"a + b ln T: {slope}.")
    return SampleComplexity(
        what=f"{task.name}{_circumstances(task)}",
        by=by,
        task=task.record(),
        learner=plan.learner.record(),
        schedule=schedule.record(),
        quantile=plan.quantile,
        confidence=plan.confidence,
        thresholds=tuple(
            Needed(**vars(each), floor=floors[each.context], more_runs=swept.runs_needed[each.context])
            for each in swept.thresholds
        ),
        floors=tuple(Floor(context, floor) for context, floor in floors.items()),
        laws=() if verdict is None else verdict.laws,
        verdict=verdict,
        remarks=() if verdict is None else (str(verdict), *slopes, *verdict.warnings),
        cells=swept.tallies,
        limits=tuple(limits),
        other_versions=swept.other_versions,
        trivial_accuracy=trivial_accuracy(task),
        trivial_remedy=_trivial_remedy(task),
        coverage=schedule.coverage(len(plan.contexts)) if isinstance(schedule, Design) else None,
        sweep=swept,
        compared=tuple(law.name for law in growth_laws),
    )


def _trivial_remedy(task: Task) -> str | None:
    """Return the law of the bits to choose where a constant answer succeeds."""
    accuracy = trivial_accuracy(task)
    if accuracy is None or accuracy < SUCCESS or not isinstance(task, SparseTask):
        return None
    try:
        balanced(task.parsed)
    except AssumptionError:  # no one law makes both answers as likely
        return "another"
    return "balanced"


def _ratios(one: SampleComplexity, other: SampleComplexity) -> tuple[Ratio, ...]:
    """Return how many times as many samples one learner needs as another, at each context, with an interval.

    Statement  With intervals of confidence c for both m*, the ratio lies between low/high' and high/low' with
               probability at least 1 − 2(1 − c).
    Proof      It does where both intervals hold; each fails with probability at most 1 − c.
    """
    pairs = [(a, b) for a in one.thresholds for b in other.thresholds if a.context == b.context]
    parts = [(a.context, (a.m, b.m), (a.low, b.high), (a.high, b.low)) for a, b in pairs]
    return tuple(Ratio(context, *(None if a is None or not b else a / b for a, b in ends)) for context, *ends in parts)


def _read_task(function: str, inputs: Settings, preset: str, *, online: bool) -> SparseTask:
    """Return the task; the bits follow the law of the preset if none is given, as training sets do."""
    usual = PRESET_DISTRIBUTIONS.get(preset, "uniform")
    law = str(inputs.get("law", usual))
    redrawn = law == usual == "balanced" and not online
    words = {"true": True, "yes": True, "false": False, "no": False}
    balanced = words.get(str(inputs.get("balanced_sets", redrawn)).lower())
    try:
        noise, flips = (float(inputs.get(name) or 0.0) for name in ("label_noise", "feature_noise"))
        symbols = int(inputs.get("symbols") or 2)
    except ValueError as error:
        raise ArgumentError(f"A setting of the inputs is not a number ({error}); write label_noise=0.1.") from error
    if balanced is None:
        raise ArgumentError(f"The setting balanced_sets was given {inputs['balanced_sets']!r}; it is true or false.")
    return SparseTask(function, law, noise, flips, symbols, balanced)


def _named(learners: Sequence[str | Learner], settings: Settings) -> dict[str, Learner]:
    """Return the learners by what a person calls them; of one name, numbered."""
    by_name: dict[str, Learner] = {}
    words = [f"{name} = {value}" for name, value in settings.items()]
    changed = False
    for given in learners:
        if not isinstance(given, str):
            name, learner = given.name, given
        else:
            preset = _preset_of(given)
            learner = learner_named(f"transformer:{preset}" if preset else given)
            own = [preset] if preset else []
            if settings and isinstance(learner, GradientLearner):
                changed = True
                learner = replace(learner, settings=change_settings(learner.settings, settings))
                own += words
            name = f"{given.partition(':')[0] if preset else given} ({', '.join(own)})" if own else given
        if learner in by_name.values():
            raise ArgumentError(f"The learner {name} was named twice; name each once.")
        same = sum(other.split(" #")[0] == name for other in by_name)
        by_name[f"{name} #{same + 1}" if same else name] = learner
    if settings and not changed:
        raise ArgumentError(
            f"The setting {next(iter(settings))} was given, and it is neither one of the inputs ({', '.join(INPUTS)}) "
            "nor is a transformer asked."
        )
    return by_name


def _preset_of(learner: str | Learner) -> str:
    """Return the preset of a transformer that is named; empty for any other learner."""
    kind, _, own = learner.partition(":") if isinstance(learner, str) else ("", "", "")
    return (own or "default") if kind == "transformer" else ""


def _circumstances(task: Task) -> str:
    """Say what is not usual about the inputs, in brackets."""
    if not isinstance(task, SparseTask):
        return ""
    facts = ["both labels equally likely"] if task.law == "balanced" else []
    facts += [] if task.law == "uniform" else [f"bits are 1 with probability {task.bits_law().p:.3g}"]
    facts += [f"label noise {task.label_noise:g}"] if task.label_noise else []
    facts += [f"feature noise {task.feature_noise:g}"] if task.feature_noise else []
    facts += [f"{task.symbols} symbols"] if task.symbols != 2 else []
    facts += ["balanced sets"] if task.balanced_sets else []
    return f" ({', '.join(facts)})" if facts else ""
