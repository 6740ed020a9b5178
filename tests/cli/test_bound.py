"""`keyhole bound` at the keyboard."""

import json
from functools import cache

import pytest
from typer.testing import CliRunner

from keyhole import __version__
from keyhole.api.bound import bound
from keyhole.cli.app import app


def run(*words):
    """The command line with these words."""
    return CliRunner().invoke(app, ["bound", *words])


ASK = ("and:3", "--samples", "1e5", "--context", "100")
EXPLAINED, VARIED = ("--explain",), ("--vary", "context", "1e2..1e3")


@cache
def said(*more):
    """What the question prints with these options; asked once."""
    return run(*ASK, *more).stdout


def test_one_sentence_per_theorem():
    """Theorem T first; vacuous bounds say so; the answer is exit code 0 even when vacuous."""
    result = run(*ASK)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "gap: how far the mean loss on the training set and the expected loss on new"
    assert lines[3] == "m: training samples; the probability is over their draw. A bound holds for all"
    assert lines[5].startswith("gap ≤ 0.0876 with probability ≥ 0.99 at m = 100,000 (Theorem T")
    assert sum("VACUOUS" in line for line in lines) == 4  # three bounds, and what the word means


def test_the_law_of_inputs_is_an_option():
    """`--law uniform` asks Theorem L for independent symbols; a word that is no law is refused in one sentence."""
    assert "Theorem L, independent symbols" in " ".join(said("--law", "uniform").split())
    assert "needs the least probability of a symbol, which was not given" in " ".join(said().split())
    result = run(*ASK, "--law", "often")
    assert result.exit_code == 2
    assert "--law is any, uniform, or the least probability" in result.output


def test_explain_prints_trees_sensitivity_and_rivals():
    """Every derivation, what halving does, every rival with its standing."""
    shown = said(*EXPLAINED)
    for words in (
        "├─",
        "dominating:",
        "valid if",
        "change of the gap",
        "change of the samples for a gap of 0.5",
        "P_∞: -47 %",
        "R4  head",
        "not a bound",
        "R11",
    ):
        assert words in shown


GOLDEN = {
    "keyhole", "schema", "source", "best", "vacuous", "guarantees", "samples_for_gap", "refused",
    "rivals", "growth", "finite_classes", "construction", "by_margin",
}  # fmt: skip
GOLDEN_GUARANTEE = {
    "route", "title", "value", "vacuous", "samples", "delta", "delta_spent", "two_sided", "measured", "dominating",
    "valid_if", "sensitivity", "derivation", "note", "sentence", "dominating_lemma", "loss_ceiling",
}  # fmt: skip


def test_json_alone_on_stdout_with_its_schema():
    """The envelope, its keys, and numbers that JSON can hold."""
    record = json.loads(run(*ASK, "--json", "--gap", "0.2", "--vary", "context", "10..40").stdout)
    assert (record["keyhole"], record["schema"]) == (__version__, "bound/1")
    assert set(record) == GOLDEN
    assert set(record["guarantees"][0]) == GOLDEN_GUARANTEE
    assert record["growth"][0]["contexts"] == [10, 20, 40]


def test_growth_is_printed_with_its_limit():
    """A table per theorem, at fixed norms and compiled, the limit of the exponent named."""
    shown = said(*VARIED)
    assert shown.count("limit of the exponent: 1") == 7
    assert shown.count("limit of the exponent: 3") == 3
    assert "compiled at each context" in shown


def test_template_round_trip(tmp_path):
    """The printed template is a source."""
    path = tmp_path / "norms.json"
    path.write_text(run("--template").stdout, "utf8")
    result = run(str(path), "--samples", "1000")
    assert result.exit_code == 0
    assert "Theorem S" in result.stdout


@pytest.mark.parametrize(
    ("name", "opening"), [("a.html", "<!doctype html>"), ("a.txt", "gap: how far"), ("a.json", "{")]
)
def test_out_writes_a_file(tmp_path, name, opening):
    """A page, a text, a record; nothing on stdout."""
    options = ("--json",) if name.endswith("json") else ()
    result = run(*ASK, *options, "--out", str(tmp_path / name))
    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / name).read_text("utf8").startswith(opening)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "needs a SOURCE of norms and --samples"),
        (("and:3", "--samples", "0", "--context", "9"), "at least one sample; got 0"),
        (("and:3", "--samples", "many", "--context", "9"), "'many' is not a whole number"),
        (("and:3", "--samples", "10", "--context", "9", "--delta", "0"), "0 < δ < 1; got 0"),
        (("and:3", "--samples", "10"), "give `context`"),
        (("nowhere.json", "--samples", "10"), "cannot be read"),
        ((*ASK, "--vary", "width", "1..4"), "Only the context can be varied"),
        ((*ASK, "--vary", "context", "8..4"), "runs backwards"),
        ((*ASK, "--vary", "context", "1e2..1e99"), "324 contexts was asked for; name at most 100"),
        ((*ASK, "--gap", "-1"), "gap must be above 0"),
        ((*ASK, "--out", "/dev/null/all.txt"), "cannot be written"),
        (("model.npz", "--samples", "10"), "is no file that bounds are read from"),
        (("nothing.safetensors", "--samples", "10"), "nothing.safetensors"),
        ((*ASK, "--out", "growth.svg"), "without contexts"),
        ((*ASK, "--out", "answer.doc"), "'answer.doc'; its name must end in .json, .txt, .html"),
        ((*ASK, "--out", "answer"), "its name must end in"),
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


@pytest.mark.parametrize("more", [(), EXPLAINED, VARIED])
def test_piped_lines_fit_80_columns(more):
    """No line is longer."""
    assert max(map(len, said(*more).splitlines())) <= 80


def test_folded_words_are_the_answers():
    """Apart from where lines end, and the trunks of trees, what is printed is what the answer says."""
    words = [[word for word in text.split() if word != "│"] for text in (said(), str(bound("and:3", 1e5, 100)))]
    assert words[0] == words[1]


def test_an_answer_that_cannot_be_written_is_refused(tmp_path):
    """A path that leads through a file: one sentence, exit code 2."""
    (tmp_path / "file").write_text("")
    result = run(*ASK, "--out", str(tmp_path / "file" / "answer.txt"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot be written" in result.stderr


def test_help_has_an_example():
    """`--help` shows what to type."""
    assert "keyhole bound and:3 --samples 1e6" in run("--help").stdout
