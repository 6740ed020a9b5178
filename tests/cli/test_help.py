"""Help is whole at 80 columns: no word is cut, no line is longer, and every example fits on its line."""

import re
import shlex
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from keyhole.cli.app import app

COMMANDS = sorted(typer.main.get_command(app).commands)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_eighty_columns(command, monkeypatch):
    """Nothing ends in an ellipsis, and an example is one line that can be copied."""
    monkeypatch.setenv("COLUMNS", "80")
    answer = CliRunner().invoke(app, [command, "--help"])
    assert answer.exit_code == 0
    lines = answer.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(re.search(r"\w…", line) for line in lines if "ID,…" not in line and "TOKEN,…" not in line)
    begun = next((index for index, line in enumerate(lines) if line.strip() in ("Example:", "Examples:")), len(lines))
    ended = next(index for index, line in enumerate(lines) if line in ("Arguments:", "Options:"))
    examples = [index for index in range(begun, ended) if lines[index].startswith("    keyhole ")]
    assert examples, "an example is wanted"
    assert all(not lines[index + 1].strip() for index in examples)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["describe", "compile"])
def test_examples_are_answered(command, tmp_path, monkeypatch):
    """An example of a command that trains nothing can be copied and is answered: files that one writes serve others."""
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["compile", "--help"]).stdout, CliRunner().invoke(app, [command, "--help"]).stdout
    made, asked = (re.findall(r"^    keyhole (.+)$", text, re.MULTILINE) for text in shown)
    for example in [made[0], *asked]:
        answer = CliRunner().invoke(app, shlex.split(example))
        assert answer.exit_code == 0, f"{example}: {answer.output}"


def test_every_command_has_a_short_line():
    """The list of commands says what each is for, uncut."""
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "..." not in shown.split("Commands:")[1]
    assert sorted(re.findall(r"^  ([a-z]+)  ", shown.split("Commands:")[1], re.MULTILINE)) == COMMANDS


@pytest.mark.slow
def test_help_imports_nothing_that_computes():
    """The list of commands is printed without numpy, without charts and without the packages that compute."""
    program = (
        "import sys; from typer.testing import CliRunner; from keyhole.cli.app import app\n"
        "CliRunner().invoke(app, ['--help']); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "jax", "altair", "keyhole.api.result", "keyhole.boolean"} & set(loaded)
