"""How much data: the sweeps of the store, live while they run, and a form that starts one."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from keyhole.apps.live.limits import FORMULA, TRAINING
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Answer, Command, Screen, Serving, require_small
from keyhole.decimals import percent
from keyhole.errors import ArgumentError, StoreError
from keyhole.files.record import record_of
from keyhole.sweeps.laws import comparable, compare_laws, learners_figure
from keyhole.sweeps.runs import RunSummary, Store
from keyhole.sweeps.thresholds import estimate_threshold

CONFIDENCE, QUANTILE = 0.9, 0.5
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
    try:
        found = stored_sweeps(serving.store)
    except StoreError as error:
        return {"sweeps": [], "runs": 0, "figure": None, "remark": str(error)}
    answer = {"sweeps": record_of(found), "runs": sum(each["runs"] for each in found)}
    drawn = {
        sweep["name"]: [each for each in sweep["thresholds"] if None not in (each.m, each.low, each.high)]
        for sweep in found
    }
    if not any(drawn.values()):
        remark = "No threshold of the stored runs has an interval yet; there is none to draw."
        return {**answer, "figure": None, "remark": remark}
    figure = learners_figure("Samples needed against the length of the context", drawn)
    subtitle = f"half of the runs succeed at m*; bands are {percent(CONFIDENCE, 0)} intervals"
    return {**answer, "figure": asdict(replace(figure, kind="lines", subtitle=subtitle, over=())), "remark": ""}


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
        name = f"{runs[0].task} by {runs[0].learner}"
        number = numbers[name] = numbers.get(name, 0) + 1
        counts: dict[int, dict[int, tuple[int, int]]] = {}
        for row in runs:
            if row.samples is not None:
                sizes = counts.setdefault(row.context, {})
                successes, trials = sizes.get(row.samples, (0, 0))
                sizes[row.samples] = successes + row.success, trials + 1
        thresholds = [
            estimate_threshold(context, sizes, quantile=QUANTILE, confidence=CONFIDENCE)
            for context, sizes in sorted(counts.items())
        ]
        result.append(
            {
                "name": f"{name} #{number}" if number > 1 else name,
                "runs": len(runs),
                "successes": sum(row.success for row in runs),
                "last": max(row.created for row in runs),
                "thresholds": thresholds,
                "law": compare_laws(thresholds, confidence=CONFIDENCE) if comparable(thresholds) else None,
            }
        )
    return sorted(result, key=lambda sweep: str(sweep["last"]), reverse=True)


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
