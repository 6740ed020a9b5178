"""`keyhole norms` prints the table of classes, one function, or JSON, and refuses what it cannot answer."""

import json

import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app


@pytest.mark.slow
def test_table_of_classes(tmp_path):
    """Fourteen lines under the headings, with the parity's 16 built, least and proved; the same as JSON."""
    answer = CliRunner().invoke(app, ["norms", "--out", str(tmp_path / "norms.txt")])
    lines = answer.stdout.splitlines()
    assert answer.exit_code == 0
    assert lines[0].split() == ["function", "built", "least", "bound", "layer", "sign", "veto"]
    assert lines[14].split()[-7:] == ["16", "A1", "16", "16", "16", "16", "–"]
    assert "bounds are proved by checking every hidden unit that can matter, at most " in " ".join(
        answer.stdout.lower().split()
    )
    assert (tmp_path / "norms.txt").exists()
    record = json.loads(CliRunner().invoke(app, ["norms", "parity:4", "--json"]).stdout)
    assert record["schema"] == "norms/1"
    assert record["functions"][0]["any_bound"] == 16
    assert record["functions"][0]["built"] == 41


def test_one_function_in_bits():
    """A conjunction of three needs 2 without reading the symbol, and the veto has 1."""
    answer = CliRunner().invoke(app, ["norms", "x0 & x4 & x9", "--output", "bits"])
    assert answer.stdout.splitlines()[1].split()[-6:] == ["2", "A2", "2", "2", "2", "1"]


def test_refusals():
    """Too many bits and an unknown output exit with 2 and one sentence."""
    for words, said in ((["parity:5"], "1 to 4 bits"), (["x0", "--output", "yes"], "There is no output")):
        answer = CliRunner().invoke(app, ["norms", *words])
        assert answer.exit_code == 2
        assert said in " ".join(answer.stderr.split())


def test_a_word_that_is_nothing_is_refused_as_such():
    """A word that is neither on disk nor a packaged model nor a function is said to be none of them."""
    refused = CliRunner().invoke(app, ["norms", "nosuchmodel"])
    assert refused.exit_code == 2
    assert "no file or folder here, no packaged model (minilm, rxnmapper), and no function" in refused.output
    assert "at character" not in refused.output
