"""The examples run, and show what they say."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_attribution():
    """Flipping bits finds every relevant position (AUC 1 over all inputs); distractors mislead attention."""
    run = subprocess.run([sys.executable, str(EXAMPLES / "attribution.py")], capture_output=True, text=True, check=True)
    found = [tuple(map(float, re.findall(r"AUC (\d\.\d\d)", line))) for line in run.stdout.splitlines()]
    assert len(found) == 14
    # a bit that no drawn input is sensitive to would be missed; with s ≤ 5 each is seen in 2^-4 of 200 inputs or more
    assert all(occlusion == 1.0 for occlusion, _ in found)
    assert min(attention for _, attention in found) < 1.0
