"""`keyhole norms` prints the table of classes, one function, or JSON, and refuses what it cannot answer."""

import json

import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app


def run(*words):
    """The command run in this process."""
    return CliRunner().invoke(app, ["norms", *words])


@pytest.mark.slow
def test_table_of_classes():
    """A row per class, the last with the parity's 16 built, least and proved; the same as JSON."""
    answer = run("-v")
    assert answer.exit_code == 0
    lines = answer.stdout.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("function "))
    headings, *rows = lines[begin : begin + 15]
    assert headings.split() == ["function", "built", "least", "bound", "layer", "sign", "veto"]
    assert rows[-1].split()[-7:] == ["16", "A1", "16", "16", "16", "16", "–"]
    record = json.loads(run("parity:4", "--json").stdout)
    assert record["schema"] == "norms/1"
    assert record["functions"][0]["any_bound"] == 16
    assert record["functions"][0]["built"] == 41


def test_one_function_in_bits(tmp_path):
    """A conjunction of three needs 2 without reading the symbol, and the veto has 1; --out writes it."""
    answer = run("x0 & x4 & x9", "--output", "bits")
    assert answer.stdout.splitlines()[-1].split()[-6:] == ["2", "A2", "2", "2", "2", "1"]
    assert run("x0 & x1", "--out", str(tmp_path / "norms.txt")).exit_code == 0
    assert "veto" in (tmp_path / "norms.txt").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [(["parity:5"], "1 to 4 bits"), (["x0", "--output", "yes"], "signs"), (["nosuchname"], "nosuchname")],
)
def test_refusals(words, said):
    """Too many bits, an unknown output and an unknown name exit with 2 and one sentence."""
    answer = run(*words)
    assert answer.exit_code == 2
    assert said in answer.stderr
