"""Findings are values: they go to JSON and come back, and their runs are named by everything that decides them."""

from dataclasses import replace

import pytest

from keyhole.claims.finding import Finding, Outcome, Study
from keyhole.claims.keeping import read, written
from keyhole.claims.ledger import NOT_COVERED, STUDIES, find
from keyhole.claims.run import computed_with
from keyhole.errors import ArgumentError, AssumptionError


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.claim.id)
def test_claims_say_all_they_must(study):
    """Every claim states itself, a prediction, a way to fail and a source."""
    claim = study.claim
    assert all([claim.title, claim.statement, claim.formula, claim.prediction, claim.could_fail, claim.source])
    assert find(claim.id) is study


def test_ids_are_unique():
    """No two claims share a name."""
    assert len({study.claim.id for study in STUDIES}) == len(STUDIES)


def test_the_ledger_tells_proof_from_evidence():
    """There are claims of both sorts, and what is not covered is listed."""
    assert {study.claim.proved for study in STUDIES} == {True, False}
    assert NOT_COVERED


def test_unknown_claims_are_refused():
    """An id that is not in the ledger is refused with those that are."""
    with pytest.raises(ArgumentError, match="There is no claim 'nothing'; there are conjunctions-uniform"):
        find("nothing")


def test_findings_survive_json():
    """A finding read back from its kept JSON, with the ledger's claim, equals the one written, figures included."""
    study = find("sharpness")
    finding = Finding(study.claim, study.look("quick", 0), study.identity("quick", 0), "quick", 0, 1.5, computed_with())
    assert read(study.claim, written(finding)) == finding


@pytest.mark.parametrize(
    "name", ["../../ESCAPED", "/etc/escaped", "a/b", "..", "", "a b", "Claim", "a--b", "a\n", "<b>"]
)
def test_a_claims_name_is_no_path(name):
    """An id names files and places on a page, so it is small letters, digits and single hyphens."""
    with pytest.raises(AssumptionError, match="small letters, digits and single hyphens"):
        replace(STUDIES[0].claim, id=name)


def test_identity_follows_everything_that_decides_a_run():
    """Another scale, seed or claim is another run; the same is the same."""
    study = STUDIES[0]
    other = Study(replace(study.claim, prediction="something else"), study.look)
    names = [
        study.identity("quick", 0),
        study.identity("paper", 0),
        study.identity("quick", 1),
        other.identity("quick", 0),
    ]
    assert len(set(names)) == len(names)
    assert study.identity("quick", 0) == names[0]


def test_outcomes_compare_by_value():
    """Two outcomes with the same content are equal."""
    assert Outcome("holds", "m", {"a": 1.0}, "none") == Outcome("holds", "m", {"a": 1.0}, "none")
