"""A claim that is killed while its runs are made is resumed from them, and finds the same numbers."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

CLAIM = "supervised-length"
PATIENCE = 240  # seconds


def reproduce(home):
    """The claim, measured in a process group of its own."""
    words = [
        sys.executable,
        "-m",
        "keyhole",
        "reproduce",
        "--only",
        CLAIM,
        "--seed",
        "3",
        "--out",
        str(home / "report"),
    ]
    environment = {**os.environ, "KEYHOLE_HOME": str(home / "store")}
    return subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    )


def runs(home):
    """How many runs are stored."""
    try:
        with closing(sqlite3.connect(f"file:{home}/store/runs.sqlite?mode=ro", uri=True)) as store:
            return store.execute("SELECT count(*) FROM runs").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def found(home):
    """The numbers and figures of the finding."""
    (finding,) = json.loads((home / "report" / "findings.json").read_text("utf8"))["findings"]
    return finding["outcome"]


@pytest.mark.long
def test_killed_and_resumed(tmp_path):
    """After kill -9 in the middle some runs are kept, the same command makes the rest, and the outcome is equal."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert reproduce(whole).wait(PATIENCE) == 0
    first = reproduce(broken)
    begun = time.monotonic()
    while runs(broken) < 50 and first.poll() is None and time.monotonic() - begun < PATIENCE:
        time.sleep(0.05)
    assert first.poll() is None
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    kept = runs(broken)
    assert 50 <= kept < runs(whole)
    assert reproduce(broken).wait(PATIENCE) == 0
    assert runs(broken) == runs(whole)
    assert found(broken) == found(whole)
