"""Heads read as decision lists, for the answers that show them: a record and a picture."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from keyhole.certifier.read import HeadReading
from keyhole.errors import ArgumentError
from keyhole.figure import Axis, Figure, Row
from keyhole.show.decision_lists import spell_pair


def lists_record(heads: Sequence[HeadReading] | None) -> list[dict[str, Any]] | None:
    """The readings as plain values; None where none were asked for."""
    return None if heads is None else [asdict(head) for head in heads]


def lists_figure(heads: Sequence[HeadReading] | None, title: str) -> Figure:
    """How often each pair decides, in the order in which they ring, coloured by the sign of its answer."""
    if heads is None:
        raise ArgumentError("The picture of decision lists was asked for, and none were read; ask for them too.")
    several = len(heads) > 1
    rows: list[Row] = []
    for h, head in enumerate(heads):
        for record in asdict(head)["rings"]:
            name = f"{f'{h}: ' if several else ''}{spell_pair(record)}"
            rows.append({"pair": name, "decides": record["decides"], "answer": _sign(record["answer"])})
        if head.others:
            name = f"{f'{h}: ' if several else ''}rest"
            rows.append({"pair": name, "decides": head.others_decide, "answer": "several"})
    return Figure(
        title="What a head looks at, in the order in which it looks",
        kind="bars",
        rows=tuple(rows),
        x=Axis("pair", "head: pair, highest score first" if several else "pair, highest score first", "category"),
        y=Axis("decides", "share of inputs it decides"),
        colour=Axis("answer", "answer", "category"),
        subtitle=title,
    )


def _sign(answer: float) -> str:
    return "above 0" if answer > 0 else "below 0" if answer < 0 else "0"
