"""The claims as documents: each with its prediction, and each with its verdict."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.show.document import Column, Document, Element, Gap, Grid, Heading, Lines, Tone

Record = Mapping[str, Any]

TONES: dict[str, Tone] = {"holds": "good", "holds with a caveat": "mild", "fails here": "bad"}
KINDS = (
    "measurement, replication: it could have come out otherwise. identity, inequality: it has a proof, and fails only "
    "by a mistake in the code"
)
TOLD = (
    "Each claim: its name, what it says (and its kind), what was predicted before it was measured, and what would make "
    "it fail. A result between the two leaves it undecided."
)
FEW = 5  # findings whose claims are said in full
ELSEWHERE = "the page says what each claim states"
COLUMNS = (
    Column("claim", gap=1),
    Column("kind", gap=1),
    Column("verdict", tones=TONES, gap=1),
    Column("seconds", "right"),
)


def findings_document(findings: Sequence[Record]) -> Document:
    """A row per finding: evidence first, then what is proved."""
    rows = [
        (finding["claim"]["id"], finding["claim"]["kind"], finding["outcome"]["verdict"], f"{finding['seconds']:.1f}")
        for finding in sorted(findings, key=lambda finding: bool(finding["proved"]))
    ]
    titles = {finding["claim"]["id"]: finding["claim"]["title"] for finding in findings}
    said = [Lines(f"{name}: {titles[name]}") for name, *_ in rows] if len(rows) <= FEW else [Lines(ELSEWHERE)]
    return (Grid(COLUMNS, rows), *said, Lines(KINDS))


def claims_document(record: Record) -> Document:
    """Each claim with its prediction, then what no study covers."""
    elements: list[Element] = [Lines(TOLD, hang=0), Gap()]
    for claim in record["claims"]:
        elements += [
            Heading(claim["id"]),
            Lines(f"    {claim['title']} ({claim['kind']})", hang=0),
            Lines(f"    predicts: {claim['prediction']}", hang=0),
            Lines(f"    would make it fail: {claim['could_fail']}", hang=0),
            Gap(),
        ]
    not_covered = (Lines(f"    {name}: {why}", hang=0) for name, why in record["not_covered"])
    return (*elements, Heading("not covered yet"), *not_covered)
