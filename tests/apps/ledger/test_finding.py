"""Findings are values: they go to JSON and come back; claims say all they must, and one's own join the ledger."""

from dataclasses import replace

import pytest

from keyhole.apps.ledger import ledger
from keyhole.apps.ledger.finding import Claim, Experiment, Outcome
from keyhole.apps.ledger.ledger import LIBRARY, NOT_COVERED, choose, experiments, find, register
from keyhole.apps.ledger.run import run_experiment
from keyhole.apps.ledger.stored_finding import finding_bytes, read_finding
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.files.record import record_of


@pytest.mark.parametrize("experiment", LIBRARY, ids=lambda experiment: experiment.claim.id)
def test_claims_say_all_they_must(experiment):
    """Every claim states itself, a prediction, a way to fail and a source."""
    claim = experiment.claim
    assert all([claim.title, claim.statement, claim.formula, claim.prediction, claim.could_fail, claim.source])
    assert find(claim.id) is experiment


def test_ids_are_unique():
    """No two claims share a name."""
    assert len({experiment.claim.id for experiment in LIBRARY}) == len(LIBRARY)


def test_the_ledger_tells_proof_from_evidence():
    """There are claims of both sorts, and what is not covered is listed."""
    assert {experiment.claim.proved for experiment in LIBRARY} == {True, False}
    assert NOT_COVERED


def test_what_only_a_bug_can_fail_is_no_evidence():
    """A claim whose source is a proof of keyhole's is an identity or an inequality, never a measurement."""
    proved = [one.claim for one in LIBRARY if "with proof" in one.claim.source]
    assert {"floor", "theorem-t", "inference-rates", "joined"} <= {claim.id for claim in proved}
    assert all(claim.proved for claim in proved)


def test_unknown_claims_are_refused():
    """An id that is not in the ledger is refused with those that are."""
    with pytest.raises(ArgumentError, match="'nothing' is not a claim; there are conjunctions-uniform"):
        find("nothing")


def test_findings_survive_json():
    """A finding read back from its kept JSON, with the ledger's claim, equals the one written, figures included."""
    finding = run_experiment(find("sharpness"), "quick", 0)
    assert read_finding(finding.claim, finding_bytes(finding)) == finding


@pytest.mark.parametrize(
    "name", ["../../ESCAPED", "/etc/escaped", "a/b", "..", "", "a b", "Claim", "a--b", "a\n", "<b>"]
)
def test_a_claims_name_is_no_path(name):
    """An id names files and places on a page, so it is small letters, digits and single hyphens."""
    with pytest.raises(AssumptionError, match="small letters, digits and single hyphens"):
        replace(LIBRARY[0].claim, id=name)


def measure_nothing(scale, seed):
    """An outcome without a measurement."""
    return Outcome("holds", f"{scale}, {seed}", {"x": 1.0}, "none")


OWN = Claim(
    id="own",
    title="A claim of one's own",
    statement="It is so.",
    formula="a=b",
    kind="measurement",
    source="a test",
    prediction="it holds",
    could_fail="if not",
)


@pytest.fixture
def own_ledger(monkeypatch):
    """A ledger in which nothing is registered, before and after."""
    monkeypatch.setattr(ledger, "_registered", {})


@pytest.mark.usefixtures("own_ledger")
def test_a_claim_of_ones_own_joins_the_ledger():
    """A registered claim is found, chosen and listed after the library's; the same id again replaces it."""
    first, second = Experiment(OWN, measure_nothing), Experiment(replace(OWN, title="Another"), measure_nothing)
    assert register(first) is first
    assert find("own") is first
    register(second)
    assert experiments() == (*LIBRARY, second)
    assert choose(["own", "sharpness", "own"]) == (second, find("sharpness"))


@pytest.mark.usefixtures("own_ledger")
def test_the_librarys_claims_are_not_replaced():
    """The id of a library's claim is refused for one's own."""
    with pytest.raises(ArgumentError, match="The claim 'sharpness' is one of the library's; give your own another id"):
        register(Experiment(replace(OWN, id="sharpness"), measure_nothing))


@pytest.mark.slow
def test_the_command_of_a_finding_names_what_makes_it():
    """A finding of the library is made by the command line, one of a user's claim by the user's file."""
    library, own = (run_experiment(one, "quick", 3) for one in (find("bound-shape"), Experiment(OWN, measure_nothing)))
    assert library.command.split()[-6:] == ["--only", "bound-shape", "--scale", "quick", "--seed", "3"]
    assert own.command == f"python {__file__}"
    assert "origin" not in record_of(library)


def test_outcomes_compare_by_value():
    """Two outcomes with the same content are equal."""
    assert Outcome("holds", "m", {"a": 1.0}, "none") == Outcome("holds", "m", {"a": 1.0}, "none")
