"""`keyhole runs` lists, shows, exports and forgets."""

import csv
import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app
from keyhole.sweeps.runs.run import run
from keyhole.sweeps.runs.spec import RunSpec
from keyhole.sweeps.runs.store import Store
from keyhole.training.learners import NUMERICS
from keyhole.training.task import SparseTask

from helpers.lab_fakes import Coin

ROW = [  # golden: fields are only ever added
    "identity", "task", "learner", "context", "samples", "seed", "success", "fitted", "accuracy", "steps", "seconds",
    "created",
]  # fmt: skip
TABLE = [*ROW, "law", "label_noise", "feature_noise", "symbols", "balanced_sets", "numerics", "learner_level"]
RUN = [*ROW, "configuration", "result", "versions", "cpu", "weights"]


def ask(*arguments, **options):
    """The command run in this process."""
    return CliRunner().invoke(app, ["runs", *map(str, arguments)], env={"COLUMNS": "80"}, **options)


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


def test_a_line_per_run(store):
    """Every run is listed within 80 columns; alone, the command lists too."""
    listed = ask("list", "--store", store)
    assert listed.exit_code == 0
    lines = listed.stdout.splitlines()
    assert len(lines) == 8
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].split()[1:6] == ["and:2", "coin", "6", "30", "0"]
    assert "fresh" in listed.stdout
    assert ask("--store", store).stdout == listed.stdout


def test_filters(store):
    """Task, learner and context leave what they name."""
    assert len(ask("list", "--store", store, "--task", "and:2").stdout.splitlines()) == 6
    assert len(ask("list", "--store", store, "--context", "100", "--task", "and:2").stdout.splitlines()) == 5
    assert len(ask("list", "--store", store, "--learner", "other").stdout.splitlines()) == 1


def test_json(store):
    """The golden keys of runs/1 and run/1."""
    facts = json.loads(ask("list", "--store", store, "--json").stdout)
    assert (facts["schema"], len(facts["runs"])) == ("runs/1", 4)
    assert list(facts["runs"][0]) == ROW
    name = facts["runs"][0]["identity"]
    shown = json.loads(ask("show", name[:8], "--store", store, "--json").stdout)
    assert shown["schema"] == "run/1"
    assert list(shown)[2:] == RUN
    assert shown["identity"] == name
    assert shown["configuration"]["task"]["function"] == "and:2"
    assert shown["weights"].endswith(f"{name}.safetensors")


def test_show(store):
    """One run in full, by a beginning of its name."""
    name = json.loads(ask("--store", store, "--json").stdout)["runs"][0]["identity"]
    shown = ask("show", name[:6], "--store", store)
    assert shown.exit_code == 0
    for word in (name, "learner level", "task law", "numpy version", "target", "success: an accuracy of at least"):
        assert word in shown.stdout
    missing = ask("show", "zzz", "--store", store)
    assert missing.exit_code == 2
    assert "No run has a name that begins with" in missing.stderr


def test_show_draws_what_was_read(store, tmp_path):
    """The readings of one run against its steps, written beside the words; without readings there is no figure."""
    name = json.loads(ask("--store", store, "--json").stdout)["runs"][0]["identity"]
    with Store(store) as kept:
        (reading,) = kept.run(name).result.readings
    drawn = ask("show", name, "--store", store, "--out", tmp_path / "curves.csv")
    assert drawn.stderr.split() == ["wrote", str(tmp_path / "curves.csv")]
    (row,) = csv.DictReader((tmp_path / "curves.csv").read_text().splitlines())
    assert (row["reading"], float(row["step"]), float(row["value"])) == ("loss", 1.0, reading["loss"])
    assert row["run"] == name[:10]
    with Store(store) as kept:
        kept.connection.execute("""UPDATE runs SET result = json_set(result, '$.readings', json('[]'))""")
    refused = ask("show", name, "--store", store, "--out", tmp_path / "none.csv")
    assert refused.exit_code == 2
    assert "no run has read them" in refused.stderr


def test_export(store, tmp_path):
    """The CSV holds every row with what was asked; another ending is refused."""
    file = tmp_path / "out" / "runs.csv"
    assert "4 runs" in ask("export", file, "--store", store).stderr
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert list(rows[0]) == TABLE
    assert [rows[0][name] for name in TABLE[-7:-2]] == ["uniform", "0.0", "0.0", "2", "False"]
    assert rows[0]["numerics"] == str(NUMERICS)
    assert rows[0]["learner_level"] == "10.0"
    assert [row["context"] for row in rows] == ["6", "100", "6", "100000"]
    refused = ask("export", "runs.xlsx", "--store", store)
    assert refused.exit_code == 2
    assert "exported as .csv" in refused.stderr


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
    ask("export", tmp_path / "runs.csv", "--store", tmp_path)
    rows = {row["identity"]: row for row in csv.DictReader((tmp_path / "runs.csv").read_text().splitlines())}
    for name, cell in others.items():
        one, other = rows[plain.identity], rows[cell.identity]
        assert [column for column in TABLE[len(ROW) :] if one[column] != other[column]] == [name]


def test_prune(store):
    """It says what it removes, asks or is told, and removes that alone."""
    for arguments, sentence in [(["--task", "and:2"], "give --yes"), (["--yes"], "Which runs to delete was not said")]:
        refused = ask("prune", "--store", store, *arguments)
        assert refused.exit_code == 2
        assert sentence in refused.stderr
    assert len(ask("--store", store).stdout.splitlines()) == 8
    done = ask("prune", "--store", store, "--task", "and:2", "--yes")
    assert done.stdout.splitlines()[0].startswith("2 runs of and:2 by coin at T = 6, 100: ")
    assert done.stdout.splitlines()[1] == "deleted 2 runs"
    assert len(ask("--store", store).stdout.splitlines()) == 6
    assert len(list((store / "weights").iterdir())) == 2
    assert "nothing was deleted" in ask("prune", "--store", store, "--task", "and:2", "--yes").stdout
    ask("prune", "--store", store, "--all", "--yes")
    assert len(ask("--store", store).stdout.splitlines()) == 1


def test_no_store(tmp_path):
    """Where there are no runs a sentence says so, and no folder is made."""
    answer = ask("--store", tmp_path / "none")
    assert answer.exit_code == 2
    assert "There are no runs in" in answer.stderr
    assert not (tmp_path / "none").exists()


def test_compare(store, tmp_path):
    """Two stores of the same runs agree; one run changed, and the exit code is 1; a store beside itself is refused."""
    other = tmp_path / "other"
    cells = [RunSpec(SparseTask("and:2"), Coin(), T, 30, 0) for T in (6, 100)]
    with Store(other) as kept:
        kept.add((cell, run(cell)) for cell in cells)
    found = ask("compare", other, "--store", store)
    assert found.exit_code == 0
    assert "0 of 2 cells in common differ" in " ".join(found.stdout.split())
    assert all(len(line) <= 80 for line in found.stdout.splitlines() if "/" not in line)
    facts = json.loads(ask("compare", other, "--store", store, "--json").stdout)
    assert (facts["schema"], facts["agree"], facts["only_first"]) == ("runs-compare/1", True, 2)
    assert list(facts["cells"][0]) == [
        "task", "learner", "context", "samples", "first", "second", "shared", "unequal", "p_value", "differs",
    ]  # fmt: skip
    changed = tmp_path / "changed"
    with Store(changed) as kept:
        kept.add([(cells[0], replace(run(cells[0]), steps=7))])
    differing = ask("compare", changed, "--store", store)
    assert differing.exit_code == 1
    assert "1 unequal" in differing.stdout
    assert ask("compare", store, "--store", store).exit_code == 2
    assert ask("compare", tmp_path / "nowhere", "--store", store).exit_code == 2
    assert ask("compare", other, "--store", store, "--level", 2).exit_code == 2
