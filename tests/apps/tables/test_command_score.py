"""`keyhole score` answers in a table and in JSON, and refuses in a sentence."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from keyhole.apps.tables.suites import make_suite
from keyhole.cli.app import app

MODEL_KEYS = ["file", "formula", "construction", "positions", "score"]  # golden: fields are only ever added
SCORE_KEYS = ["precision", "recall", "auc", "auc_per_input", "top", "inputs", "resamples", "seed"]


def run(*arguments):
    """The command run in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def suite(tmp_path):
    """A key, and perfect attributions to its first two models."""
    made = make_suite(2, 12)
    for member in made.models:
        exact = np.isin(np.arange(12), member.plan.function.positions).astype(float)
        np.save(tmp_path / member.file.replace("safetensors", "npy"), np.tile(exact, (4, 1)))
    return made.save(tmp_path / "key.json")


def test_json_alone_on_stdout(suite):
    """--json prints one object with the promised keys."""
    answer = run("score", "attributions", suite, suite.parent / "model-000.npy", "--json", "--top", "6")
    assert answer.exit_code == 0
    facts = json.loads(answer.stdout)
    assert list(facts) == ["keyhole", "schema", "models", "missing", "mean"]
    assert facts["schema"] == "score/1"
    assert list(facts["models"][0]) == MODEL_KEYS
    assert list(facts["models"][0]["score"]) == SCORE_KEYS
    assert facts["models"][0]["score"]["recall"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert facts["models"][0]["score"]["top"] == 6


def test_table_of_a_folder(suite):
    """A line per model with intervals, the average, and how the intervals were made."""
    answer = run("score", "attributions", suite, suite.parent)
    assert answer.exit_code == 0
    assert "\x1b" not in answer.stdout
    lines = answer.stdout.splitlines()
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines)
    assert lines[1].split()[0] == "model-000"
    assert "1.00 1.00–1.00" in lines[1]
    assert lines[3].split() == ["average", "1.00", "1.00", "1.00", "1.00"]
    assert "1000 resamples" in lines[-1]


def test_refuses_in_a_sentence(suite, tmp_path):
    """Bad input exits with 2 and no traceback."""
    (tmp_path / "model-001.npy").write_bytes(b"nothing")
    answer = run("score", "attributions", suite, tmp_path / "model-001.npy")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("keyhole: ")
    assert "numpy.save" in answer.stderr
