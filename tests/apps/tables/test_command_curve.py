"""`keyhole curve` at the keyboard."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app


def ask(*words):
    """The command run in this process."""
    return CliRunner().invoke(app, ["curve", *map(str, words)], env={"COLUMNS": "80"})


@pytest.fixture
def table(tmp_path):
    """A table whose second column is above 0 where its target is yes."""
    rows = np.random.default_rng(0).normal(size=(90, 3))
    lines = ["a,b,c,well", *(f"{x:.4f},{y:.4f},{z:.4f},{'yes' if y > 0 else 'no'}" for x, y, z in rows)]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n", "utf8")
    return path


def test_a_curve_is_printed_as_json_and_drawn(table, tmp_path):
    """The table of the answer, its record, and a figure: the tree learns one threshold."""
    out = tmp_path / "curve.csv"
    shown = ask(table, "--target", "well", "--learner", "sklearn:tree", "--splits", 3, "--accuracy", 0.9, "--out", out)
    assert shown.exit_code == 0
    assert "well = yes" in shown.output
    assert out.exists()
    record = json.loads(ask(table, "--learner", "sklearn:tree", "--splits", 3, "--irrelevant", 4, "--json").stdout)
    assert record["schema"] == "curve/1"
    assert [one["columns"] for one in record["learners"]["sklearn:tree"]] == [3, 7]
    assert record["learners"]["sklearn:tree"][0]["points"][-1]["accuracy"]["value"] > 0.9


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--target", "ill"), "has no column 'ill'"),
        (("--target", "well=maybe"), "has no 'maybe'"),
        (("--accuracy", "95"), "such as 0.95"),
        (("--irrelevant", "many"), "is not a whole number"),
        (("--out", "curve.doc"), "must end in"),
    ],
)
def test_bad_words_are_refused_in_a_sentence(table, words, sentence):
    """What cannot be answered: exit code 2 and one sentence."""
    answer = ask(table, *words)
    assert answer.exit_code == 2
    assert sentence in " ".join(answer.output.split())


def test_rows_needed_are_told_beside_the_sizes_tried(table):
    """An accuracy that the smallest size reaches, as a constant answer does; and one that some rows may not reach."""
    options = ("--learner", "sklearn:tree", "--splits", 3)
    easy = " ".join(ask(table, *options, "--accuracy", 0.3).output.split())
    assert "at most 8" in easy
    assert "a constant answer" in easy.partition("at most 8")[2]
    hard = " ".join(ask(table, *options, "--accuracy", 0.95).output.split())
    assert "to more than 60)" in hard
    assert "a constant answer" not in hard.partition("to more than 60)")[2]


@pytest.mark.slow
def test_a_hundred_thousand_columns_work(tmp_path):
    """A table of 10⁵ columns is read and learned from."""
    path = tmp_path / "wide.npz"
    rng = np.random.default_rng(0)
    inputs = rng.integers(0, 2, (30, 100_000), dtype=np.uint8)
    np.savez(path, inputs=inputs, labels=np.arange(30) % 2)
    answer = ask(path, "--learner", "sklearn:tree", "--splits", 2)
    assert answer.exit_code == 0
    assert "100,000 columns" in answer.output
