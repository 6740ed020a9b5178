"""Places that cannot be written to or looked at: one sentence and exit code 2, whichever command is asked."""

import os
import stat

import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app

LONG = "x" * 300
BOUND = ("bound", "and:3", "--context", "100", "--samples", "1e6")


@pytest.mark.parametrize(
    "words",
    [
        ("describe", "and:3", "--out", f"{LONG}.svg"),
        ("describe", "and:3", "--out", f"{LONG}/x.json"),
        ("compile", "and:3", "--context", "16", "--out", f"{LONG}.safetensors"),
        ("compile", "and:3", "--context", "16", "--out", f"{LONG}.py"),
        ("score", "suite", "2", "--context", "16", "--out", LONG),
        (*BOUND, "--out", LONG),
        ("bound", "--file", LONG, "--samples", "1e6"),
        ("runs", "list", "--store", LONG),
        ("runs", "show", "abcd", "--store", LONG),
        ("runs", "list", "--out", "x.csv", "--store", LONG),
        ("prove", "--run", "abcd", "--store", LONG),
        ("reproduce", "--only", "sharpness", "--workers", "1", "--out", LONG),
        ("learn", "and:2", "--context", "8", "--samples", "8", "--learner", "elimination", "--store", LONG),
    ],
    ids=lambda words: " ".join(words).replace(LONG, "LONG"),
)  # fmt: skip
def test_a_name_too_long_gets_a_sentence(words, tmp_path, monkeypatch):
    """A name of more than 255 letters is refused by every command that writes or reads there."""
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, list(words))
    assert answer.exit_code == 2, answer.output
    assert answer.stderr.splitlines()[-1].startswith("keyhole: ")
    assert "Traceback" not in answer.output


def test_scores_of_a_name_too_long_get_a_sentence(tmp_path):
    """The folder of attributions is looked at in the same way."""
    CliRunner().invoke(app, ["score", "suite", "1", "--context", "16", "--out", str(tmp_path)])
    answer = CliRunner().invoke(app, ["score", "attributions", str(tmp_path / "key.json"), LONG])
    assert answer.exit_code == 2, answer.output
    assert "File name too long" in answer.stderr


def test_out_leaves_a_device_and_a_link(tmp_path):
    """--out goes through a copy of the null device, and through a link to its target."""
    null, link, target = tmp_path / "null.txt", tmp_path / "link.txt", tmp_path / "target"
    link.symlink_to(target)
    assert CliRunner().invoke(app, [*BOUND, "--out", str(link)]).exit_code == 0
    assert link.is_symlink()
    assert "Theorem" in target.read_text()
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        null.open("ab").close()
    except OSError as error:
        pytest.skip(f"no device nodes here: {error}")
    assert CliRunner().invoke(app, [*BOUND, "--out", str(null)]).exit_code == 0
    assert null.is_char_device()


@pytest.mark.parametrize(
    "words",
    [
        ("describe", "and:3", "--out", "file/x.svg"),
        ("describe", "and:3", "--out", "folder.svg"),
        ("compile", "and:3", "--context", "16", "--out", "file/x.safetensors"),
        ("score", "suite", "1", "--context", "16", "--out", "file"),
        (*BOUND, "--out", "file/x.txt"),
        (*BOUND, "--vary", "100,200", "--out", "folder.svg"),
        ("prove", "nothing.safetensors", "--out", "file/x.json"),
        ("check", "file/x"),
        ("fit", "nothing.csv", "--out", "file/x.json"),
        ("infer", "gaussian", "--size", "4", "--out", "file/x.svg"),
        ("learn", "and:2", "--context", "8", "--samples", "8", "--learner", "elimination", "--out", "file/x"),
        ("learn", "and:2", "--context", "8", "--samples", "8", "--learner", "elimination", "--out", "folder.svg"),
        ("norms", "x1", "--out", "file/x.json"),
        ("runs", "show", "abcd", "--out", "file/x.svg"),
        ("runs", "list", "--out", "file/x.csv"),
        ("prove", "nothing", "--claim", "x", "--out", "file/x.json"),
        ("reproduce", "--only", "sharpness", "--workers", "1", "--out", "file/x"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_place_is_refused_before_work_is_done(words, tmp_path, monkeypatch):
    """Where nothing can be written, nothing is computed, kept or printed: one sentence about the place, alone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder.svg").mkdir()
    answer = CliRunner().invoke(app, list(words))
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert len(answer.stderr.splitlines()) == 1
    assert "Not a directory" in answer.stderr or "is a folder" in answer.stderr or "is a file" in answer.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder.svg"]


def test_an_ending_in_capitals_is_that_ending(tmp_path):
    """.PY is written as .py is, and a model called M.SAFETENSORS is read by every command that reads m.safetensors."""
    module, model = tmp_path / "A.PY", tmp_path / "M.SAFETENSORS"
    compile_and = ["compile", "x1 & x5", "--context", "16", "--out"]
    assert CliRunner().invoke(app, [*compile_and, str(module)]).exit_code == 0
    assert "torch" in module.read_text()
    assert CliRunner().invoke(app, [*compile_and, str(model)]).exit_code == 0
    asked = [["check"], ["prove"], ["describe", "--file"], ["bound", "--samples", "1e6", "--file"]]
    for command, *more in asked:
        answer = CliRunner().invoke(app, [command, *more, str(model)])
        assert answer.exit_code == 0, answer.output
