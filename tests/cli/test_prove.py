"""`keyhole prove` answers in words or JSON, with exit code 1 for a counterexample and a sentence for bad input."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

import keyhole
from keyhole.checkpoints.keyhole_tables import save_tabulated
from keyhole.cli.app import app
from keyhole.compiler.export.model_file import save_model
from keyhole.errors import ArgumentError, AssumptionError, CheckpointError, DataError
from keyhole.files.model import read_model, write_model

from helpers.planted import junta_of, leaky, planted, random_symbol_junta

AND = junta_of("x3 & x7 & x11")


def run(*arguments: str):
    """The command run in this process."""
    return CliRunner().invoke(app, ["prove", *arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A proved model, one that a chosen input breaks, training data, and data that do not fit."""
    place = tmp_path_factory.mktemp("prove")
    save_tabulated(planted(AND, 40, noise=0.05), place / "good.safetensors")
    save_tabulated(leaky(junta_of("x3 & x7"), 40), place / "bad.safetensors")
    inputs = np.random.default_rng(0).integers(0, 2, (240, 41))
    np.savez(place / "train.npz", inputs=inputs[:200, :40], labels=AND(inputs[:200]))
    np.savez(place / "holdout.npz", inputs=inputs[200:, :40], labels=AND(inputs[200:]))
    np.savez(place / "long.npz", inputs=inputs, labels=AND(inputs))
    np.savez(place / "three.npz", inputs=2 * inputs[:, :40], labels=AND(inputs))
    (place / "weights.pt").write_bytes(pickle.dumps({}))
    save_file({"w": np.zeros(1, dtype=np.float32)}, place / "mamba.safetensors", {"keyhole": '{"architecture": "S6"}'})
    return place


def test_json(folder):
    """One object with the promised keys, alone on stdout."""
    options = ("--data", str(folder / "train.npz"), "--assume-junta", "3")
    answer = run(str(folder / "good.safetensors"), *options, "--json")
    assert answer.exit_code == 0
    found = json.loads(answer.stdout)
    assert (found["function"], found["positions"], found["status"]) == ("x3 & x7 & x11", [3, 7, 11], "PROVED")
    assert (found["eta"], found["eta_kind"], found["errors_on_sample"], found["samples"]) == (
        0.0,
        "proved zero",
        0,
        200,
    )
    assert found["error_bound"] < found["trivial_error"] == 0.125
    assert (found["identified"], found["held_out_kind"]) == (True, "hypothetical half")
    assert found["no_network"]["function"] == "x3 & x7 & x11"


def test_an_answer_is_short(folder):
    """At most ten lines, within 80 columns, that hold the function, the verdict and the bound; -v has more."""
    words = (str(folder / "good.safetensors"), "--data", str(folder / "train.npz"), "--assume-junta", "3")
    answer, full = run(*words), run(*words, "-v")
    assert answer.exit_code == full.exit_code == 0
    assert answer.stdout.startswith("x3 & x7 & x11\nPROVED")
    assert "error ≤ 0." in answer.stdout
    assert len(answer.stdout.splitlines()) <= 10 < len(full.stdout.splitlines())
    assert max(map(len, full.stdout.splitlines())) <= 80


@pytest.mark.slow
def test_a_counterexample_exits_with_one_and_is_repaired(folder):
    """Drawn, with both answers; the repaired model is written, and certifies again from its file."""
    answer = run(str(folder / "bad.safetensors"), "--samples", "1e4", "--json")
    found = json.loads(answer.stdout)
    assert (answer.exit_code, found["status"]) == (1, "COUNTEREXAMPLE")
    assert len(found["counterexample"]) == 40
    assert found["model_answer"] != found["function_answer"]
    drawn = run(str(folder / "bad.safetensors"), "--samples", "1e4").stdout.splitlines()
    (marks,) = [line for line in drawn if set(line) == {" ", "^"}]
    assert [place for place, letter in enumerate(marks) if letter == "^"] == found["positions"]
    mended = folder / "mended.safetensors"
    repaired = keyhole.prove(folder / "bad.safetensors", repair=True, effort=keyhole.Effort(samples=10_000))
    assert (repaired.repair, repaired.status_before_repair) == ("sink projection", "COUNTEREXAMPLE")
    repaired.save(mended)
    copied = folder / "copied.safetensors"
    assert run(str(mended), "--out", str(copied)).exit_code == 0
    for path in (mended, copied):  # a copy tells it on
        again = json.loads(run(str(path), "--json").stdout)
        assert (again["status"], again["repair"]) == ("PROVED", None)
        assert again["repaired_before"].startswith("sink projection. ")
    assert found["repaired_before"] is None


def test_check_sends_tables_to_certify(folder):
    """A file of tables is no compiled function: one sentence, exit code 2."""
    answer = CliRunner().invoke(app, ["check", str(folder / "good.safetensors")])
    assert answer.exit_code == 2
    assert "`keyhole prove" in answer.stderr


@pytest.mark.parametrize(
    ("name", "opening"), [("a.json", "{"), ("a.txt", "x3 & x7 & x11"), ("a.html", "<!doctype html>")]
)
def test_out(folder, tmp_path, name, opening):
    """The certificate as a file, in the format its name asks for."""
    answer = run(str(folder / "good.safetensors"), "--out", str(tmp_path / name))
    assert answer.exit_code == 0
    assert (tmp_path / name).read_text("utf8").startswith(opening)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("none.safetensors",), "does not exist"),
        (("--run", "123456", "--store", "nothing"), "`keyhole learn` makes some, or name another `store`."),
        (("weights.pt",), "is a pickle, which runs code when it is read"),
        (("mamba.safetensors",), "names the architecture 'S6', which is not known"),
        (("good.safetensors", "--data", "long.npz"), "The data have 41 positions, and the model reads 40"),
        (("good.safetensors", "--data", "three.npz"), "hold the symbol 2, and the model's alphabet runs from 0 to 1"),
        (("good.safetensors", "--data", "good.safetensors"), "is neither .npz nor .csv"),
        (("good.safetensors", "--data", "none.npz"), "cannot be read: No such file"),
        (("good.safetensors", "--samples", "many"), "'many' is not a whole number"),
        (("good.safetensors", "--time-limit", "0"), "a number of seconds above 0; got 0."),
        (("good.safetensors", "--time-limit", "nan"), "a number of seconds above 0; got nan."),
        (("good.safetensors", "--out", "a.pdf"), "'a.pdf' must end in .json, .txt, .html"),
        ((), "one of the two"),
        (("good.safetensors", "--run", "abcd"), "one of the two"),
        (("good.safetensors", "--lengths", "3"), "--lengths needs a --claim"),
        (("good.safetensors", "--claim", "majority", "--data", "train.npz"), "--data is not about a --claim"),
        (("good.safetensors", "--samples", "0"), "compared on 1 fresh input or more; got 0."),
    ],
)
def test_refusals_are_one_sentence_and_exit_code_two(folder, monkeypatch, words, sentence):
    """On stderr, alone, without a traceback."""
    monkeypatch.chdir(folder)
    answer = run(*words)
    assert answer.exit_code == 2
    assert answer.stdout == ""
    assert answer.stderr.startswith("keyhole: ")
    assert len(answer.stderr.strip().splitlines()) == 1
    assert sentence in answer.stderr


def test_compiled_models_of_both_outputs(tmp_path):
    """A compiled model certifies as its own function, whether it answers in signs or in bits; damage is refused."""
    for output in ("signs", "bits"):
        path = tmp_path / f"{output}.safetensors"
        save_model(keyhole.compile("x1 & ~x4 | x2", 20, output=output), path)
        found = keyhole.prove(path)
        assert (found.status, found.function) == ("PROVED", "x1 & ~x4 | x2")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CheckpointError, match=r"is not as it was written; `keyhole check"):
        keyhole.prove(path)


@pytest.mark.parametrize("change", ["an entry", "a matrix too many", "a matrix too few"])
def test_dense_matrices_that_contradict_the_tables(tmp_path, change):
    """A file whose digests are right and whose dense matrices are another model's: refused, as `check` finds it."""
    path = save_model(keyhole.compile("x1 & ~x4 | x2", 20), tmp_path / "a.safetensors")
    stored = read_model(path)
    tensors = {name: array.copy() for name, array in stored.tensors.items()}
    name = next(name for name in sorted(tensors) if name.startswith("dense.") and tensors[name].size)
    if change == "an entry":
        tensors[name].reshape(-1)[0] += 1e-3
    elif change == "a matrix too many":
        tensors["dense.more"] = tensors[name]
    else:
        del tensors[name]
    write_model(path, tensors, {key: value for key, value in stored.description.items() if key[:6] != "digest"})
    assert [look.name for look in keyhole.check(path).inspections if not look.holds] == ["dense matrices"]
    with pytest.raises(CheckpointError, match=r"contradicts itself: dense\..*`keyhole check"):
        keyhole.prove(path)
    assert run(str(path)).exit_code == 2


def test_a_file_is_proved_without_what_trains_or_infers(tmp_path):
    """A fresh process that proves a compiled file imports no application, and no package of runs or posteriors."""
    path = keyhole.compile("x1 & ~x4", 20).save(tmp_path / "and.safetensors")
    program = (
        "import contextlib, io, runpy, sys\n"
        f"sys.argv = ['keyhole', 'prove', {str(path)!r}]\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    runpy.run_module('keyhole', run_name='__main__')\n"
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('keyhole.')})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    packages = set(done.stdout.split())
    assert "prover" in packages
    assert not packages & {"apps", "training", "sweeps", "latent", "languages"}


def test_rows_written_four_times(folder):
    """The same file with its rows four times promises no more, and says so first; as inputs set aside it is refused."""
    with np.load(folder / "train.npz") as train:
        np.savez(folder / "four.npz", inputs=np.tile(train["inputs"], (4, 1)), labels=np.tile(train["labels"], 4))
    good, train = str(folder / "good.safetensors"), str(folder / "train.npz")
    once, four = (
        json.loads(run(good, "--data", str(folder / name), "--json").stdout) for name in ("train.npz", "four.npz")
    )
    assert four["error_bound"] == once["error_bound"]
    assert [once["warnings"], len(four["warnings"])] == [[], 1]
    for held in ("train.npz", "four.npz"):
        with pytest.raises(DataError, match="inputs set aside are training inputs too"):
            keyhole.prove(good, keyhole.TrainingSet(train, held_out=folder / held))


def test_the_verb_takes_models_and_arrays():
    """Tables and arrays in, a value with a readable repr out; a bias is for bits."""
    rows = np.random.default_rng(1).integers(0, 2, (150, 30))
    found = keyhole.prove(planted(AND, 30), (rows, np.where(AND(rows), 1, -1)))
    assert repr(found) == "<Proof: x3 & x7 & x11>"
    assert found.error_bound == found.record()["error_bound"]
    assert "prove" in dir(keyhole)
    with pytest.raises(ArgumentError, match="for an alphabet of 3 symbols; it is for bits"):
        keyhole.prove(planted(random_symbol_junta((0,), 3), 4), keyhole.TrainingSet(bias=0.7))
    for refused in ({"delta": 0.0}, {"data": keyhole.TrainingSet(bias=1.5)}, {"data": keyhole.TrainingSet(accepted=2)}):
        with pytest.raises(AssumptionError):
            keyhole.prove(planted(AND, 30), **refused)


@pytest.mark.parametrize(
    "words", [("--time-limit", "1"), ("--samples", "9"), ("--alphabet", "a,b"), ("--lengths", "3"), ("--read-at", "=")]
)
def test_nothing_is_ignored_beside_an_architecture(words):
    """The claim and the description have the words of a step model; another setting is refused by its name."""
    result = run("adder.pt", "--architecture", "describe.py", "--claim", "addition:10", *words)
    assert result.exit_code == 2
    assert f"{words[0]} is not used with --architecture" in result.stderr
