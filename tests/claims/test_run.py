"""A run keeps what it finishes, and a second run finds it done."""

import pytest

from keyhole.claims import run
from keyhole.claims.ledger import find
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
