"""What is said of whom: only what is known of a work is called its own."""

import re
from pathlib import Path

import pytest

import keyhole
from keyhole import papers
from keyhole.apps.ledger.ledger import LIBRARY
from keyhole.papers import ZHANG_2022, ZHANG_2023

SOURCE = Path(keyhole.__file__).parent
PAGES = [path for path in (SOURCE.parents[1] / "README.md", *SOURCE.parents[1].glob("docs/*.md")) if path.exists()]
TEXTS = {str(path.relative_to(SOURCE.parents[1])): path.read_text("utf8") for path in [*SOURCE.rglob("*.py"), *PAGES]}
PRIVATE = re.compile(  # a number in notes that a reader does not have; `noqa: S101` is a linter's
    r"\b(?:Theorem|Proposition|Lemma|Corollary|Remark|Definition|Def\.|Section) ?\d|(?<!noqa: )\bS\d+[a-z]?\b|\bN\d\b"
)
QUOTED = re.compile(r"Zhang et al\. \(2022|2212\.14852")
CLAIMS = re.compile(r"claim|spirit")  # the abstract's three claims, or no statement of the work at all


@pytest.mark.parametrize("cited", ["Theorem 3", "Lemma 4.2", "S43", "S22b", "Lemma N1", "N3", "Def. 7.1", "(Def. 7.1)"])
def test_a_number_in_private_notes_is_known_as_one(cited):
    """Each form in which notes number their statements is found; names that keyhole itself gives are not."""
    assert PRIVATE.search(f"Source     Ours ({cited}): no learner")
    assert not PRIVATE.search("Theorem T, Lemma R, Rule 3, ‖S‖₂, 2N+1; assert x  # noqa: S101  (checked)")


@pytest.mark.slow
def test_statements_are_cited_where_a_reader_finds_them():
    """No module of any package and no page names a statement by its number in private notes."""
    cited = {name: PRIVATE.findall(text) for name, text in TEXTS.items() if PRIVATE.search(text)}
    assert not cited


def quotations(text):
    """Every line that names the work, with the line before it."""
    lines = text.splitlines()
    return ["\n".join(lines[max(0, i - 1) : i + 1]) for i, line in enumerate(lines) if QUOTED.search(line)]


def test_only_claims_are_quoted_of_a_work_not_read():
    """Of Zhang et al. (2022) the abstract's claims are quoted, or its spirit, and nothing is recalled; some are."""
    lines = [
        (name, line)
        for name, text in TEXTS.items()
        if name.endswith(".py") and "papers" not in name
        for line in quotations(text)
    ]
    assert len(lines) >= 5
    loose = [each for each in lines if not CLAIMS.search(each[1]) or "recalled" in each[1].split(";")[0]]
    assert not loose


@pytest.mark.parametrize("experiment", LIBRARY, ids=lambda experiment: experiment.claim.id)
def test_a_claim_lists_the_papers_it_names(experiment):
    """Zhang et al. of either year is named in a source exactly where the paper is listed."""
    for name, paper in (("Zhang et al. (2022", ZHANG_2022), ("Zhang et al. (2023", ZHANG_2023)):
        if name in experiment.claim.source:
            assert paper in experiment.claim.papers


WORKS = [value for value in vars(papers).values() if isinstance(value, papers.Paper)]
NAMED = re.compile(r"([A-Z]\w+)(?: et al\.| and [A-Z]\w+)? \((\d{4})")
ENTRY = re.compile(r"@misc\{(\w+),\n((?:  \w+ = \{[^{}]*\},?\n)+)\}")


@pytest.mark.parametrize("paper", WORKS, ids=lambda paper: paper.key)
def test_an_entry_is_bibtex(paper):
    """Braces close, fields are separated by commas, and authors are single names joined by "and"."""
    entry = ENTRY.fullmatch(paper.bibtex)
    assert entry
    assert entry[1] == paper.key
    lines = entry[2].splitlines()
    assert all(line.endswith(",") for line in lines[:-1])
    assert not lines[-1].endswith(",")
    found = dict(re.findall(r"(\w+) = \{(.*)\}", entry[2]))
    assert {"author", "title", "howpublished", "year"} <= set(found)
    names = found["author"].split(" and ")
    assert not any("," in name or "et al" in name for name in names)
    assert len(names) == len(paper.authors.split(", ")) + paper.authors.endswith("et al.")


@pytest.mark.parametrize("experiment", LIBRARY, ids=lambda experiment: experiment.claim.id)
def test_every_work_that_a_claim_names_has_an_entry(experiment):
    """Each author and year in a claim's text is the first author and year of a paper it lists."""
    claim = experiment.claim
    listed = {(paper.authors.split(",")[0].removesuffix(" et al."), str(paper.year)) for paper in claim.papers}
    for text in (claim.title, claim.statement, claim.source, claim.prediction):
        assert set(NAMED.findall(text)) <= listed
