"""A check of a model file as a document: whether it is as claimed, then every look at it."""

from collections.abc import Mapping
from typing import Any

from keyhole.show.document import Document, Facts


def check_document(record: Mapping[str, Any]) -> Document:
    """Whether the file is as claimed, and what each look at it says."""
    claimed = "as claimed" if record["holds"] else "NOT as claimed"
    rows = [
        (look["name"], f"{'holds' if look['holds'] else 'FAILS'}: {look['says']}") for look in record["inspections"]
    ]
    return (Facts([("file", f"{record['file']}: {claimed}"), *rows]),)
