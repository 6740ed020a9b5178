"""A sweep that is killed at any moment, again and again, ends with the rows of one that was left in peace.

Five kills run with the long tests; `KEYHOLE_KILLS=100 pytest tests/cli/test_killed.py` makes so many.
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress

import pytest

KILLS = int(os.environ.get("KEYHOLE_KILLS", "5"))
SWEEP = ["learn", "and:3", "--context", "25,50,100", "--samples", "20..160", "--seeds", "12"]
SWEEP += ["--learner", "elimination", "--workers", "1", "--store"]
COLUMNS = "identity, task, learner, context, samples, seed, success, fitted, accuracy, steps, configuration"


def rows(store):
    """The runs of a store but for how long they took, in order; none where there is no store yet."""
    try:
        with closing(sqlite3.connect(f"file:{store}/runs.sqlite?mode=ro", uri=True)) as runs:
            return sorted(runs.execute(f"SELECT {COLUMNS} FROM runs"))  # noqa: S608  (our own words)
    except sqlite3.OperationalError:
        return []


def start(store):
    """The sweep, in a process group of its own."""
    words = [sys.executable, "-m", "keyhole", *SWEEP, str(store)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)


def kill(sweep, whom):
    """Kill the process that was started, a worker of it and then the process, or all of them at once."""
    with suppress(ProcessLookupError):
        if whom == "worker":
            children = ["pgrep", "-P", str(sweep.pid)]
            listed = subprocess.run(children, capture_output=True, text=True, check=False)
            for child in listed.stdout.split()[-1:]:
                os.kill(int(child), signal.SIGKILL)
        os.kill(sweep.pid, signal.SIGKILL)
    if whom == "group":
        with suppress(ProcessLookupError):
            os.killpg(sweep.pid, signal.SIGKILL)
    sweep.wait()
    sweep.stdout.close()  # a worker that was left behind may still hold its other end


@pytest.mark.slow
@pytest.mark.long
def test_a_sweep_that_is_killed_ends_with_equal_rows(tmp_path):
    """No finished run is lost or changed by kill -9 at random moments, and the same command ends the sweep."""
    rng = random.Random(7)  # noqa: S311  (no secret)
    alone = start(tmp_path / "alone")
    begun = time.monotonic()
    table, _ = alone.communicate()
    whole, taken = rows(tmp_path / "alone"), time.monotonic() - begun
    assert (alone.returncode, len(whole)) == (0, 144)
    killed, kills, amid, kept = tmp_path / "killed", 0, 0, []
    while kills < KILLS:
        sweep = start(killed)
        time.sleep(rng.uniform(0.1, 1.1) * taken)
        if sweep.poll() is None:
            kill(sweep, rng.choice(["main", "worker", "group"]))
            kills += 1
        else:
            sweep.communicate()
        before, kept = kept, rows(killed)
        assert set(before) <= set(kept) <= set(whole)
        amid += 0 < len(kept) < len(whole)
        if len(kept) == len(whole):
            shutil.rmtree(killed)
            kept = []
    last = start(killed)
    answer, _ = last.communicate()
    assert (last.returncode, rows(killed)) == (0, whole)
    end = "\n144 runs ("  # how many of them are new, the seconds, and the run that was finished last
    assert answer.partition(end)[0] == table.partition(end)[0]
    print(f"{kills} kills, {amid} of them in the middle of the sweep: {len(whole)} equal rows")  # noqa: T201
