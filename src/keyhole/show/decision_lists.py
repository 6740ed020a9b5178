"""Heads read as decision lists as a document: a short program per head, and what cutting it costs."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.decimals import at_most, brief
from keyhole.show.document import Column, Document, Gap, Grid, Lines

Record = Mapping[str, Any]


def lists_document(heads: Sequence[Record], law: str) -> Document:
    """Each head's program, its first lines, and the promises of cutting it."""
    parts: list[Any] = []
    for h, head in enumerate(heads):
        rows = [
            (f"{'otherwise ' if i else ''}{_line(ring)}", f"{ring['following']:.3g}", f"{ring['decides']:.3g}")
            for i, ring in enumerate(head["rings"])
        ]
        if head["others"]:
            rows.append((_rest(head), "", f"{head['others_decide']:.3g}"))
        columns = [Column(f"head {h} as a list"), Column("rings next"), Column("decides")]
        parts += [Gap(), Grid(columns, rows), Lines(_cuts(head, law))]
    return tuple(parts)


def spell_pair(ring: Record) -> str:
    """A pair of position and symbol in a few characters."""
    if ring["symbol"] is None:
        return "[CLS]"
    if ring["position"] is None:
        return f"others={ring['symbol']}"
    return f"x{ring['position']}={ring['symbol']}"


def _line(ring: Record) -> str:
    answer = f"answer {brief(ring['answer'])}"
    if ring["symbol"] is None:
        return answer
    if ring["position"] is None:
        return f"look at one of {ring['count']} others: if it is {ring['symbol']}, {answer}"
    return f"look at x{ring['position']}: if it is {ring['symbol']}, {answer}"


def _rest(head: Record) -> str:
    low, high = head["others_answer"]
    answers = brief(low) if low == high else f"{brief(low)} to {brief(high)}"
    return f"otherwise go on with {head['others']} other pairs: answers {answers}"


def _cuts(head: Record, law: str) -> str:
    """What a cut loses, at the depth of the lines shown and where it is small."""
    deep = [cut for cut in head["cuts"] if cut["depth"] in (1, 8, 64)]
    stated = "; ".join(
        f"after {cut['depth']} ring{'s' * (cut['depth'] > 1)} at most {at_most(cut['every'])} on every input and "
        f"{at_most(cut['average'])} on average"
        for cut in deep
    )
    small = "not to be promised" if head["depth"] is None else f"promised from {head['depth']} rings on"
    return (
        f"The head is the average of such lists over random orders, R = {at_most(head['spread'], 4)}. Cut short, it "
        f"is off, in units of its largest value: {stated}. An error of 0.01 is {small}. The average is over {law}; how "
        "often a pair decides is computed, not promised."
    )
