"""The ledger at the keyboard."""

import json

import pytest
from typer.testing import CliRunner

from keyhole.apps.ledger.ledger import LIBRARY, NOT_COVERED
from keyhole.cli.app import app


def run(*arguments: str):
    """The command run in this process."""
    return CliRunner().invoke(app, list(arguments))


def test_claims_lists_the_ledger_without_running():
    """Every claim with its prediction, and what is not covered; nothing is written."""
    answer = run("claims")
    assert answer.exit_code == 0
    for experiment in LIBRARY:
        assert experiment.claim.id in answer.stdout
    assert all(name in answer.stdout for name, _ in NOT_COVERED)


def test_claims_as_json():
    """The golden keys of claims/1."""
    facts = json.loads(run("claims", "--json").stdout)
    assert list(facts) == ["keyhole", "schema", "claims", "not_covered"]
    assert list(facts["claims"][0]) == [
        "id", "title", "statement", "formula", "kind", "source", "prediction", "could_fail", "papers", "shipped",
        "revision",
    ]  # fmt: skip


@pytest.mark.slow
def test_reproduce_writes_a_page_and_a_table(tmp_path):
    """The table shows each verdict, the last line the page's path; the second run says the same."""
    arguments = ("reproduce", "--only", "sharpness,bound-shape", "--out", str(tmp_path), "--workers", "1")
    answer = run(*arguments)
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.split()[-2:] == ["page:", str(tmp_path / "index.html")]
    told = [line.partition(", about ")[0] for line in answer.stderr.splitlines() if "claims" in line]
    assert [line.rpartition(": ")[2] for line in told] == ["0 of 2", "1 of 2", "2 of 2"]
    again = run(*arguments)
    assert (again.stdout, again.stderr) == (answer.stdout, "")


@pytest.mark.slow
def test_reproduce_as_json(tmp_path):
    """--json prints findings.json and nothing else."""
    answer = run("reproduce", "--only", "sharpness", "--out", str(tmp_path), "--json")
    facts = json.loads(answer.stdout)
    assert facts["schema"] == "findings/1"
    assert facts == json.loads((tmp_path / "findings.json").read_text())
    assert list(facts["findings"][0]) == [  # golden: fields are only ever added
        "claim", "outcome", "run", "scale", "seed", "seconds", "versions", "command", "proved",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--only", "nothing"], "'nothing' is not a claim"),
        (["--out", "FILE/inside"], "cannot be written"),
    ],
)
def test_bad_questions_get_a_sentence(tmp_path, arguments, complaint):
    """An unknown claim or an impossible folder is refused with exit code 2."""
    (tmp_path / "file").write_text("")
    arguments = [argument.replace("FILE", str(tmp_path / "file")) for argument in arguments]
    answer = run("reproduce", "--only", "sharpness", "--workers", "1", *arguments)
    assert answer.exit_code == 2
    assert complaint in answer.stderr
    assert "Traceback" not in answer.output
