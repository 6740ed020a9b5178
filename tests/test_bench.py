"""What is timed side by side computes the same."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench"
PEERS = """
import runpy, sys
bench = runpy.run_path(sys.argv[1])
ours = bench["Ours"](10, 8, 2)
print(*(bench["check_equal"](ours, peer(ours)) for peer in bench["PEERS"].values()))
"""


@pytest.mark.extra("torch")
def test_peers_have_our_losses():
    """Every PyTorch peer of the training benchmark has the loss of ours over three steps of Adam, to 1e-4."""
    run = subprocess.run(
        [sys.executable, "-c", PEERS, str(BENCH / "lab.py")], capture_output=True, text=True, check=True
    )
    apart = [float(word) for word in run.stdout.split()]
    assert len(apart) == 3
    assert max(apart) < 1e-4
