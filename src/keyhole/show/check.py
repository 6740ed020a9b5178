"""A check of a model file as a document: whether it is as claimed, then every look at it."""

from collections.abc import Mapping
from typing import Any

from keyhole.show.document import Document, Facts


def check_document(record: Mapping[str, Any]) -> Document:
    """Whether the file is as claimed, and what each look at it says."""
    looks = record["inspections"]
    failed = sum(not look["holds"] for look in looks)
    claimed = f"as claimed: it passed all {len(looks)} checks"
    if failed:
        claimed = f"NOT as claimed: it failed {failed} of {len(looks)} checks"
    rows = [(look["name"], f"{'passed' if look['holds'] else 'FAILED'}: {look['says']}") for look in looks]
    return (Facts([("file", f"{record['file']} is {claimed}"), *rows]),)
