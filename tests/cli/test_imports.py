"""A command parses, calls once and prints: it imports no package that computes."""

import ast
from pathlib import Path

import pytest

import keyhole.cli

COMMANDS = Path(keyhole.cli.__file__).parent
ALLOWED = {"__version__", "api", "claims", "cli", "errors", "progress", "show"}


@pytest.mark.parametrize("command", ["bound", "certify", "check", "compile", "printing"])
def test_commands_import_answers_and_how_they_are_shown(command):
    """Wherever an import stands in the module, it is of api, claims, show, progress, errors or typer."""
    names = set()
    for node in ast.walk(ast.parse((COMMANDS / f"{command}.py").read_text("utf8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    assert {name.split(".")[1] for name in names if name.startswith("keyhole.")} <= ALLOWED
    assert {name.split(".")[0] for name in names} <= {"keyhole", "pathlib", "sys", "typer", "typing"}
