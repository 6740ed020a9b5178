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
    return (Grid(COLUMNS, rows), Lines(KINDS))


def claims_document(record: Record) -> Document:
    """Each claim with its prediction, then what no study covers."""
    elements: list[Element] = []
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
