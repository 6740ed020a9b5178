"""The README shows numbers that its commands print, and every command of the manual exists with its options."""

import re
import shlex
from ast import literal_eval
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from keyhole.cli.app import SHARED, app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf8")
BLOCKS = [block for block in re.findall(r"```\n(.*?)```", README, re.DOTALL) if block.startswith("$ ")]
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
MANUAL = README + "".join(path.read_text("utf8") for path in sorted((ROOT / "docs" / "howto").glob("*.md")))
LESSONS = "".join(path.read_text("utf8") for path in sorted((ROOT / "docs" / "lessons").glob("*.md")))
TYPED = [
    *re.findall(r"^[$!] ?keyhole (.*)$", MANUAL + LESSONS, re.MULTILINE),
    *re.findall(r"`keyhole ([^`]+)`", MANUAL),
]
FACT = re.compile(r"\d[\d.,e^-]*\d|\d|[A-Z]{5,}|as claimed|vacuous")  # a number or a verdict


def answered(block):
    """The commands of a block with what is shown below each."""
    for part in re.split(r"^\$ keyhole ", block, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield line, shown


@pytest.mark.slow
@pytest.mark.parametrize("block", [pytest.param(b, marks=[pytest.mark.long] if "--run" in b else []) for b in BLOCKS])
def test_commands_print_the_numbers_shown(block, tmp_path, monkeypatch):
    """Each command prints the numbers and the verdicts that the README shows; of a trained margin, the first digit."""
    monkeypatch.chdir(tmp_path)
    for line, shown in answered(block):
        answer = CliRunner().invoke(app, shlex.split(line), env={"COLUMNS": "80"})
        assert answer.exit_code == 0, answer.stderr
        if "--run" in line:
            assert facts(re.sub(r"(margin \d)[.\d]*", r"\1", shown)) <= facts(
                re.sub(r"(margin \d)[.\d]*", r"\1", answer.stdout)
            )
        else:
            assert facts(shown) <= facts(answer.stdout), line


def facts(text):
    """The numbers and the verdicts of a text."""
    return set(FACT.findall(text))


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
    assert values >= 2


@pytest.mark.parametrize("line", TYPED)
def test_every_command_of_the_manual_exists(line):
    """Each word that names a command or an option is one."""
    words = shlex.split(line)
    command = typer.main.get_command(app)
    while words and hasattr(command, "commands"):
        name = words.pop(0)
        if name.startswith("-") or name == "COMMAND":
            return
        command = command.get_command(None, name)
        assert command is not None, name
    known = {opt for param in command.params for opt in param.opts} | {"--help", "-h", *SHARED}
    assert {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)} <= known


def test_every_command_is_in_the_manual():
    """The manual names each command of the help."""
    assert set(typer.main.get_command(app).commands) <= {line.split()[0] for line in TYPED}
