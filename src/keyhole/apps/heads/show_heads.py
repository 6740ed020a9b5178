"""What a checkpoint's heads do on data, as a document: counts of verdicts beside the controls, then a row per head."""

from collections.abc import Mapping
from typing import Any

from keyhole.show.document import Column, Document, Facts, Gap, Grid, Heading, Lines

Record = Mapping[str, Any]
COLUMNS = (  # heading, with sinks or without, statistic
    ("H/log n", "with_sinks", "entropy"),
    ("sink", "with_sinks", "sink"),
    ("H/log n *", "without_sinks", "entropy"),
    ("e^H", "without_sinks", "support"),
    ("max", "without_sinks", "largest"),
    ("self", "without_sinks", "self"),
    ("prev", "without_sinks", "previous"),
    ("next", "without_sinks", "next"),
)


def heads_document(record: Record) -> Document:
    """What the record of the heads says."""
    sizes = record["sizes"]
    facts = [
        ("model", f"{record['source']}, read in the layout: {record['architecture']}"),
        (
            "sizes",
            f"{_count(sizes, 'layer')}, {_count(sizes, 'head')}, rows of width d = {sizes['width']} in this layout",
        ),
        ("data", f"{record['data']}; {_lengths(record)} rows each (a row: a token, a patch or [CLS])"),
        ("queries", _queries(record)),
        ("sinks", f"taken as sinks: {record['sinks']}"),
        ("counting", record["counting"]),
        ("rule", record["rule"]),
        *((name, what) for name, what in record["control_is"].items()),
    ]
    names = list(record["counts"]["trained"])
    counts = Grid(
        (Column("weights"), *(Column(name, "right") for name in names)),
        [(kind, *(str(counted[name]) for name in names)) for kind, counted in record["counts"].items()],
    )
    columns = (
        Column("head"),
        Column("verdict", at_least=12),
        *(Column(heading, "right") for heading, _, _ in COLUMNS),
    )
    rows = [
        (
            f"{head['layer'] + 1}-{head['head'] + 1}",
            _verdict(head),
            *(_short(head[where][name][0]) for _, where, name in COLUMNS),
        )
        for head in record["heads"]
    ]
    note = (
        "head: layer-head, counted from 1. The first two numbers count sinks, those from H/log n * on leave them out. "
        "H/log n: entropy of the attention over that of uniform attention; sink: attention on sinks; e^H: effective "
        "number of tokens attended to; max: largest weight; self, prev, next: attention on the token itself, the one "
        "before and the one after. Numbers are means over inputs; JSON has more statistics, with quantiles. A "
        "verdict such as sink/sparse: sink, and sparse once sinks are taken out."
    )
    return (
        Facts(facts),
        Gap(),
        Heading("heads by verdict, as trained and in the controls"),
        counts,
        Gap(),
        Heading("head by head"),
        Grid(columns, rows),
        Lines(note),
    )


def _count(sizes: Record, name: str) -> str:
    """How many there are."""
    count = sizes[f"{name}s"]
    return f"{count} {name}{'s' * (count != 1)}"


def _lengths(record: Record) -> str:
    """The rows of an input, or from how many to how many."""
    least, most = record["rows"]
    return f"{least}" if least == most else f"{least} to {most}"


def _queries(record: Record) -> str:
    """Which rows are looked at as queries, and what that leaves out."""
    if record["queries"] != "every row":
        return str(record["queries"])
    return "every row, averaged: a model that answers at one row alone, such as [CLS], may attend otherwise from there"


def _verdict(head: Record) -> str:
    first, rest = head["verdict"], head["verdict_without_sinks"]
    return str(first) if first == rest else f"{first}/{rest}"


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
