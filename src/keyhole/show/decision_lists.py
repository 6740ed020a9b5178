"""Heads read as decision lists as a document: a short program per head, and what cutting it costs."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.decimals import at_most, brief
from keyhole.show.document import Column, Document, Gap, Grid, Lines

Record = Mapping[str, Any]

STATED = (1, 8, 64)  # depths of cuts that are printed; the record has more
MEANING = (
    "A head is the average of such lists over random orders of their lines. Errors of a cut are in units of the head's "
    "largest value, and promised of its tables of scores and values. Averages are over {law}. comes next: the chance "
    "that this line follows those above it. decides: the share of inputs on which this line gives the answer, computed "
    "and not promised. answer: the output of the model where this pair has all attention of this head, and other heads "
    "give 0. R: the spread of the scores over the symbols of one position."
)


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
        columns = [Column(f"head {h} as a list"), Column("comes next"), Column("decides")]
        parts += [Gap(), Grid(columns, rows), Lines(_cuts(head))]
    return (*parts, Gap(), Lines(MEANING.format(law=law)))


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
    return f"otherwise go on with {head['others']} other pair{'s' * (head['others'] > 1)}: answers {answers}"


def _cuts(head: Record) -> str:
    """What a cut loses, at a few depths, and from where on it is small."""
    deep = [cut for cut in head["cuts"] if cut["depth"] in STATED]
    depths = ", ".join(str(cut["depth"]) for cut in deep)
    every, average = (", ".join(at_most(cut[kind]) for cut in deep) for kind in ("every", "average"))
    small = "is not promised at any depth" if head["depth"] is None else f"is promised from {head['depth']} lines on"
    return (
        f"R = {at_most(head['spread'], 4)}. Cut after {depths} lines the head is off by at most {every} on every "
        f"input, and by at most {average} on average. An error of 0.01 {small}."
    )
