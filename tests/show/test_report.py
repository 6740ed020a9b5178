"""The report is one page that needs nothing else, and shows every finding."""

import re
from xml.etree import ElementTree as ET

import pytest

from keyhole.claims.finding import Claim, Finding, Outcome
from keyhole.claims.ledger import LIBRARY
from keyhole.figure import Axis, Figure
from keyhole.papers import EDELMAN_2022
from keyhole.show.mathml import to_mathml
from keyhole.show.report import render, write_report

WEIGHTS = Figure(
    "Weights",
    "bars",
    tuple({"k": k, "w": k / 3} for k in range(1, 4)),
    Axis("k", "degree", "category"),
    Axis("w", "weight"),
)


def finding(name, kind, verdict="holds", **outcome):
    """The record of a finding with little in it."""
    claim = Claim(
        id=name, title=f"The claim {name}", statement="It is <so> & more.", formula=r"a\le b", kind=kind,
        source="keyhole", prediction="it holds", could_fail="if not", papers=(EDELMAN_2022,),
    )  # fmt: skip
    seen = Outcome(
        **{"verdict": verdict, "measurement": "seen </script>", "numbers": {"x": 1.5}, "interval": "none", **outcome}
    )
    return Finding(claim, seen, "0123", "quick", 7, 0.5, {"numpy": "2"}).record()


FINDINGS = (
    finding("alpha", "measurement", figures=(WEIGHTS, WEIGHTS)),
    finding("beta", "inequality", "holds with a caveat", caveats=("only here",), figures=(WEIGHTS,)),
    finding("gamma", "identity", "fails here"),
    finding("delta", "replication", "undecided at this scale"),
)
REFERENCES = {EDELMAN_2022.key: EDELMAN_2022.bibtex}


def test_evidence_and_proof_stand_apart():
    """Measurements and replications come under Evidence, the rest under Proved and checked."""
    page = render(FINDINGS, [("a thing", "why")], REFERENCES)
    evidence, proved = page.split("<h2>Evidence</h2>")[1].split("<h2>Proved and checked</h2>")
    assert re.findall(r'<article id="(\w+)"', evidence) == ["alpha", "delta"]
    assert re.findall(r'<article id="(\w+)"', proved) == ["beta", "gamma"]


def test_what_is_not_measured_here_counts_neither_way():
    """It stands apart, whatever its kind, and in neither count."""
    findings = (*FINDINGS, finding("epsilon", "measurement", "not measured here"))
    page = render(findings, [], REFERENCES)
    assert "2 measured, 2 proved and checked, 1 not measured here." in " ".join(page.split())
    measured, absent = page.split("<h2>Not measured here</h2>")
    assert '<article id="epsilon"' not in measured
    assert re.findall(r'<article id="(\w+)"', absent) == ["epsilon"]
    assert "<h2>Not measured here</h2>" not in render(FINDINGS, [], REFERENCES)


def test_everything_is_shown_and_escaped():
    """Statement, prediction, verdict, caveat, command, seed, numbers and references stand on the page, as text."""
    page = render(FINDINGS, [("a thing", "why not")], REFERENCES)
    for text in (
        "It is &lt;so&gt; &amp; more.", "it holds", "if not", "only here", "seen &lt;/script&gt;", "fails here",
        "undecided at this scale", "keyhole reproduce --only alpha --scale quick --seed 7", "seed 7", "1.5", "why not",
        "@misc{edelman2022inductive",
    ):  # fmt: skip
        assert text in page, text
    assert page.count("<math") == len(FINDINGS)


def test_page_names_nothing_outside():
    """No element refers to another file or host; every link leads to a place on the page."""
    outside = re.sub(r"(?s)(<script[^>]*>).*?</script>", r"\1", render(FINDINGS, [], REFERENCES))
    assert not re.findall(r"<[^>]+\ssrc\s*=", outside)
    links = [link for link in re.findall(r'\shref="([^"]*)"', outside) if link != "data:,"]
    assert links
    assert all(f'id="{link[1:]}"' in outside for link in links)


@pytest.mark.parametrize("experiment", LIBRARY, ids=lambda experiment: experiment.claim.id)
def test_every_formula_is_mathml(experiment):
    """The ledger's formulas convert to well-formed MathML with nothing left of LaTeX."""
    text = "".join(ET.fromstring(to_mathml(experiment.claim.formula)).itertext())  # noqa: S314  (our own)
    assert text.strip()
    assert "\\" not in text


def test_files_beside_the_page(tmp_path):
    """The folder holds the page, the findings and every figure in three formats."""
    page = write_report(FINDINGS, [], REFERENCES, tmp_path)
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    figures = {
        f"figures/{name}.{ending}" for name in ("alpha-1", "alpha-2", "beta") for ending in ("svg", "png", "csv")
    }
    assert names == {"index.html", "findings.json", *figures}
    assert page == tmp_path / "index.html"


def test_the_same_findings_are_not_written_again(tmp_path):
    """A second report of the same findings leaves the files alone; other findings replace them."""
    page = write_report(FINDINGS[2:], [], REFERENCES, tmp_path)
    page.write_text("kept")
    assert write_report(FINDINGS[2:], [], REFERENCES, tmp_path).read_text() == "kept"
    assert "The claim delta" in write_report(FINDINGS[3:], [], REFERENCES, tmp_path).read_text()
