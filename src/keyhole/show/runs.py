"""Finished runs as documents: a row each, and one of them in full."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.show.document import Column, Document, Facts, Gap, Grid, Lines
from keyhole.show.folding import abbreviate

Record = Mapping[str, Any]

IDENTITY, TASK, LEARNER = 10, 14, 18  # letters shown of a run's name, its task and its learner
COLUMNS = (
    Column("run", gap=1),
    Column("task", gap=1),
    Column("learner", gap=1),
    Column("T", "right", gap=1),
    Column("m", "right", gap=1),
    Column("seed", "right"),
    Column("outcome", gap=1),
    Column("accuracy", "right"),
)
NOTE = (
    "T: length of the context; m: size of the training set; accuracy: share of fresh inputs answered correctly (of "
    "pretraining: 1 − the excess risk over Bayes / that of the best constant answer); success: an accuracy of at least "
    "99 %"
)
SETTINGS = {  # of a task
    "balanced_sets": (
        "whether training sets are redrawn until 40 to 60 % of labels are 1 and no other column repeats a relevant one"
    ),
    "feature_noise": "probability that a bit of the training set is flipped",
    "label_noise": "probability that a label is",
    "law": "how input bits are drawn",
    "symbols": "size of the alphabet",
}
FITTED_ONLY = "fitted only: the run fits its training set, but is not a success on fresh inputs"


def runs_document(record: Record) -> Document:
    """A row per run, from the record of a list of runs."""
    rows = [_row(run) for run in record["runs"]]
    fitted_only = [Lines(FITTED_ONLY)] if any(row[6] == "fitted only" for row in rows) else []
    return (Grid(COLUMNS, rows), *([Lines(NOTE)] if rows else []), *fitted_only)


def run_document(record: Record) -> Document:
    """Everything about one run: what was asked, what it came to, what it was computed with."""
    configuration, result = record["configuration"], record["result"]
    facts = {"finished": record["created"], "target": result["function"]}
    facts |= {"steps": record["steps"], "seconds": f"{record['seconds']:.2f}"}
    facts |= {"weights": record["weights"] or "not kept; they follow from the configuration"}
    facts |= {f"result {name}": f"{value:.6g}" for name, value in result["numbers"].items()}
    facts |= {f"task {name}": value for name, value in configuration["task"].items()}
    facts |= {f"learner {name}": value for name, value in configuration["learner"].items()}
    facts |= {f"{name} version": value for name, value in record["versions"].items()} | {"processor": record["cpu"]}
    rows = [(name, str(value)) for name, value in facts.items()]
    name = Lines(f"run {record['identity']}")  # on a line of its own, so that it is not folded and can be copied
    told = [f"{name}: {words}" for name, words in SETTINGS.items() if name in configuration["task"]]
    notes = [Lines(f"the task's settings. {'; '.join(told)}")] if told else []
    return (name, Grid(COLUMNS, [_row(record)]), Lines(NOTE), Gap(), Facts(rows), *notes)


COMPARED = (
    Column("task", gap=1),
    Column("learner", gap=1),
    Column("T", "right", gap=1),
    Column("m", "right"),
    Column("here", "right"),
    Column("there", "right"),
    Column("in both", "right"),
    Column("p", "right"),
    Column("", tones={"differs": "bad"}),
)


def comparison_document(record: Record) -> Document:
    """A row per cell of two stores: successes of runs in each, the runs that both hold, and the test."""
    rows = [
        (
            abbreviate(cell["task"], TASK),
            abbreviate(cell["learner"], LEARNER),
            str(cell["context"]),
            "fresh" if cell["samples"] is None else str(cell["samples"]),
            "{} of {}".format(*cell["first"]),
            "{} of {}".format(*cell["second"]),
            f"{cell['shared']}" + (f", {cell['unequal']} unequal" if cell["unequal"] else ""),
            "" if cell["p_value"] is None else f"{cell['p_value']:.2g}",
            "differs" if cell["differs"] else "",
        )
        for cell in record["cells"]
    ]
    first, second = record["stores"]
    alone = [
        f"{count} cell{'s' * (count != 1)} only in {store}"
        for count, store in ((record["only_first"], first), (record["only_second"], second))
        if count
    ]
    verdict = f"{record['summary']}; {'; '.join(alone)}" if alone else record["summary"]
    told = (
        f"p: Fisher's exact test of the runs that only one store holds; cells differ at {record['level']:g} over all "
        "(Holm), or where a run that both hold is not equal to the bit, as packages and processor of one kind make it"
    )
    facts = Facts([("here", first), ("there", second), ("cells", verdict)])
    return (facts, Gap(), Grid(COMPARED, rows), Lines(told)) if rows else (facts,)


def cost_document(runs: Sequence[Record]) -> Document:
    """How many runs these are, of what, and how long they took: what deleting them would lose."""
    tasks, learners = (", ".join(sorted({run[name] for run in runs})) for name in ("task", "learner"))
    contexts = ", ".join(str(context) for context in sorted({run["context"] for run in runs}))
    minutes = sum(run["seconds"] for run in runs) / 60
    counted = f"{len(runs):,} run{'s' * (len(runs) != 1)}"
    return (Lines(f"{counted} of {tasks} by {learners} at T = {contexts}: {minutes:.1f} minutes of computing"),)


def _row(run: Record) -> tuple[str, ...]:
    outcome = "success" if run["success"] else "fitted only" if run["fitted"] else "did not fit"
    return (
        run["identity"][:IDENTITY],
        abbreviate(run["task"], TASK),
        abbreviate(run["learner"], LEARNER),
        str(run["context"]),
        "fresh" if run["samples"] is None else str(run["samples"]),
        str(run["seed"]),
        outcome,
        f"{100 * run['accuracy']:.1f} %",
    )
