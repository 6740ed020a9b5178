"""A terminal that lacks our letters still gets its answer."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_ascii_output_is_no_traceback():
    """With an ASCII stdout, letters outside it become question marks, and the exit code stays 0."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "keyhole", "describe", "x1 & x2"]
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert b"x1 & x2" in done.stdout
    assert not done.stderr
