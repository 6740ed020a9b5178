"""`keyhole pretrain` at the keyboard."""

import json

import pytest
from typer.testing import CliRunner

from keyhole.apps.pretrain.command import rows_of
from keyhole.cli.app import app


def run(*words):
    """The command line with these words."""
    return CliRunner().invoke(app, ["pretrain", *words])


def test_a_table_within_80_columns():
    """Condition numbers of every mask, without training."""
    result = run("finite", "--mask", "1,2,4", "--size", "8", "--repeats", "0")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) <= 10 + 3
    assert max(map(len, lines)) <= 80
    assert [line.split()[-1] for line in lines[-3:]] == ["2.79", "2.09", "1.61"]


@pytest.mark.slow
def test_json_and_a_figure(tmp_path, monkeypatch):
    """The envelope; text of a screen within 80 columns; and a figure."""
    monkeypatch.setenv("KEYHOLE_HOME", str(tmp_path))
    words = ("finite", "--size", "4", "--samples", "300", "--repeats", "2")
    assert json.loads(run(*words, "--json").stdout)["schema"] == "pretrain/1"
    shown = run(*words)
    assert shown.exit_code == 0
    assert len(shown.stdout.splitlines()) <= 10
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert run(*words, "--out", str(tmp_path / "a.svg")).exit_code == 0
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<svg")


def test_rows_of_numbers():
    """A task of rows is read."""
    assert rows_of("1,0;0,1") == [[1.0, 0.0], [0.0, 1.0]]
    assert run("mixture", "--downstream", "1,-1", "--repeats", "0").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("finite", "--mask", "16", "--size", "16"), "leaves nothing to read"),
        (("urn",), "'urn'"),
        (("finite", "--size", "1"), "at least 2"),
        (("finite", "--samples", "0"), "0 training sequences"),
        (("finite", "--downstream", "1,1"), "task is constant"),
        (("finite", "--downstream", "1,x"), "1,x"),
        (("finite", "--out", "x.doc"), "must end in"),
    ],
)
def test_refusals(words, said):
    """One sentence each, exit code 2."""
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
