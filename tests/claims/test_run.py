"""A run keeps what it finishes, and a second run finds it done."""

import json
import math
import os
from dataclasses import asdict

import pytest

from keyhole.claims import run
from keyhole.claims.keeping import digest
from keyhole.claims.ledger import find
from keyhole.errors import ArgumentError, OutputError
from keyhole.show.report import write_report
from keyhole.errors import ArgumentError
from keyhole.progress import ignore

QUICK = ("sharpness", "bound-shape", "joined")


def reproduce(folder, names=QUICK, workers=1, watch=ignore):
    """The chosen studies at quick scale."""
    return run.run_studies(names, scale="quick", seed=0, folder=folder, workers=workers, watch=watch)


def test_a_second_run_runs_nothing(tmp_path):
    """Findings of the second run are the first's, and every step says it was found done."""
    heard = []
    first = reproduce(tmp_path, watch=heard.append)
    assert [step.detail.fresh for step in heard if step.detail] == [True] * 3
    heard.clear()
    assert reproduce(tmp_path, watch=heard.append) == first
    assert [step.detail.fresh for step in heard] == [False] * 3
    assert [step.done for step in heard] == [1, 2, 3]


def test_a_run_is_never_silent_for_long(tmp_path, monkeypatch):
    """The start and every verdict are milestones; studies under way are named before, or while none finishes."""
    heard = []
    reproduce(tmp_path / "one", watch=heard.append)
    told = [step.what for step in heard if step.milestone]
    assert told == ["claims (to be looked at: 3, processes: 1)", *(f"claims ({name}: holds)" for name in QUICK)]
    assert [step.what for step in heard if not step.milestone] == [f"looking at {name}" for name in QUICK]
    heard.clear()
    monkeypatch.setattr(run, "HEARTBEAT", 0.01)
    reproduce(tmp_path / "two", QUICK[:2], workers=2, watch=heard.append)
    assert any(QUICK[0] in step.what for step in heard if not step.milestone)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    """What finished before the interruption is not run again."""

    def stop(step):
        if step.done == 2 and step.milestone:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path, watch=stop)
    heard = []
    reproduce(tmp_path, watch=heard.append)
    assert [step.detail.fresh for step in heard if step.detail] == [False, False, True]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"claim": 3}'])
def test_a_damaged_finding_is_looked_at_again(tmp_path, content):
    """A kept file that cannot be read is replaced, not trusted."""
    path = run.path_of(find("sharpness"), "quick", 0, tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(content)
    (finding,) = reproduce(tmp_path, ("sharpness",))
    assert finding.outcome.verdict == "holds"
    assert run.load(find("sharpness"), "quick", 0, tmp_path) == finding


def test_processes_do_not_change_findings(tmp_path):
    """One process and two spawned ones give the same outcomes, in the ledger's order."""
    one, two = reproduce(tmp_path / "one"), reproduce(tmp_path / "two", workers=2)
    assert [finding.outcome for finding in one] == [finding.outcome for finding in two]
    assert [finding.claim.id for finding in two] == list(QUICK)


def test_no_workers_are_refused(tmp_path):
    """At least one process is needed."""
    with pytest.raises(ArgumentError, match="at least one is needed"):
        reproduce(tmp_path, workers=0)


def kept_at(folder, name="sharpness"):
    """Where the quick finding of a claim is kept."""
    return run.path_of(find(name), "quick", 0, folder)


def changed(path, change):
    """Change a kept finding's record as somebody might who edits the file, its digest left as it is."""
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def redigested(path, change):
    """Change a kept finding's record and make its digest hold again."""
    changed(path, lambda record: (change(record), record.update(digest=digest(record))))


def again(folder, names=("sharpness",)):
    """Reproduce once more: the findings, whether each was made now, and the lines that were told."""
    steps, told = [], []
    found = run.reproduce(names, scale="quick", seed=0, folder=folder, workers=1, watch=steps.append, tell=told.append)
    return found, [step.fresh for step in steps], told


def at(*names):
    """A change of one place in a record, given the place and, last, what to put there."""
    *path, name, value = names

    def change(record):
        for one in path:
            record = record[one]
        record[name] = value

    return change


EDITS = {
    "verdict": at("outcome", "verdict", "fails here"),
    "measurement": at("outcome", "measurement", "Forged: P = NP"),
    "number": lambda record: record["outcome"]["numbers"].update({next(iter(record["outcome"]["numbers"])): 0.5}),
    "another number": lambda record: record["outcome"]["numbers"].update(forged=1.0),
    "caveat": at("outcome", "caveats", ["none whatever"]),
    "row": lambda record: record["outcome"]["figures"][0]["rows"].pop(),
    "seconds": at("seconds", 3.0),
    "versions": at("versions", "numpy", "9"),
    "digest": at("digest", "0" * 64),
    "no digest": lambda record: record.pop("digest"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_outcome_is_looked_at_again(tmp_path, edit):
    """What the digest does not cover is not believed: the claim is run again, one line says so, and it is put right."""
    (first,) = reproduce(tmp_path, ("sharpness",))
    changed(kept_at(tmp_path), EDITS[edit])
    (second,), fresh, told = again(tmp_path)
    assert second.outcome == first.outcome
    assert fresh == [True]
    assert len(told) == 1
    assert "sharpness" in told[0]
    assert "not as it was written" in told[0]
    assert again(tmp_path) == ((second,), [False], [])


WRONG = {
    "seconds that are no number": at("seconds", math.nan),
    "endless seconds": at("seconds", math.inf),
    "seconds below zero": at("seconds", -1.0),
    "seconds in words": at("seconds", "1.0"),
    "an unknown verdict": at("outcome", "verdict", "proved by decree"),
    "a verdict that is a list": at("outcome", "verdict", []),
    "a measurement that is none": at("outcome", "measurement", 3),
    "a number in words": at("outcome", "numbers", {"x": []}),
    "caveats that are one text": at("outcome", "caveats", "abc"),
    "a figure of no kind": lambda record: record["outcome"]["figures"][0].update(kind="../../x"),
    "a figure with an axis of no scale": lambda record: record["outcome"]["figures"][0]["x"].update(scale="spiral"),
    "a figure whose rows are texts": lambda record: record["outcome"]["figures"][0].update(rows=["abc"]),
    "a figure whose cells are lists": lambda record: record["outcome"]["figures"][0]["rows"][0].update(
        {name: [] for name in record["outcome"]["figures"][0]["rows"][0]}
    ),
    "a figure whose title is a number": lambda record: record["outcome"]["figures"][0].update(title=3),
    "a figure without rows": lambda record: record["outcome"]["figures"][0].update(rows=[]),
    "a figure with an endless cell": lambda record: record["outcome"]["figures"][0]["rows"][0].update(x=10**400),
    "numbers that are a list": at("outcome", "numbers", []),
    "a number beyond all": at("outcome", "numbers", {"x": 10**400}),
    "an outcome that is a list": at("outcome", []),
    "versions that are a list": at("versions", []),
    "another run": at("run", "0" * 16),
    "another seed": at("seed", 5),
    "another scale": at("scale", "paper"),
    "an unknown entry": at("outcome", "aside", 1),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_an_outcome_that_is_none_is_looked_at_again(tmp_path, wrong):
    """A digest made to fit does not help what no study writes."""
    (first,) = reproduce(tmp_path, ("sharpness",))
    redigested(kept_at(tmp_path), WRONG[wrong])
    (second,), fresh, told = again(tmp_path)
    assert second.outcome == first.outcome
    assert fresh == [True]
    assert len(told) == 1


def test_the_claim_is_the_ledgers(tmp_path):
    """Whatever a file says of the claim, title, kind and id are the ledger's, and no file of another name appears."""
    folder = tmp_path / "deep" / "report"
    reproduce(folder, ("sharpness",))
    forged = {**asdict(find("sharpness").claim), "id": "../../ESCAPED", "title": "Forged", "kind": "replication"}
    redigested(kept_at(folder), at("claim", forged))
    (finding,), _, _ = again(folder)
    assert finding.claim == find("sharpness").claim
    write_report(run.kept("quick", 0, folder), [], folder)
    assert "Forged" not in (folder / "index.html").read_text()
    assert not [path for path in tmp_path.rglob("*") if "ESCAPED" in path.name]


def test_an_outcome_of_another_claim_is_not_taken(tmp_path):
    """A finding copied under another claim's name is that claim's no more: its digest names its run."""
    reproduce(tmp_path, ("sharpness", "joined"))
    kept_at(tmp_path).write_bytes(kept_at(tmp_path, "joined").read_bytes())
    (finding,), fresh, told = again(tmp_path)
    assert finding.claim.id == "sharpness"
    assert (fresh, len(told)) == ([True], 1)


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"outcome":' * 100_000, "9" * 100_000, "\ud800".encode("utf8", "surrogatepass")]
)
def test_a_hostile_finding_is_looked_at_again(tmp_path, text):
    """JSON nested deeper than calls may nest, endless numbers and broken text are a line and a run, no more."""
    path = kept_at(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (finding,), fresh, told = again(tmp_path)
    assert finding.outcome.verdict == "holds"
    assert (fresh, len(told)) == ([True], 1)


def test_a_pipe_among_the_findings_is_not_waited_for(tmp_path):
    """What is no regular file is not opened, for a reader of a pipe waits for its writer."""
    path = kept_at(tmp_path)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(OutputError, match="is no file; remove it"):
        run.load(find("sharpness"), "quick", 0, tmp_path)


def test_strangers_in_the_folder_stay_off_the_page(tmp_path):
    """A file that belongs to no claim of the ledger is not read, whatever it says; nor is one that was changed."""
    reproduce(tmp_path, ("sharpness", "joined"))
    stranger = json.loads(kept_at(tmp_path).read_text())
    (tmp_path / "findings" / "stranger-0123456789abcdef.json").write_text(json.dumps(stranger))
    changed(kept_at(tmp_path, "joined"), EDITS["measurement"])
    told = []
    assert [finding.claim.id for finding in run.kept("quick", 0, tmp_path, tell=told.append)] == ["sharpness"]
    assert len(told) == 1
    assert "joined" in told[0]


def test_a_number_too_large_to_read_is_no_outcome(tmp_path):
    """A number that reads as infinite, though it is written in digits, is not taken."""
    reproduce(tmp_path, ("sharpness",))
    path = kept_at(tmp_path)
    redigested(path, at("outcome", "numbers", {"x": math.inf}))
    path.write_text(path.read_text().replace("Infinity", "1e999"))
    assert run.load(find("sharpness"), "quick", 0, tmp_path) is None
