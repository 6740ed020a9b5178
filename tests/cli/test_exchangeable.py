"""`keyhole exchangeable` answers with an exit code, in words and in JSON, and refuses in a sentence."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app
from keyhole.latent import MarkovChain, Polya, Urn


def run(*arguments):
    """The command run in this process."""
    return CliRunner().invoke(app, ["exchangeable", *(str(argument) for argument in arguments)])


@pytest.fixture
def tables(tmp_path):
    """A chain, an urn and a latent model, on disk."""
    np.save(tmp_path / "chain.npy", MarkovChain(4, 0.5).sample(30, 10, 0).tokens)
    np.save(tmp_path / "urn.npy", Urn(np.full(4, 2)).sample(60, 8, 0).tokens)
    np.savetxt(tmp_path / "polya.csv", Polya(np.ones(3)).sample(40, 6, 0).tokens, fmt="%d", delimiter=",")
    return tmp_path


def test_json_alone_on_stdout(tables):
    """--json prints one object, and the exit code is still the answer."""
    answer = run(tables / "chain.npy", "--json", "--permutations", "199")
    assert answer.exit_code == 1
    facts = json.loads(answer.stdout)
    assert facts["schema"] == "exchangeable/1"
    assert [test["name"] for test in facts["tests"]] == ["neighbours", "places", "extendible"]
    assert facts["tests"][0]["p_value"] == 0.005
    assert facts["rejected"] is facts["tests"][0]["rejects"] is True


@pytest.mark.parametrize(
    ("name", "test", "code"),
    [("chain.npy", "order", 1), ("urn.npy", "order", 0), ("urn.npy", "extendible", 1), ("polya.csv", "both", 0)],
)
def test_answers_and_exit_codes(tables, name, test, code):
    """1 when rejected, 0 when not; 80 columns and no escapes."""
    answer = run(tables / name, "--test", test)
    assert answer.exit_code == code, answer.output
    assert answer.stdout.startswith("rejected" if code else "not rejected")
    assert "\x1b" not in answer.stdout
    assert all(len(line) <= 80 and line == line.rstrip() for line in answer.stdout.splitlines())


def test_large_reals_and_few_sequences(tmp_path):
    """Reals of 1e200 are judged as any: statistics count standard deviations."""
    np.save(tmp_path / "large.npy", 1e200 * np.random.default_rng(0).normal(size=(60, 8)))
    answer = run(tmp_path / "large.npy", "--json")
    assert answer.exit_code == 0
    facts = json.loads(answer.stdout)
    assert all(0 < test["statistic"] < 5 for test in facts["tests"][:2])
    np.save(tmp_path / "few.npy", np.array([[0, 1, 0, 1]] * 3))
    few = json.loads(run(tmp_path / "few.npy", "--json").stdout)
    assert [test["name"] for test in few["tests"]] == ["neighbours", "places"]


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros(5), "got 1 axis"),
        (np.zeros((5, 1), dtype=int), "5 sequences of 1 tokens"),
        (np.full((5, 3), np.nan), "NaN or infinity"),
        (np.array([["a", "b"]] * 4), "got an array of <U1"),
        (np.zeros((2, 2, 2, 2)), "got 4 axes"),
        (np.zeros((0, 4)), "0 sequences of 4 tokens"),
    ],
)
def test_bad_tables_get_one_sentence(tmp_path, array, sentence):
    """Exit code 2, one line on stderr, nothing on stdout."""
    np.save(tmp_path / "bad.npy", array)
    answer = run(tmp_path / "bad.npy")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("keyhole: ")
    assert sentence in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
    assert not answer.stdout


def test_bad_arguments(tables):
    """A file that is not there, a test that is not, permutations that are no number or too few."""
    for arguments, words in [
        ((tables / "none.npy",), "No such file"),
        ((tables / "chain.npy", "--test", "all"), "'all' is not a test"),
        ((tables / "chain.npy", "--permutations", "many"), "not a whole number"),
        ((tables / "chain.npy", "--permutations", "19"), "can never reject"),
    ]:
        answer = run(*arguments)
        assert answer.exit_code == 2
        assert words in answer.stderr
