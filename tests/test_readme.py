"""What the README shows is what the commands print."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from keyhole.cli.app import app

README = (Path(__file__).parent.parent / "README.md").read_text("utf8")
SHOWN = re.findall(r"```\n\$ \.venv/bin/keyhole ([^\n]+)\n(.*?)\n```", README, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_examples_print_what_is_shown(tmp_path, monkeypatch):
    """The README's commands, run again in their order in one folder, print the same text at 80 columns."""
    monkeypatch.chdir(tmp_path)
    printed = [CliRunner().invoke(app, shlex.split(words), env={"COLUMNS": "80"}).stdout.rstrip() for words, _ in SHOWN]
    assert printed == [output for _, output in SHOWN]


def test_python_examples_run():
    """The README's Python runs as it stands."""
    for program in PYTHON:
        exec(program, {})  # noqa: S102  (our own text)


def test_every_verb_is_shown():
    """Each command of the help is named in the README, and there are examples of both sorts."""
    named = set(re.findall(r"keyhole (\w+)", README))
    assert {command.name for command in app.registered_commands} <= named
    assert SHOWN
    assert PYTHON
