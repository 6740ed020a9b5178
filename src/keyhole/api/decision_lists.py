"""Heads read as decision lists, for the answers that show them: a record and a picture."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from keyhole.errors import ArgumentError
from keyhole.figure import Axis, Figure, Row
from keyhole.prover.extraction import HeadReading
from keyhole.show.decision_lists import spell_pair

TITLE = "What the head looks at, in the order in which it looks"


def lists_record(heads: Sequence[HeadReading] | None) -> list[dict[str, Any]] | None:
    """The readings as plain values; None where none were asked for."""
    return None if heads is None else [asdict(head) for head in heads]


def lists_figure(heads: Sequence[HeadReading] | None, title: str) -> Figure:
    """How often each pair decides: bars in the order in which they ring; of several heads, a line of cells each."""
    if heads is None:
        raise ArgumentError("The picture of decision lists was asked for, and none were read; ask for them too.")
    rows: list[Row] = []
    for h, head in enumerate(heads):
        for record in asdict(head)["rings"]:
            answer = _sign(record["answer"])
            rows.append(
                {"pair": spell_pair(record), "decides": record["decides"], "answer": answer, "head": f"head {h + 1}"}
            )
        if head.others:
            rows.append({"pair": "rest", "decides": head.others_decide, "answer": "several", "head": f"head {h + 1}"})
    pair, share = Axis("pair", "pair, highest score first", "category"), Axis("decides", "mean attention of the head")
    if len(heads) == 1:
        answer_axis = Axis("answer", "answer", "category")
        return Figure(TITLE, "bars", tuple(rows), pair, share, answer_axis, subtitle=title)
    rows.sort(key=lambda row: row["pair"] == "rest")  # all else after the pairs that some head shows
    pairs, head_axis = Axis("pair", "pair that some head shows", "category"), Axis("head", "head", "category")
    return Figure("What each head looks at", "heatmap", tuple(rows), pairs, head_axis, share, subtitle=title)


def _sign(answer: float) -> str:
    return "above 0" if answer > 0 else "below 0" if answer < 0 else "0"
