"""Words that would be ignored, empty, or lead beyond the machine are refused before anything is done."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("reproduce", "--only", "floor", "--workers", "100000"), "100,000 workers"),
        (("reproduce", "--only", ","), "a comma with no name beside it"),
        (("reproduce", "--out", " "), "--out was given an empty word"),
        (("reproduce", "--only", "floor", "--out", "file.npy"), "is a file, and a folder is needed"),
        (("infer", "gp", "--kernel", ""), "--kernel was given an empty word"),
        (("infer", "gp", "--size", "8", "--repeats", "1000000000"), "use at most 1,000,000"),
        (("infer", "gaussian", "--size", "8", "--out", "x.doc"), "must end in"),
        (("describe", "and:3", "--out", "x.doc"), "must end in"),
        (("describe", "and:3", "--context", "1__0"), "'1__0' is not a whole number"),
        (("describe", "x1 and x2"), "'and' is written & in a formula"),
        (("describe", "not x1"), "'not' is written ~ in a formula"),
        (("describe", "x1 xor x2"), "'xor' is written ^ in a formula"),
        (("exchangeable", "file.npy", "--permutations", "1e12"), "use at most 10,000,000"),
        (("compile", "and:3", "--context", "16", "--leak", "1e-320"), "carries 1e-100 or more"),
        (("bound", "junta:30", "--context", "100", "--samples", "1e6"), "known up to junta:20"),
        (("bound", "parity:100000", "--context", "1000000", "--samples", "1e6"), "known up to parity:500"),
        (("bound", "and:\uff13", "--context", "100", "--samples", "1e6"), "write it like and:3"),
    ],
)
def test_what_would_be_ignored_or_never_end_is_refused(words, sentence, tmp_path, monkeypatch):
    """One sentence, exit code 2, nothing on stdout, and nothing written."""
    monkeypatch.chdir(tmp_path)
    np.save("file.npy", np.zeros((3, 4), dtype=int))
    answer = CliRunner().invoke(app, list(words))
    assert (answer.exit_code, answer.stdout) == (2, ""), answer.output
    assert sentence in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file.npy"]


def test_and_is_a_function_where_a_bracket_follows():
    """Words for the operators do not take the functions' names away."""
    answer = CliRunner().invoke(app, ["describe", "and(x1, x2) | or(x3, x4)"])
    assert answer.exit_code == 0


def test_scores_say_what_is_missing_and_need_a_file(tmp_path):
    """An average over some of the models says how many the folder lacked; a file that is not there is named."""
    suite, arrays = tmp_path / "suite", tmp_path / "arrays"
    arrays.mkdir()
    assert CliRunner().invoke(app, ["score", "suite", "2", "--context", "16", "--out", str(suite)]).exit_code == 0
    np.save(arrays / "model-000.npy", np.ones((3, 16)))
    key = str(suite / "key.json")
    assert json.loads(CliRunner().invoke(app, ["score", "attributions", key, str(arrays), "--json"]).stdout)[
        "missing"
    ] == ["model-001"]
    absent = CliRunner().invoke(app, ["score", "attributions", key, str(arrays / "model-001.npy")])
    assert (absent.exit_code, "does not exist" in absent.stderr) == (2, True)
