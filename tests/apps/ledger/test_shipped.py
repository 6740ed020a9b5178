"""Findings that are shipped are as they were written, belong to claims that there are, and stand apart."""

import json
from dataclasses import replace

from keyhole.apps.ledger.finding import shipped_folder
from keyhole.apps.ledger.ledger import LIBRARY
from keyhole.apps.ledger.reproduction import reproduce
from keyhole.apps.ledger.stored_finding import shipped_findings

KNOWN = {experiment.claim.id for experiment in LIBRARY}


def test_every_file_is_read():
    """Each file of the folder is the finding of a claim, as it was written, and was measured."""
    folder = shipped_folder("findings")
    named = {path.stem for path in folder.glob("*.json")}
    found = shipped_findings()
    assert named
    assert named == set(found) <= KNOWN
    for finding in found.values():
        assert finding.outcome.verdict != "not measured here"
        assert finding.seconds > 0


def test_what_was_changed_is_left_out(tmp_path):
    """A shipped finding whose verdict was changed is not shown."""
    name, path = next((path.stem, path) for path in sorted(shipped_folder("findings").glob("*.json")))
    record = json.loads(path.read_text("utf8"))
    (tmp_path / path.name).write_text(json.dumps(record))
    assert set(shipped_findings(tmp_path)) == {name}
    record["outcome"]["verdict"] = "holds with a caveat"
    (tmp_path / path.name).write_text(json.dumps(record))
    assert shipped_findings(tmp_path) == {}


def test_a_shipped_finding_is_not_taken_for_ones_own(tmp_path, monkeypatch):
    """The finding of this machine is measured, and keeps its verdict; what is shipped is written beside it."""
    own = reproduce(("bound-shape",), folder=tmp_path / "own", workers=1)["bound-shape"]
    other = replace(own, scale="paper", outcome=replace(own.outcome, verdict="fails here"))
    monkeypatch.setattr("keyhole.apps.ledger.reproduction.shipped_findings", lambda: {"bound-shape": other})
    found = reproduce(("bound-shape",), folder=tmp_path / "own", workers=1)
    assert found["bound-shape"].outcome.verdict == own.outcome.verdict
    written = [json.loads((tmp_path / "own" / name).read_text("utf8")) for name in ("findings.json", "shipped.json")]
    assert [each["findings"][0]["outcome"]["verdict"] for each in written] == [own.outcome.verdict, "fails here"]
