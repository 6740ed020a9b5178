"""A suite of certified models as a document: what each computes, how it is built, and what was put in its way."""

from collections.abc import Mapping
from typing import Any

from keyhole.show.document import Column, Document, Grid, Lines
from keyhole.show.folding import abbreviate

LONGEST = 30  # letters of a formula
COLUMNS = (
    Column("file"),
    Column("family"),
    Column("formula"),
    Column("construction"),
    Column("distractors", "right"),
)


def suite_document(record: Mapping[str, Any]) -> Document:
    """The models with their answers, from the record of a suite, which is its answer key."""
    models = record["models"]
    rows = [
        (
            model["file"].partition(".")[0],
            model["family"],
            abbreviate(model["formula"], LONGEST),
            abbreviate(model["construction"], LONGEST),
            str(len(model["distractors"])),
        )
        for model in models
    ]
    note = f"{len(models)} certified models of context T = {record['context']}, seed {record['seed']}"
    return (Lines(note), Grid(COLUMNS, rows))
