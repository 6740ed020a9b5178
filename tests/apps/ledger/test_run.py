"""A run keeps what it finishes, and a second run finds it done."""

import json
import math
import os
from dataclasses import asdict

import pytest

from keyhole.apps.ledger import ledger, run
from keyhole.apps.ledger import page as report
from keyhole.apps.ledger.cache_key import cache_key
from keyhole.apps.ledger.finding import Claim, Experiment, Outcome
from keyhole.apps.ledger.ledger import find, register
from keyhole.apps.ledger.reproduction import reproduce as reproduce_page
from keyhole.apps.ledger.stored_finding import digest
from keyhole.errors import ArgumentError, OutputError
from keyhole.progress import ignore

pytestmark = pytest.mark.slow

QUICK = ("sharpness", "bound-shape", "joined")


def reproduce(folder, names=QUICK, workers=1, watch=ignore):
    """The findings of the chosen claims at quick scale."""
    return chosen(run.run_experiments(names, scale="quick", seed=0, folder=folder, workers=workers, watch=watch), names)


def chosen(found, names):
    """The findings of these claims."""
    return tuple(found[name] for name in names)


def finished(steps):
    """Of the steps told, those that end with a finding: whether each was made now."""
    return [step.detail.fresh for step in steps if step.detail is not None]


def test_a_second_run_runs_nothing(tmp_path):
    """Findings of the second run are the first's, and every step says it was found done."""
    steps = []
    first = reproduce(tmp_path, watch=steps.append)
    assert finished(steps) == [True] * 3
    steps.clear()
    assert reproduce(tmp_path, watch=steps.append) == first
    assert finished(steps) == [False] * 3
    assert [(step.done, step.of) for step in steps] == [(1, 3), (2, 3), (3, 3)]


def test_a_run_is_never_silent_for_long(tmp_path, monkeypatch):
    """The start and every verdict are milestones; studies under way are named before, or while none finishes."""
    heard = []
    reproduce(tmp_path / "one", watch=heard.append)
    told = [step.what for step in heard if step.milestone]
    assert told == ["claims (to be measured: 3, processes: 1)", *(f"claims ({name}: holds)" for name in QUICK)]
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
    steps = []
    reproduce(tmp_path, watch=steps.append)
    assert finished(steps) == [False, False, True]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"claim": 3}'])
def test_a_damaged_finding_is_looked_at_again(tmp_path, content):
    """A kept file that cannot be read is replaced, not trusted."""
    path = kept_at(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(content)
    (finding,) = reproduce(tmp_path, ("sharpness",))
    assert finding.outcome.verdict == "holds"
    assert run.load(find("sharpness"), "quick", 0, tmp_path) == finding


def test_processes_do_not_change_findings(tmp_path, monkeypatch):
    """One process and two spawned ones give the same outcomes, in the ledger's order; at most two are under way."""
    monkeypatch.setattr(run, "HEARTBEAT", 0.05)
    steps = []
    one, two = reproduce(tmp_path / "one"), reproduce(tmp_path / "two", workers=2, watch=steps.append)
    assert max(step.what.count(",") + 1 for step in steps if step.what.startswith("looking at")) == 2
    assert [finding.outcome for finding in one] == [finding.outcome for finding in two]
    assert [finding.claim.id for finding in two] == list(QUICK)


def test_no_workers_are_refused(tmp_path):
    """At least one process is needed."""
    with pytest.raises(ArgumentError, match="0 workers were asked for"):
        reproduce(tmp_path, workers=0)


def kept_at(folder, name="sharpness"):
    """Where the quick finding of a claim is kept."""
    return run.path_of(name, cache_key(find(name), "quick", 0), folder)


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
    told_of = {"workers": 1, "watch": steps.append, "warn": told.append}
    found = run.run_experiments(names, scale="quick", seed=0, folder=folder, **told_of)
    return chosen(found, names), finished(steps), told


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
    """A digest made to fit does not help what no experiment writes."""
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
    reproduce_page(("sharpness",), folder=folder, workers=1)
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


def test_unknown_files_in_the_folder_stay_off_the_page(tmp_path):
    """A file that belongs to no claim of the ledger is not read, whatever it says; nor is one that was changed."""
    reproduce(tmp_path, ("sharpness", "joined"))
    unknown = json.loads(kept_at(tmp_path).read_text())
    (tmp_path / "findings" / "unknown-0123456789abcdef.json").write_text(json.dumps(unknown))
    changed(kept_at(tmp_path, "joined"), EDITS["measurement"])
    told = []
    found = run.run_experiments(("sharpness",), scale="quick", seed=0, folder=tmp_path, workers=1, warn=told.append)
    assert list(found) == ["sharpness"]
    assert len(told) == 1
    assert "joined" in told[0]


def test_a_number_too_large_to_read_is_no_outcome(tmp_path):
    """A number that reads as infinite, though it is written in digits, is not taken."""
    reproduce(tmp_path, ("sharpness",))
    path = kept_at(tmp_path)
    redigested(path, at("outcome", "numbers", {"x": math.inf}))
    path.write_text(path.read_text().replace("Infinity", "1e999"))
    assert run.load(find("sharpness"), "quick", 0, tmp_path) is None


OWN = Claim(
    id="own",
    title="A claim in a test",
    statement="It is so.",
    formula="a=b",
    kind="measurement",
    source="a test",
    prediction="x = 1",
    could_fail="another x",
)


def measure_one(scale, seed):  # noqa: ARG001  (nothing is drawn)
    """One is one."""
    return Outcome("holds", "x = 1", {"x": 1.0}, "none")


@pytest.fixture
def own(monkeypatch):
    """A claim of one's own in the ledger, for one test."""
    monkeypatch.setattr(ledger, "_registered", {})
    return register(Experiment(OWN, measure_one))


def test_a_claim_of_ones_own_is_measured_kept_and_shown(tmp_path, own):
    """A registered claim has its finding, found done the second time, and stands on the page beside the library's."""
    steps = []
    found = reproduce_page(("own", "sharpness", "joined"), folder=tmp_path, workers=2, watch=steps.append)
    assert [finding.claim.id for finding in found.findings] == ["own", "sharpness", "joined"]
    assert [finding.claim.id for finding in found.stored] == ["joined", "sharpness", "own"]
    assert finished(steps) == [True] * 3
    assert all(text in found.page.read_text() for text in (own.claim.title, own.claim.prediction))
    steps.clear()
    again = reproduce_page(("own",), folder=tmp_path, watch=steps.append)
    assert again.findings == found.findings[:1]
    assert finished(steps) == [False]


@pytest.mark.usefixtures("own")
def test_one_command_reads_each_finding_once(tmp_path, monkeypatch):
    """A run reads every kept finding once, and draws the specification of every figure once."""
    reads, specifications = [], []
    read, make = run.read_finding, report.to_spec
    monkeypatch.setattr(
        run, "read_finding", lambda claim, *rest, **more: reads.append(claim.id) or read(claim, *rest, **more)
    )
    reproduce_page(("own", "sharpness", "joined"), folder=tmp_path, workers=1)
    assert reads == []
    monkeypatch.setattr(report, "to_spec", lambda figure: specifications.append(figure.title) or make(figure))
    reproduce_page(("own", "sharpness"), folder=tmp_path, workers=1)
    assert sorted(reads) == ["joined", "own", "sharpness"]
    assert specifications == []


def test_workers_are_as_many_as_the_cores_one_may_use(tmp_path, monkeypatch):
    """Without a number of workers there are as many as the laboratory counts, be the machine's cores more."""
    counts = []
    monkeypatch.setattr("keyhole.sweeps.runs.core_count", lambda: counts.append(1) or 1)
    monkeypatch.setattr(os, "cpu_count", lambda: pytest.fail("the machine's cores were counted"))
    reproduce(tmp_path, workers=None)
    assert counts == [1]
