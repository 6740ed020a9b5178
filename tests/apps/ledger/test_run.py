"""A run keeps what it finishes, and a second run finds it done."""

import json
import os
from dataclasses import replace

import pytest

from keyhole.apps.ledger import ledger, run
from keyhole.apps.ledger import page as report
from keyhole.apps.ledger.finding import Claim, Experiment, Outcome
from keyhole.apps.ledger.ledger import find, register
from keyhole.apps.ledger.reproduction import reproduce as reproduce_page
from keyhole.errors import ArgumentError
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
    return [step.detail == "measured" for step in steps if step.detail is not None]


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
    assert len([step for step in heard if step.milestone]) == 1 + len(QUICK)
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


@pytest.mark.parametrize("content", ["", "[]", '{"claim": 3}', "[" * 200_000])
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
    return run.path_of(find(name), "quick", 0, folder)


def changed(path, change):
    """Change a kept finding's record as somebody might who edits the file, its digest left as it is."""
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


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
    "row": lambda record: record["outcome"]["figures"][0]["rows"].pop(),
    "revision": at("run", "sharpness-quick-0-9"),
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


def test_an_outcome_of_another_claim_is_not_taken(tmp_path):
    """A finding copied under another claim's name is that claim's no more: its digest names its run."""
    reproduce(tmp_path, ("sharpness", "joined"))
    kept_at(tmp_path).write_bytes(kept_at(tmp_path, "joined").read_bytes())
    (finding,), fresh, told = again(tmp_path)
    assert finding.claim.id == "sharpness"
    assert (fresh, len(told)) == ([True], 1)


def test_unknown_files_in_the_folder_stay_off_the_page(tmp_path):
    """A file that belongs to no claim of the ledger is not read, whatever it says; nor is one that was changed."""
    reproduce(tmp_path, ("sharpness", "joined"))
    unknown = json.loads(kept_at(tmp_path).read_text())
    (tmp_path / "findings" / "unknown-quick-0-1.json").write_text(json.dumps(unknown))
    changed(kept_at(tmp_path, "joined"), EDITS["verdict"])
    told = []
    found = run.run_experiments(("sharpness",), scale="quick", seed=0, folder=tmp_path, workers=1, warn=told.append)
    assert list(found) == ["sharpness"]
    assert len(told) == 1
    assert "joined" in told[0]


def test_a_finding_is_found_by_claim_scale_seed_and_revision(tmp_path):
    """Another scale, seed or revision is another finding."""
    experiment = find("sharpness")
    raised = replace(experiment, claim=replace(experiment.claim, revision=2))
    paths = {
        run.path_of(*question, tmp_path).name
        for question in (
            (experiment, "quick", 0),
            (experiment, "paper", 0),
            (experiment, "quick", 1),
            (raised, "quick", 0),
        )
    }
    names = ("quick-0-1", "paper-0-1", "quick-1-1", "quick-0-2")
    assert paths == {f"sharpness-{name}.json" for name in names}
    reproduce(tmp_path, ("sharpness",))
    assert run.load(experiment, "quick", 0, tmp_path) is not None
    assert run.load(raised, "quick", 0, tmp_path) is None


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
    assert found.chosen == ("own", "sharpness", "joined")
    assert [finding.claim.id for finding in found.findings] == ["joined", "sharpness", "own"]
    assert finished(steps) == [True] * 3
    assert all(text in found.page.read_text() for text in (own.claim.title, own.claim.prediction))
    steps.clear()
    again = reproduce_page(("own",), folder=tmp_path, watch=steps.append)
    assert again["own"] == found["own"]
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
    monkeypatch.setattr(run, "core_count", lambda: counts.append(1) or 1)
    monkeypatch.setattr(os, "cpu_count", lambda: pytest.fail("the machine's cores were counted"))
    reproduce(tmp_path, workers=None)
    assert counts == [1]
