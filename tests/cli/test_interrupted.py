"""Ctrl-C ends a command in a word, also while its code is still being read in."""

import subprocess
import sys

import pytest

INTERRUPTED_IMPORT = """
import builtins, sys
read = builtins.__import__

def stop(name, *more):
    if name == "{module}":
        raise KeyboardInterrupt
    return read(name, *more)

builtins.__import__ = stop
sys.argv = ["keyhole", "describe", "and:3"]
from keyhole.cli import main
main()
"""


@pytest.mark.slow
def test_ctrl_c_during_the_import():
    """While the commands, or what a command needs, are read in: one line and exit code 130, and no traceback."""
    for module in ("keyhole.cli.app", "typer", "keyhole.api.describe"):
        program = INTERRUPTED_IMPORT.format(module=module)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "keyhole: interrupted\n")
