"""`keyhole infer` at the keyboard."""

import json

import pytest
from typer.testing import CliRunner

from keyhole import __version__
from keyhole.cli.app import app

QUICK = ("--size", "8..32", "--repeats", "6")


def run(*words):
    """The command line with these words."""
    return CliRunner().invoke(app, ["infer", *words])


def test_json_alone_on_stdout_with_its_schema():
    """The envelope, its keys, all sizes."""
    record = json.loads(run("gp", *QUICK, "--attention", "softmax,cme", "--bandwidth", "0.5", "--json").stdout)
    assert (record["keyhole"], record["schema"]) == (__version__, "infer/1")
    assert [point["size"] for point in record["estimators"][0]["points"]] == [8, 16, 32]


@pytest.mark.parametrize(("name", "opening"), [("a.svg", b"<svg"), ("a.html", b"<!"), ("a.csv", b"T,")])
def test_out_writes_the_figure(tmp_path, name, opening):
    """In the format of its name, and says where."""
    result = run("gaussian", *QUICK, "--out", str(tmp_path / name))
    assert result.exit_code == 0
    assert (tmp_path / name).read_bytes().lstrip().startswith(opening)
    assert result.stderr == f"wrote {tmp_path / name}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nothing",), "'nothing'"),
        (("gp", "--attention", "hard"), "'hard'"),
        (("gp", "--attention", ","), "comma"),
        (("gp", "--attention", "sink"), "gp has keys"),
        (("gp", "--bandwidth", "0"), "got 0.0"),
        (("gp", "--bandwidth", "wide"), "'wide'"),
        (("gp", "--ridge", "-1"), "got -1.0"),
        (("gp", "--kernel", "cosine"), "'cosine'"),
        (("gp", "--ridge", "T^400"), "T^400"),
        (("gaussian", "--attention", "cme", "--ridge", "1e-17"), "lost in rounding"),
        (("linear", "--attention", "cme", "--kernel", "exponential", "--bandwidth", "0.001"), "is not finite at"),
        (("gaussian", "--kernel", "nonsense"), "sink on gaussian"),
        (("gaussian", "--bandwidth", ".3"), "sink on gaussian"),
        (("gp", "--attention", "linear", "--kernel", "matern"), "linear on gp"),
        (("gp", "--attention", "softmax", "--ridge", "1"), "softmax on gp"),
        (("gp", "--attention", "cme", "--kernel", "linear", "--bandwidth", "1"), "the linear kernel"),
        (("gaussian", "--size", "64..8"), "runs backwards"),
        (("gaussian", "--size", "0"), "below 1"),
        (("gaussian", "--size", "1e6"), "up to 8192 tokens"),
        (("gaussian", "--size", "8,16", "--repeats", "4", "--out", "a.doc"), "must end in"),
    ],
)
def test_refusals_are_one_sentence_and_exit_code_two(words, sentence):
    """On stderr, alone, without a traceback."""
    result = run(*words)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.startswith("keyhole: ")
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""
