"""What the README shows is what the commands print."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from keyhole.cli.app import app

README = (Path(__file__).parent.parent / "README.md").read_text("utf8")
SHOWN = re.findall(r"```\n\$ \.venv/bin/keyhole ([^\n]+)\n(.*?)\n```", README, re.DOTALL)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command[:40] for command, _ in SHOWN])
def test_examples_print_what_is_shown(command, output):
    """Each example of the README, run again, prints the same text at 80 columns."""
    answer = CliRunner().invoke(app, shlex.split(command), env={"COLUMNS": "80"})
    assert answer.exit_code == 0
    assert answer.stdout.rstrip() == output


def test_there_are_examples():
    """The README shows at least one command with its output."""
    assert SHOWN
