"""The examples run, and show what they say."""

import re
import runpy
import subprocess
import sys
from math import log
from pathlib import Path
from random import Random

import pytest

from keyhole.bounds.construction_norms import hypothetical

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_gated_head():
    """One more term for the gate: weight ‖v‖·radius/4, scale ‖u‖B_Z, log(2m+1)."""
    example = runpy.run_path(str(EXAMPLES / "gated_head.py"))
    profile = hypothetical(tokens=101, value21=2.0, value=1.0, score=5.0, width=4, readout=3.0)
    terms = {term.name: term for term in example["gated_cover"](profile, 2.0, 100.0).terms}
    assert set(terms) == {"scores", "values", "gate", "read-out"}
    assert terms["gate"][2:5] == pytest.approx((3.0 / 4, 2.0, log(201)))
    assert "not refuted in 4000 tries" in example["report"]()


def test_the_hunt_refutes_a_wrong_gate():
    """With the slope of the sigmoid taken 10 % too small, the hunt finds a counterexample."""
    example = runpy.run_path(str(EXAMPLES / "gated_head.py"))
    assert example["hunt"](Random(1), steepest=0.225).refuted  # noqa: S311
    assert not example["hunt"](Random(1)).refuted  # noqa: S311


def test_attribution():
    """Flipping bits finds every relevant position (AUC 1 over all inputs); distractors mislead attention."""
    run = subprocess.run([sys.executable, str(EXAMPLES / "attribution.py")], capture_output=True, text=True, check=True)
    found = [tuple(map(float, re.findall(r"AUC (\d\.\d\d)", line))) for line in run.stdout.splitlines()]
    assert len(found) == 14
    # a bit that no drawn input is sensitive to would be missed; with s ≤ 5 each is seen in 2^-4 of 200 inputs or more
    assert all(occlusion == 1.0 for occlusion, _ in found)
    assert min(attention for _, attention in found) < 1.0


def test_own_construction():
    """A construction of one's own is proved on all inputs, its read-out is its theorem's (T + 1)√5, its file checks."""
    words = [sys.executable, str(EXAMPLES / "own_construction.py")]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "even conjunction, 2 units, margin 1 on all 2^64 inputs" in run.stdout
    assert f"read-out {65 * 5**0.5:.1f}, by theorem {65 * 5**0.5:.1f}" in run.stdout
    assert "check: as claimed" in run.stdout
    assert len((EXAMPLES / "own_construction.py").read_text("utf8").splitlines()) <= 60


@pytest.mark.extra("torch")
def test_certify_pytorch():
    """A model trained in PyTorch (a smaller one) is proved to compute the hidden conjunction, and identified."""
    words = [sys.executable, str(EXAMPLES / "certify_pytorch.py"), "20", "200", "150", "0"]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    hidden = re.search(r"hidden: \[(\d+), (\d+), (\d+)\]", run.stdout)
    formula = " & ".join(f"x{place}" for place in hidden.groups())
    assert f"PROVED equal to {formula} on all 2^20 inputs" in run.stdout
    assert "yes, the function is the target" in run.stdout
