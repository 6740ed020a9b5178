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


def test_a_table_per_estimator_within_80_columns():
    """Sizes, errors, slopes, theory."""
    result = run("gaussian", *QUICK)
    assert (result.exit_code, result.stderr) == (0, "")
    assert max(map(len, result.stdout.splitlines())) <= 80
    for words in (
        "softmax (equal keys",
        "sink (one more key, the sink, of logit log λ",
        "slope",
        "theory: ",
        "6 draws of a latent and its tokens (repeats), seed 0",
    ):
        assert words in result.stdout


@pytest.mark.parametrize("model", ["finite", "polya", "beta", "mixture", "linear", "gp"])
def test_every_model_answers_within_80_columns(model):
    """With its own estimators."""
    result = run(model, *QUICK)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80


GOLDEN = {"keyhole", "schema", "model", "repeats", "seed", "exact_given_keys", "estimators"}
GOLDEN_ESTIMATOR = {
    "attention", "settings", "is_the_posterior_mean", "points", "gap_slope", "error_slope", "theory",
    "gap_slope_exact", "error_slope_exact",
}  # fmt: skip
GOLDEN_POINT = {
    "size", "gap", "gap_standard_error", "gap_exact", "error", "error_standard_error", "error_exact",
}  # fmt: skip


def test_json_alone_on_stdout_with_its_schema():
    """The envelope, its keys, all sizes."""
    record = json.loads(run("gp", *QUICK, "--attention", "softmax,cme", "--bandwidth", "0.5", "--json").stdout)
    assert (record["keyhole"], record["schema"]) == (__version__, "infer/1")
    assert set(record) == GOLDEN
    first = record["estimators"][0]
    assert set(first) == GOLDEN_ESTIMATOR
    assert set(first["points"][0]) == GOLDEN_POINT
    assert set(first["gap_slope"]) == {"value", "low", "high", "exact"}
    assert set(first["theory"]) == {"words", "floor", "gap_rate", "error_rate"}
    assert [point["size"] for point in first["points"]] == [8, 16, 32]


@pytest.mark.parametrize(("name", "opening"), [("a.svg", b"<svg"), ("a.html", b"<!"), ("a.csv", b"T,")])
def test_out_writes_the_figure(tmp_path, name, opening):
    """In the format of its name; the answer still on stdout."""
    result = run("gaussian", *QUICK, "--out", str(tmp_path / name))
    assert result.exit_code == 0
    assert (tmp_path / name).read_bytes().lstrip().startswith(opening)
    assert "softmax" in result.stdout
    assert result.stderr == f"wrote {tmp_path / name}\n"


def test_the_seed_decides():
    """The same words twice, other words for another seed."""
    first, again, other = (run("beta", *QUICK, "--seed", seed).stdout for seed in ("1", "1", "2"))
    assert first == again != other


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("markov",), "markov is a contrast, which has no posterior"),
        (("nothing",), "There is no latent model 'nothing'"),
        (("gp", "--attention", "hard"), "There is no attention 'hard'"),
        (("gp", "--attention", ","), "has a comma with no name beside it"),
        (("gp", "--attention", "sink"), "gp has keys"),
        (("gp", "--bandwidth", "0"), "a positive number times a power of T; got 0.0"),
        (("gp", "--bandwidth", "wide"), "'wide'"),
        (("gp", "--ridge", "-1"), "a positive number times a power of T"),
        (("gp", "--kernel", "cosine"), "There is no kernel 'cosine'"),
        (("gp", "--ridge", "T^400"), "leaves the range of double precision"),
        (("gaussian", "--attention", "cme", "--ridge", "1e-17"), "lost in rounding"),
        (("linear", "--attention", "cme", "--kernel", "exponential", "--bandwidth", "0.001"), "is not finite at"),
        (("gaussian", "--kernel", "nonsense"), "A kernel does not apply to softmax, sink on gaussian"),
        (("gaussian", "--bandwidth", ".3"), "A bandwidth does not apply to softmax, sink on gaussian"),
        (("gp", "--attention", "linear", "--kernel", "matern"), "A kernel does not apply to linear on gp"),
        (("gp", "--attention", "softmax", "--ridge", "1"), "A ridge does not apply to softmax on gp"),
        (("gp", "--attention", "cme", "--kernel", "linear", "--bandwidth", "1"), "not apply to the linear kernel"),
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


def test_help_has_an_example():
    """`--help` shows what to type."""
    assert "keyhole infer gaussian --size 8..4096" in run("--help").stdout
