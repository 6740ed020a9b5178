"""`keyhole bound` at the keyboard."""

import json
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import keyhole
from keyhole import __version__
from keyhole.api.bound import bound
from keyhole.api.norm_sources import run_norms
from keyhole.api.prove import prove
from keyhole.api.stored_run import read_run
from keyhole.cli.app import app
from keyhole.files.norms import norms_template


def run(*words):
    """The command line with these words."""
    return CliRunner().invoke(app, ["bound", *words])


ASK = ("and:3", "--samples", "1e5", "--context", "100")
EXPLAINED, VARIED = ("-v",), ("--vary", "1e2..1e3")


@cache
def said(*more):
    """What the question prints with these options; asked once."""
    return run(*ASK, *more).stdout


def test_a_row_per_theorem():
    """The smallest gap first, vacuous ones marked; exit code 0 also where all are; never more than twelve lines."""
    result = run(*ASK)
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.partition("theorem ")[2].splitlines()[1:6]]
    assert (rows[0][0], rows[0][-1]) == ("T:", "0.0876")
    assert [row[-1] == "vacuous" for row in rows] == [False, False, True, True, True]
    assert len(result.stdout.splitlines()) <= 12


def test_the_law_of_inputs_is_an_option():
    """`--law uniform` asks Theorem L for independent symbols; a word that is no law is refused in one sentence."""
    assert "L, independent symbols" in said("--law", "uniform")
    result = run(*ASK, "--law", "often")
    assert result.exit_code == 2
    assert "--law is any" in result.output


def test_all_of_it_prints_trees_sensitivity_and_rivals():
    """Every derivation, the effect of halving, every rival, refused theorems."""
    shown = said(*EXPLAINED)
    for words in ("Rule 3", "valid if", "P_∞ -47 %", "R4  head", "R11", "Not evaluated"):
        assert words in shown


GOLDEN = {
    "keyhole", "schema", "source", "best", "vacuous", "guarantees", "samples_for_gap", "refused",
    "rivals", "growth", "finite_classes", "construction", "by_margin",
    "summary",
}  # fmt: skip
GOLDEN_GUARANTEE = {
    "route", "title", "value", "vacuous", "samples", "delta", "delta_spent", "two_sided", "measured", "dominating",
    "valid_if", "sensitivity", "derivation", "note", "sentence", "dominating_lemma", "loss_ceiling",
}  # fmt: skip


def test_json_alone_on_stdout_with_its_schema():
    """The envelope, its keys, and numbers that JSON can hold."""
    record = json.loads(run(*ASK, "--json", "--gap", "0.2", "--vary", "10..40").stdout)
    assert (record["keyhole"], record["schema"]) == (__version__, "bound/1")
    assert set(record) == GOLDEN
    assert set(record["guarantees"][0]) == GOLDEN_GUARANTEE
    assert record["growth"][0]["contexts"] == [10, 20, 40]


def test_a_json_of_norms_is_a_source(tmp_path):
    """The template is one; norms that were measured cost more."""
    path = tmp_path / "norms.json"
    path.write_text(norms_template(), "utf8")
    asked = ("--norms", str(path), "--samples", "1e6", "--json")
    plain, dearer = (json.loads(run(*asked, *more).stdout)["guarantees"][0] for more in ((), ("--measured",)))
    assert dearer["value"] > plain["value"]


@pytest.mark.parametrize(("name", "opening"), [("a.csv", "T,m"), ("a.txt", "and:3"), ("a.json", "{")])
def test_out_writes_a_file(tmp_path, name, opening):
    """A table of growth, a text, a record."""
    result = run(*ASK, *VARIED, "--out", str(tmp_path / name))
    assert result.exit_code == 0
    assert (tmp_path / name).read_text("utf8").startswith(opening)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "give a FUNCTION"),
        ((*ASK, "--run", "3f0a"), "give a FUNCTION"),
        (("and:3", "--context", "9"), "give --samples"),
        ((*ASK, "--measured"), "--measured is"),
        (("and:3", "--samples", "0", "--context", "9"), "at least one sample; got 0"),
        (("and:3", "--samples", "many", "--context", "9"), "'many' is not"),
        (("and:3", "--samples", "10", "--context", "9", "--delta", "0"), "0 < δ < 1; got 0"),
        (("and:3", "--samples", "10"), "give `context`"),
        (("--norms", "nowhere.json", "--samples", "10"), "cannot be read"),
        ((*ASK, "--vary", "8..4"), "runs backwards"),
        ((*ASK, "--vary", "1e2..1e99"), "324 contexts"),
        ((*ASK, "--gap", "-1"), "gap must be above 0"),
        ((*ASK, "--out", "/dev/null/all.txt"), "cannot be written"),
        (("--file", "nothing.safetensors", "--samples", "10"), "nothing.safetensors"),
        ((*ASK, "--out", "growth.svg"), "without contexts"),
        ((*ASK, "--out", "answer.doc"), "must end in .json"),
        ((*ASK, "--out", "answer"), "must end in"),
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


def test_an_answer_that_cannot_be_written_is_refused(tmp_path):
    """A path that leads through a file: one sentence, exit code 2."""
    (tmp_path / "file").write_text("")
    result = run(*ASK, "--out", str(tmp_path / "file" / "answer.txt"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot be written" in result.stderr


@pytest.mark.slow
def test_a_run_without_a_theorem_has_the_promise_of_the_prover():
    """The bound is that of `prove`, with the next command; a run that did not learn has none."""
    store = Path(__file__).parent.parent / "contract" / "fixtures" / "store"
    answer = bound(run_norms("ea31ad35a0", store))
    assert not answer.guarantees
    assert answer.promise.error == prove(read_run("ea31ad35a0", store)).error_bound
    assert "next: keyhole prove --run ea31ad35a0" in str(answer)
    assert bound(run_norms("0b9c497ec1", store)).promise is None


def test_a_family_has_a_row_for_each_sparsity(tmp_path):
    """The rows are the answers for each function alone; a function that is not a family is refused."""
    words = ("--samples", "1e6", "--context", "100", "--vary", "s=1..4")
    rows = json.loads(run("random:s", *words, "--json").stdout)["rows"]
    assert [row["sparsity"] for row in rows] == [1, 2, 3, 4]
    for row in rows:
        alone = bound(row["function"], 1e6, 100)
        assert (row["gap"], row["occam"]) == (alone.smallest.value, alone.finite_classes[0].value)
        compiled = keyhole.compile(row["function"], 100)
        assert row["path_inf"] == pytest.approx(compiled.norms["path_inf"], rel=1e-12)
    assert run("and:3", *words).exit_code == 2
    assert run("and:s", "--samples", "1e6", "--vary", "s=1..4").exit_code == 2
    assert run("and:s", *words, "--out", str(tmp_path / "norms.svg")).exit_code == 0
