"""Learning curves as documents."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import percent
from keyhole.show.certificate import certificate_document
from keyhole.show.document import Column, Document, Element, Gap, Grid, Lines

Record = Mapping[str, Any]

ROWS = (
    "training rows: of the two thirds of the table that a split does not hold out; accuracy: on the third held out, "
    "mean over {splits} splits; interval: of the accuracy on new rows"
)
IRRELEVANT = "irrelevant: how many of the columns were appended as shuffled copies of others"


def curve_document(record: Record) -> Document:
    """The table, the curve of each learner, and what the accuracy takes."""
    share = record["share"]
    elements: list[Element] = [
        Lines(
            f"predicting {record['target']} = {record['positive']}: {record['rows']:,} rows of "
            f"{record['columns']:,} columns besides the target"
        ),
        Lines(f"a constant answer is right on {percent(max(share, 1 - share))} of rows"),
    ]
    for name, curves in record["learners"].items():
        elements += [Gap(), Lines(f"by {name}"), _curve(curves[0], record["confidence"]), *_needed(curves, record)]
    elements.insert(2, Lines(ROWS.format(splits=next(iter(record["learners"].values()))[0]["points"][0]["splits"])))
    if record["certificate"] is not None:
        elements += [Gap(), Lines("a transformer trained on the bits of every row, certified")]
        elements += certificate_document(record["certificate"])
    return tuple(elements)


def _curve(curve: Record, confidence: float) -> Element:
    columns = [
        Column("training rows", "right"),
        Column("accuracy", "right"),
        Column(f"{100 * confidence:.4g} % interval"),
    ]
    rows = [
        (f"{point['rows']:,}", percent(a["value"]), f"{percent(a['low'])} to {percent(a['high'])}")
        for point in curve["points"]
        for a in [point["accuracy"]]
    ]
    return Grid(columns, rows)


def _needed(curves: list[Record], record: Record) -> list[Element]:
    """How many rows the accuracy takes, with no and with some irrelevant columns."""
    if record["accuracy"] is None and len(curves) == 1:
        return []
    last = [f"{curve['columns']:,} columns: {percent(curve['points'][-1]['accuracy']['value'])}" for curve in curves]
    if record["accuracy"] is None:
        return [Lines(f"with {curves[0]['points'][-1]['rows']:,} rows and {', '.join(last)}")]
    rows = [(f"{curve['columns']:,}", f"{curve['irrelevant']:,}", _rows(curve)) for curve in curves]
    columns = [Column("columns", "right", at_least=8), Column("irrelevant", "right")]
    columns.append(Column(f"rows needed ({100 * record['confidence']:.4g} % interval)"))
    lines: list[Element] = [Lines(f"rows for an accuracy of {record['accuracy']:.4g}"), Grid(columns, rows)]
    if record["accuracy"] <= max(record["share"], 1 - record["share"]):
        lines.append(Lines("a constant answer reaches this accuracy without a row to learn from"))
    return [Gap(), *lines, Lines(IRRELEVANT)]


def _rows(curve: Record) -> str:
    """The rows needed and their interval; or that they are more than there are."""
    most, needed = curve["points"][-1]["rows"], curve["rows_needed"]
    if needed is None:
        return f"not reached with {most:,}"
    least = curve["points"][0]["rows"]
    value, low = (f"≤ {least:,}" if needed[name] <= least else f"{needed[name]:.4g}" for name in ("value", "low"))
    high = f"more than {most:,}" if needed["high"] is None else f"{needed['high']:.4g}"
    return f"{value} ({low} to {high})" if needed["high"] != least else f"{value}: the fewest rows tried reach it"
