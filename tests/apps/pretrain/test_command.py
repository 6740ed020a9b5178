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
    assert max(map(len, result.stdout.splitlines())) <= 80
    for words in (
        "condition numbers of the pretext task",
        "κ_T",
        "1/s_m",
        "2.79",
        "tell which of its 2 values the latent has",
    ):
        assert words in result.stdout


GOLDEN = {
    "keyhole", "schema", "model", "samples", "labels", "repeats", "seed", "downstream", "conditions", "learned",
    "sinks", "remarks",
}  # fmt: skip
CONDITION = {"mask", "loss", "downstream", "least", "ratio", "spectral"}
LEARNED = {
    "size", "mask", "bayes_loss", "excess", "likeliest", "limit", "unoptimised", "fitted_head", "exact_head", "bound",
    "scratch", "oracle", "blind",
}  # fmt: skip


@pytest.mark.slow
def test_json_and_a_figure(tmp_path):
    """The envelope and its keys; training, text within 80 columns, and a figure."""
    words = ("finite", "--size", "4", "--samples", "300", "--repeats", "2", "--workers", "1", "--store", str(tmp_path))
    record = json.loads(run(*words, "--json").stdout)
    assert set(record) == GOLDEN
    assert record["schema"] == "pretrain/1"
    assert set(record["conditions"][0]) == CONDITION
    assert set(record["learned"][0]) == LEARNED
    shown = run(*words, "--out", str(tmp_path / "a.svg"))
    assert shown.exit_code == 0
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<svg")


def test_rows_of_numbers():
    """A task of rows is read, and shown in words."""
    assert rows_of("1,0;0,1") == [[1.0, 0.0], [0.0, 1.0]]
    result = run("mixture", "--downstream", "1,-1", "--repeats", "0")
    assert "1 combination of the 2 latent values" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("finite", "--mask", "16", "--size", "16"), "leaves nothing to read"),
        (("urn",), "has no posterior"),
        (("finite", "--size", "1"), "masking needs at least 2"),
        (("finite", "--samples", "0"), "0 training sequences were asked for"),
        (("finite", "--downstream", "1,1"), "The downstream task is constant"),
        (("finite", "--downstream", "1,x"), "is no downstream task"),
        (("finite", "--out", "x.doc"), "must end in"),
    ],
)
def test_refusals(words, said):
    """One sentence each, exit code 2."""
    result = run(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_help_has_an_example():
    """The examples are there."""
    assert "keyhole pretrain finite --mask 1,2,4,8 --size 16" in run("--help").stdout
