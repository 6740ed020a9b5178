"""What is said of whom: only what is known of a work is called its own."""

import re
from pathlib import Path

import pytest

import keyhole
from keyhole.claims.ledger import LIBRARY
from keyhole.papers import ZHANG_2022, ZHANG_2023

HOUSE = Path(keyhole.__file__).parent
MODULES = [
    path for package in ("attention", "kernels", "latent", "claims") for path in sorted((HOUSE / package).rglob("*.py"))
]
NUMBERED = re.compile(r"(Theorem|Proposition|Lemma) \d")  # of notes that a reader does not have
CLAIMS = re.compile(r"claim|spirit")  # the abstract's three claims, or no statement of the work at all


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_module_cites_what_a_reader_can_find(path):
    """No statement is named by its number in private notes, and of Zhang et al. (2022) only claims are quoted."""
    text = path.read_text("utf8")
    assert not NUMBERED.search(text)
    for line in re.findall(r".*\n?.*(?:Zhang et al\. \(2022|2212\.14852).*", text):
        assert CLAIMS.search(line), line
        assert "recalled" not in line.split(";")[0], line


@pytest.mark.parametrize("experiment", LIBRARY, ids=lambda experiment: experiment.claim.id)
def test_a_claim_lists_the_papers_it_names(experiment):
    """Zhang et al. of either year is named in a source exactly where the paper is listed."""
    for name, paper in (("Zhang et al. (2022", ZHANG_2022), ("Zhang et al. (2023", ZHANG_2023)):
        if name in experiment.claim.source:
            assert paper in experiment.claim.papers
