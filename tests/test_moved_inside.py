"""What a contributor touches: the examples moved into a copy of the library, and no more files than are stated."""

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import keyhole

SOURCE = Path(keyhole.__file__).parent
EXAMPLES = Path(__file__).parent.parent / "examples"

pytestmark = pytest.mark.slow


@pytest.fixture
def library(tmp_path):
    """A copy of the package that may be changed."""
    library = tmp_path / "src" / "keyhole"
    shutil.copytree(SOURCE, library, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    shutil.copy(EXAMPLES.parent / "docs" / "NOTATION.md", tmp_path / "docs")  # where `explain` and the page read words
    return library


def ask(library, *words):
    """What the command line of the copy prints."""
    run = subprocess.run(
        [sys.executable, "-m", "keyhole", *words],
        capture_output=True, text=True, check=True, cwd=library.parent, env={**os.environ, "PYTHONPATH": "."},
    )  # fmt: skip
    return run.stdout


def touched(library):
    """The files of the copy that are new or changed."""
    return {
        str(path.relative_to(library))
        for path in library.rglob("*.py")
        if not (SOURCE / path.relative_to(library)).exists()
        or not filecmp.cmp(path, SOURCE / path.relative_to(library), shallow=False)
    }


def edit(path, old, new):
    """Replace a text that is there once."""
    text = path.read_text("utf8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf8")


def test_a_growth_law_touches_one_file(library):
    """The law of the example in the list of laws: every sweep of enough contexts compares it."""
    law = 'AffineLaw("saturating", "a − b e^(−T/300)", lambda contexts: -np.exp(-contexts / 300))'
    assert law in (EXAMPLES / "own_growth_law.py").read_text("utf8")
    edit(library / "sweeps" / "laws" / "growth_laws.py", "    PowerLaw(),\n)\n", f"    PowerLaw(),\n    {law},\n)\n")
    words = [
        "learn",
        "and:2",
        "--context",
        "8,16,32,64",
        "--learner",
        "elimination",
        "--samples",
        "8,16,32",
        "-v",
        "--seeds",
    ]
    assert "a − b e^(−T/300)" in ask(library, *words, "8", "--workers", "1")
    assert touched(library) == {"sweeps/laws/growth_laws.py"}


def test_a_construction_touches_two_files(library):
    """The example as a file of the constructions and a line of the registry: compiled and checked by its name."""
    text = (EXAMPLES / "own_construction.py").read_text("utf8").split("\nif __name__")[0]
    for public, inside in {
        "import keyhole\nfrom keyhole.boolean": "from keyhole.boolean",
        "from keyhole.compiler import constructions as kit\n": (
            "from keyhole.compiler.constructions import pairs, plan\n\n\n"
            "class kit:\n    Construction, TheoremNorm = plan.Construction, plan.TheoremNorm\n"
            "    PairLayout, Plan, HeadPlan = pairs.PairLayout, plan.Plan, plan.HeadPlan\n"
            "    Output, wanted = plan.Output, staticmethod(plan.wanted)\n\n\n"
        ),
    }.items():
        assert public in text
        text = text.replace(public, inside)
    (library / "compiler" / "constructions" / "even.py").write_text(text, "utf8")
    registry = library / "compiler" / "constructions" / "registry.py"
    edit(registry, "    HeadPerPosition(),\n", "    HeadPerPosition(),\n    EvenAttention(),\n")
    first = "from keyhole.compiler.constructions.additive import"
    edit(registry, first, f"from keyhole.compiler.constructions.even import EvenAttention\n{first}")
    words = ["compile", "x3 & ~x17", "--context", "64", "--construction", "even", "--out", "even.safetensors"]
    assert "even conjunction" in ask(library, *words)
    assert "as claimed" in ask(library, "check", "even.safetensors")
    assert touched(library) == {"compiler/constructions/even.py", "compiler/constructions/registry.py"}


@pytest.mark.long
def test_a_claim_touches_two_files(library):
    """The example as a file of its group, and its line there: measured, judged and put on the page by its id."""
    text = (EXAMPLES / "own_claim.py").read_text("utf8").split("\nif __name__")[0]
    text = text.replace("import tempfile\n", "").replace(", register, reproduce", "")
    own = library / "apps" / "ledger" / "representation" / "softmax_pairs.py"
    own.write_text(f"{text}\n\npairs = Experiment(CLAIM, measure)\n")
    listed = library / "apps" / "ledger" / "ledger.py"
    edit(listed, "joined, normalisers, one_head\n", "joined, normalisers, one_head, softmax_pairs\n")
    edit(listed, "*(joined, normalisers, ", "*(softmax_pairs, joined, normalisers, ")
    assert "holds" in ask(library, "reproduce", "--only", "softmax-pairs", "--out", "report", "--workers", "1")
    assert touched(library) == {"apps/ledger/representation/softmax_pairs.py", "apps/ledger/ledger.py"}
