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
        ("model", f"{record['source']} ({record['architecture']})"),
        ("sizes", f"{sizes['layers']} layers, {sizes['heads']} heads, d = {sizes['width']}"),
        ("data", f"{record['data']}, {record['rows'][0]} to {record['rows'][1]} rows each"),
        ("queries", record["queries"]),
        ("sinks", record["sinks"]),
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
        "before and the one after. Numbers are means over inputs; JSON has more statistics, with quantiles. Of a "
        "verdict with two words the second is without sinks."
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


def _verdict(head: Record) -> str:
    first, rest = head["verdict"], head["verdict_without_sinks"]
    return str(first) if first == rest else f"{first}/{rest}"


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
