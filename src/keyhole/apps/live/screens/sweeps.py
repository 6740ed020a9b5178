"""How much data: the sweeps of the store, live while they run, and a form that starts one."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from keyhole.api.learn import Execution, answer_of, learn
from keyhole.apps.live.limits import FORMULA, TRAINING
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Answer, Command, Screen, Serving, require_small
from keyhole.decimals import percent
from keyhole.errors import ArgumentError, StoreError
from keyhole.files.record import record_of
from keyhole.sweeps import Schedule
from keyhole.sweeps.laws import LAWS, learners_figure, read_laws
from keyhole.sweeps.runs import RunSpec, RunSummary, Store
from keyhole.sweeps.thresholds import Sweep, SweepPlan, replay
from keyhole.training import Task
from keyhole.training.learners import Learner

CONFIDENCE = Schedule.confidence
LEARNERS = (
    "transformer",
    "elimination",
    "consistent:and",
    "consistent:junta",
    "gf2",
    "sklearn:tree",
    "sklearn:logistic",
)


def sweeps(_query: Query, serving: Serving) -> Answer:
    """Every sweep of the store, with thresholds, laws and their figure."""
    remark = ""
    try:
        found = stored_sweeps(serving.store)
    except StoreError as error:
        if any(serving.store.glob("runs.*")):
            return {"sweeps": [], "runs": 0, "figure": None, "remark": str(error)}
        found, remark = example_sweeps(), "There are no runs yet: this sweep is an example. "
    answer = {"sweeps": record_of(found), "runs": 0 if remark else sum(each["runs"] for each in found)}
    drawn = {
        sweep["name"]: [each for each in sweep["thresholds"] if None not in (each.m, each.low, each.high)]
        for sweep in found
    }
    if not any(drawn.values()):
        remark = "No threshold of the stored runs has an interval yet; there is none to draw."
        return {**answer, "figure": None, "remark": remark}
    figure = learners_figure("Samples needed against the length of the context", drawn)
    subtitle = f"{remark}half of the runs succeed at m*; bands are {percent(CONFIDENCE, 0)} intervals"
    return {**answer, "figure": asdict(replace(figure, kind="lines", subtitle=subtitle, over=())), "remark": ""}


@cache
def example_sweeps() -> list[dict[str, Any]]:
    """Make a small sweep in a folder of its own, for a store without runs."""
    with TemporaryDirectory() as folder:
        store = Path(folder)
        learn("and:3", [25, 50, 100], "elimination", execution=Execution(store, workers=0))
        return stored_sweeps(store)


def stored_sweeps(store: Path) -> list[dict[str, Any]]:
    """Return the sweeps of a store, the one that moved last first; nothing is run.

    A sweep has all runs of one task by one learner with one set of settings; names are numbered where settings differ.
    """
    with Store(store, create=False) as kept:
        rows = kept.rows()
        settings = kept.configurations([row.identity for row in rows])
        groups: dict[str, list[RunSummary]] = {}
        for row in rows:
            every = settings[row.identity].items()
            shared = {name: value for name, value in every if name not in ("context", "samples", "seed")}
            groups.setdefault(json.dumps(shared, sort_keys=True), []).append(row)
        numbers: dict[str, int] = {}
        result = []
        for runs in groups.values():
            spec = RunSpec.from_record(settings[runs[0].identity])
            if not (isinstance(spec.task, Task) and isinstance(spec.learner, Learner)):
                continue  # of pretraining, which is not swept over training sets
            name = f"{spec.task.name} by {spec.learner.name}"
            number = numbers[name] = numbers.get(name, 0) + 1
            answer = answer_of(name, _sweep_of(runs, spec.task, spec.learner, kept), read_laws(LAWS))
            result.append(
                {
                    "name": f"{name} #{number}" if number > 1 else name,
                    "runs": len(runs),
                    "successes": sum(row.success for row in runs),
                    "last": max(row.created for row in runs),
                    "thresholds": answer.thresholds,
                    "law": answer.verdict,
                }
            )
    return sorted(result, key=lambda sweep: str(sweep["last"]), reverse=True)


def _sweep_of(rows: Sequence[RunSummary], task: Task, learner: Learner, store: Store) -> Sweep:
    """Return the sweep that made these runs, so that the lab answers as `keyhole learn` did.

    A schedule is the one that made them if its rounds, played again, ask for these runs and no others. The usual one is
    tried, then one whose budget ran out, then a grid; where none did, the runs are read as of the usual one.
    """
    trials = Counter((row.context, row.samples) for row in rows)
    sizes = sorted({row.samples for row in rows if row.samples is not None})
    first, contexts = min(row.seed for row in rows), tuple(sorted({row.context for row in rows}))
    schedules = [Schedule(), Schedule(budget=max(Counter(row.context for row in rows).values()))]
    schedules += [Schedule(samples=sizes, seeds=max(trials.values()))] if sizes else []
    plans = [SweepPlan(task, learner, contexts, each.rounds(), first_seed=first) for each in schedules]
    for plan in plans:
        swept = replay(plan, store)
        if {row.identity for row in swept.rows} == {row.identity for row in rows}:
            return swept
    return Sweep(plans[0], tuple(rows), 0, dict.fromkeys(contexts, 0), 0.0, {})


def start(query: Query, serving: Serving) -> Command:
    """The command of a sweep, with every value in range."""
    task = query.text("task", FORMULA, "and:3")
    require_small(task)
    contexts = query.places("contexts", TRAINING["contexts"]) or [25, 50, 100]
    if max(contexts) > TRAINING["context"]:
        raise ArgumentError(f"A context of {max(contexts)} was asked for; the lab takes at most {TRAINING['context']}.")
    learner = query.choice("learner", LEARNERS, "transformer")
    budget = query.whole("budget", 4, TRAINING["budget"], 40)
    lengths = ",".join(str(context) for context in sorted(set(contexts)))
    words = f"learn --context {lengths} --learner {learner} --budget {budget}".split()
    return Command(f"{task} by {learner}, T = {lengths}", (*words, "--store", str(serving.store), "--", task))


def watched(serving: Serving) -> Mapping[str, object]:
    """Return the sizes and times of the store's files, which change when a run is added."""
    seen: dict[str, object] = {}
    for path in sorted(serving.store.glob("runs.*")):
        try:
            stat = path.stat()
        except OSError:
            continue
        seen[path.name] = [stat.st_size, stat.st_mtime_ns]
    return seen


SCREEN = Screen(
    "sweeps",
    "How much data",
    "How many samples training takes as the context grows: every sweep of the store, also those started at a terminal.",
    {"sweeps": sweeps},
    commands={"start": start},
    watched=watched,
)
