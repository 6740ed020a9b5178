"""`keyhole runs` lists, shows, exports and compares."""

import csv
import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app
from keyhole.sweeps.runs.run import RunSpec, run
from keyhole.sweeps.runs.store import Store
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin

ROW = [
    "identity", "task", "learner", "context", "samples", "seed", "success", "fitted", "accuracy", "steps", "seconds",
    "created",
]  # fmt: skip
TABLE = [*ROW, "law", "label_noise", "feature_noise", "symbols", "balanced_sets", "numerics", "learner_level"]
RUN = [*ROW, "configuration", "result", "versions", "cpu", "weights"]


def ask(*arguments):
    """The command run in this process."""
    return CliRunner().invoke(app, ["runs", *map(str, arguments)], env={"COLUMNS": "80"})


@pytest.fixture
def store(tmp_path):
    """Four runs of two tasks at two contexts, one of them on fresh samples."""
    cells = [
        RunSpec(SparseTask(name), Coin(), T, 30, 0) for name in ("and:2", "majority(x0, x1, x2) ^ x3") for T in (6, 100)
    ]
    cells[3] = RunSpec(SparseTask("or:2"), Coin(), 100_000, None, 12)
    with Store(tmp_path) as kept:
        kept.add((cell, run(cell)) for cell in cells[:3])
        kept.add([(cells[3], run(cells[0]))])
    return tmp_path


def test_every_run_is_listed_or_those_that_are_named(store):
    """A line per run within 80 columns; task, learner and context leave what they name."""
    lines = ask("list", "--store", store).stdout.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert ["and:2", "coin", "6", "30", "0"] in [line.split()[1:6] for line in lines]
    filters = {(): 4, ("--task", "and:2"): 2, ("--context", "100", "--task", "and:2"): 1, ("--learner", "other"): 0}
    for words, count in filters.items():
        assert len(json.loads(ask("list", "--store", store, *words, "--json").stdout)["runs"]) == count


def test_the_newest_run_comes_first_and_is_called_last(store):
    """The list, which `runs` alone also gives, begins with the run that was added last, whatever its task."""
    newest = RunSpec(SparseTask("and:2"), Coin(), 6, 31, 0)
    with Store(store) as kept:
        kept.add([(newest, run(newest))])
    for words in (("list",), ()):
        assert ask(*words, "--store", store).stdout.splitlines()[1].split()[0] == newest.identity[:10]
    assert json.loads(ask("show", "last", "--store", store, "--json").stdout)["identity"] == newest.identity


def test_show(store):
    """One run in full, by a beginning of its name, with its promised keys."""
    facts = json.loads(ask("list", "--store", store, "--json").stdout)
    assert (facts["schema"], list(facts["runs"][0])) == ("runs/1", ROW)
    name = facts["runs"][0]["identity"]
    shown = json.loads(ask("show", name[:8], "--store", store, "--json").stdout)
    assert (shown["schema"], shown["identity"]) == ("run/1", name)
    assert set(RUN) <= set(shown)
    assert shown["configuration"]["task"]["function"] == "and:2"
    assert shown["weights"].endswith(f"{name}.safetensors")
    words = ask("show", name[:6], "--store", store, "-v").stdout
    assert all(word in words for word in (name, "learner level", "task law", "numpy version"))
    assert ask("show", "zzz", "--store", store).exit_code == 2


def test_show_draws_what_was_read(store, tmp_path):
    """The readings of one run against its steps; without readings there is no figure."""
    name = json.loads(ask("list", "--store", store, "--json").stdout)["runs"][0]["identity"]
    with Store(store) as kept:
        (reading,) = kept.run(name).result.readings
    assert ask("show", name, "--store", store, "--out", tmp_path / "curves.csv").exit_code == 0
    (row,) = csv.DictReader((tmp_path / "curves.csv").read_text().splitlines())
    assert (row["reading"], float(row["step"]), float(row["value"])) == ("loss", 1.0, reading["loss"])
    with Store(store) as kept:
        kept.connection.execute("""UPDATE runs SET result = json_set(result, '$.readings', json('[]'))""")
    refused = ask("show", name, "--store", store, "--out", tmp_path / "none.csv")
    assert refused.exit_code == 2
    assert "no run has read them" in refused.stderr


def test_exported_runs_of_other_settings_differ(tmp_path):
    """Runs alike but for one setting of task or learner have rows that differ in that column."""
    kinds = {
        "law": SparseTask("and:2", "balanced"),
        "label_noise": SparseTask("and:2", label_noise=0.1),
        "feature_noise": SparseTask("and:2", feature_noise=0.1),
        "symbols": SparseTask("and:2", symbols=4),
        "balanced_sets": SparseTask("and:2", balanced_sets=True),
        "learner_level": SparseTask("and:2"),
    }
    plain = RunSpec(SparseTask("and:2"), Coin(), 6, 30, 0)
    others = {
        name: RunSpec(task, Coin(level=11.0 if name == "learner_level" else 10.0), 6, 30, 0)
        for name, task in kinds.items()
    }
    with Store(tmp_path) as kept:
        kept.add((cell, run(cell)) for cell in (plain, *others.values()))
    assert ask("list", "--out", tmp_path / "runs.csv", "--store", tmp_path).exit_code == 0
    rows = {row["identity"]: row for row in csv.DictReader((tmp_path / "runs.csv").read_text().splitlines())}
    assert list(rows[plain.identity]) == TABLE
    for name, cell in others.items():
        one, other = rows[plain.identity], rows[cell.identity]
        assert [column for column in TABLE[len(ROW) :] if one[column] != other[column]] == [name]
    assert ask("list", "--out", "runs.xlsx", "--store", tmp_path).exit_code == 2


def test_no_store(tmp_path):
    """Where there are no runs a sentence says so, and no folder is made."""
    answer = ask("list", "--store", tmp_path / "none")
    assert answer.exit_code == 2
    assert "There are no runs in" in answer.stderr
    assert not (tmp_path / "none").exists()


def test_compare(store, tmp_path):
    """Two stores of the same runs agree; one run changed, and the exit code is 1; a store beside itself is refused."""
    cells = [RunSpec(SparseTask("and:2"), Coin(), T, 30, 0) for T in (6, 100)]
    with Store(tmp_path / "other") as kept:
        kept.add((cell, run(cell)) for cell in cells)
    found = ask("compare", tmp_path / "other", "--store", store, "--json")
    facts = json.loads(found.stdout)
    assert (found.exit_code, facts["schema"], facts["agree"], facts["only_first"]) == (0, "runs-compare/1", True, 2)
    with Store(tmp_path / "changed") as kept:
        kept.add([(cells[0], replace(run(cells[0]), steps=7))])
    differing = ask("compare", tmp_path / "changed", "--store", store)
    assert (differing.exit_code, "1 unequal" in differing.stdout) == (1, True)
    assert ask("compare", store, "--store", store).exit_code == 2
    assert ask("compare", tmp_path / "nowhere", "--store", store).exit_code == 2
