"""Sentences of the library are for callers from Python; the command line says them with its own commands."""

import ast
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import keyhole
from keyhole.api.bound import norms_template
from keyhole.cli.app import app
from keyhole.cli.wording import COMMANDS, OPTIONS, in_commands

SOURCE = Path(keyhole.__file__).parent
FRONT = {"cli", "serve"}  # what a person at a terminal or a page reads: commands are named there
LIBRARY = sorted(path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in FRONT)
COMMAND = re.compile(r"(?:^|[\s`(])--[a-z]|`keyhole [a-z]")
EXCEPTIONS = {
    "claims/checkpoints/sources.py": "a flag of git's, in the commands that fetch published models",
    "claims/finding.py": "Finding.command is the command that measures a claim again, printed on the page",
    "pretrained/packages.py": "a flag of pip's, in the command that brings a packaged model",
}


def sentences(path):
    """The string constants of a file that are no docstrings, parts of f-strings included."""
    tree = ast.parse(path.read_text("utf8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_the_library_names_no_command():
    """No string outside cli/ and serve/ names a flag or a command, but for those that are commands themselves."""
    named = {path.relative_to(SOURCE).as_posix() for path in LIBRARY if any(map(COMMAND.search, sentences(path)))}
    assert named == set(EXCEPTIONS)


def test_every_function_that_is_replaced_is_there():
    """The table speaks of functions that a caller from Python finds."""
    assert callable(norms_template)
    assert callable(keyhole.Compiled.save)
    for name in (
        "check",
        "certify",
        "compile",
        "heads",
        "learn",
        "checkpoint_norms",
        "show_run",
        "runs",
        "forget_runs",
    ):
        assert callable(getattr(keyhole, name))
        assert any(name in function for function, _ in COMMANDS)


def test_no_python_is_left_in_what_the_library_says():
    """Every function of ours between backquotes in a sentence of the library has its command."""
    said = [sentence for path in LIBRARY for sentence in sentences(path)]
    named = [name for sentence in said for name in re.findall(r"`keyhole\.[^`]*`", sentence)]
    assert named
    assert not [name for name in named if "keyhole." in in_commands(name)]


def test_arguments_of_python_are_options_at_the_keyboard():
    """Every argument that is replaced is an option of some command; errors of the public functions name no other."""
    commands = typer.main.get_command(app).commands
    options = {name for command in commands.values() for option in command.params for name in option.opts}
    assert {f"--{name}" for name in OPTIONS} <= options
    raised = [
        constant.value
        for path in (SOURCE / "api").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf8")))
        if isinstance(node, ast.Raise)
        for constant in ast.walk(node)
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
    ]
    named = {name for sentence in raised for name in re.findall(r"`([a-z_]+)`", sentence)}
    assert {"samples", "accepted"} <= named <= set(OPTIONS)
    assert in_commands("Give `samples`, not `tabulate`.") == "Give --samples, not `tabulate`."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("not json", "`keyhole bound --template` is one to edit"), ("{}", "see `keyhole bound --template`")],
)
def test_the_command_line_names_its_own_commands(tmp_path, content, sentence):
    """The same error, with the command in place of the function."""
    path = tmp_path / "norms.json"
    path.write_text(content, "utf8")
    answer = CliRunner().invoke(app, ["bound", str(path), "--samples", "1e6"])
    assert answer.exit_code == 2
    assert sentence in answer.stderr
    with pytest.raises(keyhole.KeyholeError, match=r"`keyhole\.api\.bound\.norms_template\(\)`"):
        keyhole.bound(path, 1e6)
