"""Help is whole at 80 columns: no word is cut, no line is longer, and every example fits on its line."""

import re
import shlex
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from keyhole.boolean import read_function
from keyhole.cli import arguments
from keyhole.cli.app import app
from keyhole.compiler import choose
from keyhole.latent.models.registry import model_names
from keyhole.training.learners import learner_named

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
    """The help is one screen, and its panels list what each command is for, uncut, with examples that exist."""
    lines = CliRunner().invoke(app, ["--help"]).stdout.splitlines()
    assert len(lines) <= 40
    listed = [line for line in lines if re.match(r"  [a-z]+  ", line)]
    assert sorted(line.split()[0] for line in listed) == COMMANDS
    assert all(len(line) <= 80 and line.endswith((".", "?")) for line in listed)
    examples = [shlex.split(line.partition("  keyhole ")[2])[0] for line in lines if "  keyhole " in line]
    assert len(examples) == 5
    assert set(examples) <= set(COMMANDS)


def test_words_that_the_shell_completes_are_ones():
    """Every learner, function, construction and latent model that is offered can be made."""
    for name in arguments.complete_learners(""):
        assert name in ("started:compiled", "started:random") or learner_named(name)
    assert arguments.complete_learners("gf2,sklearn:tr") == ["gf2,sklearn:tree"]
    assert all(read_function(name) for name in arguments.complete_functions(""))
    assert all(choose(read_function("and:2"), 8, name) for name in arguments.complete_constructions(""))
    assert sorted(arguments.complete_models("")) == sorted(model_names())
    assert "margin" in arguments.complete_terms("mar")


@pytest.mark.slow
def test_help_imports_nothing_that_computes():
    """The list of commands is printed without numpy, without charts and without the packages that compute."""
    program = (
        "import sys; from typer.testing import CliRunner; from keyhole.cli.app import app\n"
        "CliRunner().invoke(app, ['--help']); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "jax", "altair", "keyhole.api.result", "keyhole.boolean"} & set(loaded)
