"""A measurement of claims that is stopped leaves no process at work."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

DRIVER = """
import signal, sys
sys.path[:0] = {path!r}
from keyhole.apps.ledger import run
from keyhole.apps.ledger.ledger import experiments
from helpers.sleeping import measure

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so its children
    run.run_named = measure
    list(run._run_in_processes(experiments()[:2], "quick", 0, 2, print))
"""


def alive(process):
    """Whether a process is at work, and not only waiting to be buried."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_workers_end_with_the_process_that_started_them(tmp_path, how):
    """SIGTERM, kill -9 or Ctrl-C to the parent alone: its workers, in the middle of a measurement, end too."""
    script = tmp_path / "driver.py"
    script.write_text(DRIVER.format(path=sys.path))
    sleepers = tmp_path / "sleepers"
    sleepers.mkdir()
    environment = {**os.environ, "KEYHOLE_TEST_SLEEPERS": str(sleepers), "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, str(script)], env=environment, stderr=subprocess.DEVNULL)
    workers = []
    try:
        until = time.monotonic() + 60
        while len(workers) < 2 and time.monotonic() < until:
            time.sleep(0.05)
            workers = [int(path.name) for path in sleepers.iterdir()]
        assert len(workers) == 2
        parent.send_signal(how)
        parent.wait(20)
        until = time.monotonic() + 20
        while any(map(alive, workers)) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(map(alive, workers))
    finally:
        for process in (parent.pid, *workers):
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        parent.wait()
