"""Scores of attributions as a document: a line per model, and the average where there are several."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from keyhole.show.document import Column, Document, Grid, Lines

FEW = 5  # names of a long list that are shown
MEASURES = {"precision": "precision", "recall": "recall", "auc": "AUC", "auc_per_input": "AUC per input"}


COLUMNS = (
    "precision, recall: of the positions ranked first by mean size of attribution, as many as are relevant unless "
    "another number was asked for. AUC: how often a relevant position ranks above another; AUC per input: the same "
    "within each input, then averaged"
)


def scores_document(record: Mapping[str, Any]) -> Document:
    """How well the relevant positions were found, from the record of the scores."""
    rows = [
        (PurePath(model["file"]).stem, *(_with_interval(model["score"][measure]) for measure in MEASURES))
        for model in record["models"]
    ]
    if len(rows) > 1:
        rows.append(("average", *(f"{record['mean'][measure]:.2f}" for measure in MEASURES)))
    first = record["models"][0]["score"]
    columns = [Column("model"), *(Column(heading, at_least=14) for heading in MEASURES.values())]
    note = f"intervals: 95 %, from {first['resamples']} resamples of the inputs, seed {first['seed']}"
    return (Grid(columns, rows), Lines(COLUMNS), Lines(note), *_missing(record))


def _missing(record: Mapping[str, Any]) -> Document:
    """A line where the folder lacked models of the key: the average is over those it had."""
    missing = record["missing"]
    if not missing:
        return ()
    some = ", ".join(missing[:FEW]) + (", …" if len(missing) > FEW else "")
    whole = len(missing) + len(record["models"])
    return (Lines(f"no attributions to {len(missing)} of the {whole} models of the key: {some}"),)


def _with_interval(number: Mapping[str, float]) -> str:
    return f"{number['value']:.2f} {number['low']:.2f}–{number['high']:.2f}"
