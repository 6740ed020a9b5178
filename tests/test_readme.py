"""What the README shows is what the commands print."""

import re
import shlex
from ast import literal_eval
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from keyhole.cli.app import app

README = (Path(__file__).parent.parent / "README.md").read_text("utf8")
SHOWN = re.findall(r"```\n\$ \.venv/bin/keyhole ([^\n]+)\n(.*?)\n```", README, re.DOTALL)
TRAINED = re.findall(r"```text\n((?:\$ keyhole [^\n]+\n)+)(.*?)\n```", README, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
TIME = re.compile(r"(?<=in )[\d.]+(?= s$)|(?<=^time          )[\d.]+(?= s$)", re.MULTILINE)
FACT = re.compile(r"[0-9][0-9.,e^-]*[0-9]|[0-9]|[A-Z]{5,}|is as claimed|passed")
MARGIN = re.compile(r"(?<=margin )[\d.]+|(?<=within )[\d.]+")


@pytest.mark.slow
def test_examples_print_the_numbers_shown(tmp_path, monkeypatch):
    """The README's commands, run again in their order in one folder, print the numbers and verdicts that it shows."""
    monkeypatch.chdir(tmp_path)
    printed = [CliRunner().invoke(app, shlex.split(words), env={"COLUMNS": "80"}).stdout for words, _ in SHOWN]
    for (words, shown), text in zip(SHOWN, printed, strict=True):
        assert facts(shown) <= facts(text), words


def facts(text):
    """The numbers and the verdicts of a text."""
    return set(FACT.findall(TIME.sub("", text)))


@pytest.mark.long
@pytest.mark.parametrize(
    ("commands", "output"), TRAINED, ids=[commands.split()[2] + str(i) for i, (commands, _) in enumerate(TRAINED)]
)
def test_runs_come_out_as_shown(tmp_path, monkeypatch, commands, output):
    """What the README shows of learning and of certifying is what the last of its commands prints.

    Every letter is compared but the seconds and the margin of a trained model: weights trained on another processor
    differ in their last digits, and so does the margin. That the model is proved, which function it is, the sample,
    the promised error, what is identified and the name of the run do not depend on that; elimination is exact.
    """
    monkeypatch.setenv("KEYHOLE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    for words in commands.splitlines():
        answer = CliRunner().invoke(app, shlex.split(words.removeprefix("$ keyhole ")))
        assert answer.exit_code == 0, answer.stderr
    printed, shown = (MARGIN.sub("#", TIME.sub("#", text)) for text in (answer.stdout.rstrip(), output))
    assert printed == shown


def test_python_examples_give_what_they_say():
    """The README's Python runs as it stands, and every expression has the value written behind it."""
    values = 0
    for program in PYTHON:
        names = {}
        for line in program.splitlines():
            code, _, said = line.partition("  # ")
            if said:
                assert eval(code, names) == literal_eval(said), line  # noqa: S307  (our own text)
                values += 1
            else:
                exec(code, names)  # noqa: S102  (our own text)
    assert values >= 3


def test_every_verb_is_shown():
    """Each command of the help is named in the README, and there are examples of each sort."""
    named = set(re.findall(r"keyhole (\w+)", README))
    assert set(typer.main.get_command(app).commands) <= named
    assert SHOWN
    assert PYTHON
    assert [commands.split()[2] for commands, _ in TRAINED] == ["learn", "learn"]
    assert "$ keyhole prove" in TRAINED[-1][0]
