"""How much data: the sweeps of the store, live while they run, and a form that starts one."""

from collections.abc import Mapping
from dataclasses import asdict

from keyhole.apps.live.limits import FORMULA, TRAINING
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Answer, Command, Screen, Serving, require_small
from keyhole.apps.live.stored_sweeps import stored_sweeps, sweeps_figure
from keyhole.errors import ArgumentError, OutputError, StoreError
from keyhole.files.record import record_of

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
    answer = {"sweeps": record_of(found), "runs": sum(each.runs for each in found)}
    try:
        return {**answer, "figure": asdict(sweeps_figure(found)), "remark": ""}
    except OutputError as error:
        return {**answer, "figure": None, "remark": str(error)}


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
