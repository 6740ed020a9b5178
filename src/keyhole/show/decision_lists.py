"""Heads read as decision lists as a document: a short program per head, and what cutting it costs."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.decimals import at_most, brief
from keyhole.show.document import Column, Document, Gap, Grid, Lines

Record = Mapping[str, Any]

STATED = (1, 8, 64)  # depths of cuts that are printed; the record has more
MEANING = (
    "A head's value, the vector that goes to the hidden units, equals the average of a decision list over random "
    "orders of its lines: the first line that applies gives the value. The lines with the most attention are shown, "
    "the highest score first; the last row stands for all others, of any score. next: the chance that this line, or "
    "one of the lines of this row, comes next in the order, after those above it. attention: what the head gives to "
    "this line, or to the lines of this row together, averaged over {law}; it is the chance, over inputs and orders, "
    "that it gives the value, and is computed in floating point, without a proved error. output: that of the model if "
    "this line had all attention of this head, and other heads gave 0; where hidden units bend, these numbers do not "
    "average to the model's output. R: the largest difference between the scores of two symbols at one position. The "
    "errors of a cut list are proved for the head's tables of scores and values; averages are over {law}."
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
        columns = [
            Column(f"head {h + 1} as a decision list"),
            Column("next", "right"),
            Column("attention", "right"),
        ]
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
    output = f"output {brief(ring['answer'])}"
    if ring["symbol"] is None:
        return f"{output} ([CLS], which always applies)"
    if ring["position"] is None:
        return f"{ring['count']} lines, one per other position: if {ring['symbol']}, {output}"
    return f"look at x{ring['position']}: if it is {ring['symbol']}, {output}"


def _rest(head: Record) -> str:
    low, high = head["others_answer"]
    answers = brief(low) if low == high else f"{brief(low)} to {brief(high)}"
    return f"the {head['others']} line{'s' * (head['others'] > 1)} not shown, of any score: outputs {answers}"


def _cuts(head: Record) -> str:
    """What a cut loses, at a few depths, and from where on it is small."""
    deep = [cut for cut in head["cuts"] if cut["depth"] in STATED]
    depths = ", ".join(str(cut["depth"]) for cut in deep)
    every, average = (", ".join(at_most(cut[kind]) for cut in deep) for kind in ("every", "average"))
    small = "is not promised at any depth" if head["depth"] is None else f"is promised from {head['depth']} lines on"
    lines = sum(ring["count"] for ring in head["rings"]) + head["others"]
    return (
        f"R = {at_most(head['spread'], 4)}. If each order of the {lines:,} lines is cut after {depths} lines, the "
        f"head's value is off by at most {every} of its largest value on every input, and by at most {average} of it "
        f"on average over inputs. An error of at most 0.01 {small}."
    )
