"""`keyhole exchangeable` answers with an exit code, in words and in JSON, and refuses in a sentence."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keyhole.cli.app import app
from keyhole.latent import MarkovChain, Polya, Urn

from helpers import tiny_checkpoints as tiny

KEYS = [
    "keyhole",
    "schema",
    "answer",
    "rejected",
    "sequences",
    "length",
    "kind",
    "letters",
    "level",
    "seed",
    "tests",
    "rows",
    "repeat_chance",
]
TEST_KEYS = ["name", "null", "statistic", "p_value", "permutations", "rejects"]  # golden: fields are only ever added
EXTENDIBLE_KEYS = [
    *TEST_KEYS[:5],
    "direction",
    "covariance",
    "sequences",
    "least",
    "most",
    "ceiling",
    "balance_p_value",
    "birthday",
    "rejects",
]


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
    """--json prints one object with the promised keys, and the exit code is still the answer."""
    answer = run(tables / "chain.npy", "--json", "--permutations", "199")
    assert answer.exit_code == 1
    facts = json.loads(answer.stdout)
    assert list(facts) == KEYS
    assert facts["schema"] == "exchangeable/1"
    assert [test["name"] for test in facts["tests"]] == ["neighbours", "places", "extendible"]
    assert list(facts["tests"][0]) == TEST_KEYS
    assert list(facts["tests"][2]) == EXTENDIBLE_KEYS
    assert facts["tests"][0]["p_value"] == 0.01
    assert facts["rejected"] is facts["tests"][0]["rejects"] is True


@pytest.mark.parametrize(
    ("name", "test", "code", "words"),
    [
        ("chain.npy", "order", 1, "neighbouring tokens depend on each other"),
        ("urn.npy", "order", 0, "not rejected"),
        ("urn.npy", "extendible", 1, "which no latent variable allows"),
        ("polya.csv", "both", 0, "not a proof of it"),
    ],
)
def test_answers_in_words_and_exit_codes(tables, name, test, code, words):
    """1 when rejected, 0 when not; 80 columns and no escapes."""
    answer = run(tables / name, "--test", test)
    assert answer.exit_code == code, answer.output
    assert words in " ".join(answer.stdout.split())
    assert "\x1b" not in answer.stdout
    assert all(len(line) <= 80 and line == line.rstrip() for line in answer.stdout.splitlines())


def test_what_was_counted_is_said(tables):
    """The test of a latent variable needs no permutations, and says what it counted and what a latent allows."""
    words = " ".join(run(tables / "urn.npy", "--test", "extendible", "--permutations", "1").stdout.split())
    assert "Of the other 30 sequences" in words
    assert "whatever the latent variable, a sequence has so many with probability at most 0." in words
    assert "permutations" not in words
    assert "holds for every latent variable" in " ".join(run("--help").stdout.replace("│", " ").split())


def test_large_reals_and_few_sequences(tmp_path):
    """Reals of 1e200 are judged as any; a statistic too large for a float is null with a reason."""
    np.save(tmp_path / "large.npy", 1e200 * np.random.default_rng(0).normal(size=(60, 8)))
    answer = run(tmp_path / "large.npy", "--json")
    assert answer.exit_code == 0
    facts = json.loads(answer.stdout)
    assert facts["tests"][0]["statistic"] is None
    assert 0 < facts["tests"][1]["statistic"] < 1  # of ranks
    assert facts["tests"][0]["statistic_reason"] == "infinite"
    np.save(tmp_path / "few.npy", np.array([[0, 1, 0, 1]] * 3))
    few = run(tmp_path / "few.npy")
    assert few.exit_code == 0, few.output
    assert "not tested: it needs at least four sequences" in " ".join(few.stdout.split())


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros(5), "got 1 axis"),
        (np.zeros((5, 1), dtype=int), "5 sequences of 1 tokens"),
        (np.full((5, 3), np.nan), "NaN or infinity"),
        (np.array([["a", "b"]] * 4), "whole numbers (letters) or reals"),
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
        ((tables / "chain.npy", "--test", "all"), "There is no test 'all'"),
        ((tables / "chain.npy", "--permutations", "many"), "not a whole number"),
        ((tables / "chain.npy", "--permutations", "19"), "can never reject"),
    ]:
        answer = run(*arguments)
        assert answer.exit_code == 2
        assert words in answer.stderr


def points(tmp_path):
    """A set encoder in a file, and points for it."""
    rng = np.random.default_rng(3)
    shapes = {f"layers.0.0.module.W_{name}": (2, 6, 3) for name in ("query", "key", "val")}
    shapes |= {"layers.0.0.module.W_out": (2, 3, 6), "init_embed.weight": (6, 2)}
    save_file({name: rng.normal(size=shape) for name, shape in shapes.items()}, tmp_path / "set.safetensors")
    np.save(tmp_path / "points.npy", rng.random((4, 7, 2)))
    return ("--model", str(tmp_path / "set.safetensors"), "--rows", str(tmp_path / "points.npy"))


def test_a_model(tmp_path):
    """An encoder of a set is exchangeable, exit code 0; JSON has the three numbers, and what was not tested."""
    words = points(tmp_path)
    answer = CliRunner().invoke(app, ["exchangeable", *words, "--context", "4", "--json"])
    assert answer.exit_code == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert facts["schema"] == "model-order/1"
    assert facts["moved_together"] <= 1e-12
    assert facts["moved_context"] <= 1e-12
    assert (facts["moved_alone"], facts["exchangeable"], facts["ignores_order"]) == (None, True, True)
    told = " ".join(CliRunner().invoke(app, ["exchangeable", *words]).stdout.split())
    assert "equivariant to rounding; the last row does not depend on the order" in told
    assert "Not tested" in told


def test_a_causal_model(tmp_path):
    """It is reported as not exchangeable, exit code 1."""
    arrays, config = tiny.gpt2()
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config))
    np.save(tmp_path / "tokens.npy", np.arange(24).reshape(2, 12) % tiny.SYMBOLS)
    words = ["exchangeable", "--model", str(tmp_path), "--rows", str(tmp_path / "tokens.npy")]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 1
    assert "not exchangeable: a row sees only those before it" in " ".join(answer.stdout.split())


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "Neither DATA nor --model"),
        (("--context", "4"), "no --model is named"),
        (("tokens.npy", "--model", "minilm"), "DATA was given, and would be ignored"),
        (("--model", "minilm", "--level", "0.01"), "--level was given, and would be ignored"),
    ],
)
def test_questions_that_do_not_fit_together(more, told):
    """What would be ignored is refused, exit code 2."""
    answer = CliRunner().invoke(app, ["exchangeable", *more])
    assert answer.exit_code == 2
    assert told in " ".join(answer.stderr.split())
