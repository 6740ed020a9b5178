"""Heads read as decision lists: how answers print them."""

from collections.abc import Sequence

from keyhole.decimals import at_most, brief
from keyhole.prover.extraction import HeadReading, Ring
from keyhole.show.answer import Show

STATED = (1, 8, 64)  # depths of cuts that are printed
MEANING = (
    "A head's value equals the average of a decision list over random orders of its lines: the first line that applies "
    "gives the value. The lines with the most attention are shown, the highest score first. next: the chance that this "
    "line, or one of the lines of this row, comes next in the order, after those above it. attention: the head's "
    "attention on this line, averaged over {law}; it is computed in floating point, without a proved error. output: "
    "that of the model if this line had all attention of this head, and other heads gave 0. R: the largest difference "
    "between the scores of two symbols at one position. The errors of a cut list are proved for the head's tables of "
    "scores and values."
)


def say_lists(show: Show, heads: Sequence[HeadReading], law: str) -> None:
    """Set each head's first lines as a table, and what it loses if it is cut."""
    for number, head in enumerate(heads, 1):
        rows = [
            (f"{'otherwise ' if i else ''}{_line(ring)}", f"{ring.following:.3g}", f"{ring.decides:.3g}")
            for i, ring in enumerate(head.rings)
        ]
        if head.others_answer is not None:
            low, high = map(brief, head.others_answer)
            outputs = low if low == high else f"{low} to {high}"
            rest = f"the {head.others} line{'s' * (head.others > 1)} not shown, of any score: outputs {outputs}"
            rows.append((rest, "", f"{head.others_decide:.3g}"))
        show.line()
        show.table({f"head {number} as a decision list": "<", "next": ">", "attention": ">"}, rows)
        small = "is not promised at any depth" if head.depth is None else f"is promised from {head.depth} lines on"
        show.line(f"R = {at_most(head.spread, 4)}. If the list is cut, an error of at most 0.01 {small}.")
        if show.verbose:
            cuts = [cut for cut in head.cuts if cut.depth in STATED]
            show.table(
                {"cut after": ">", "error on every input": ">", "on average": ">"},
                [(str(cut.depth), at_most(cut.every), at_most(cut.average)) for cut in cuts],
            )
    if show.verbose:
        show.line(MEANING.format(law=law))


def _line(ring: Ring) -> str:
    output = f"output {brief(ring.answer)}"
    if ring.symbol is None:
        return f"{output} ([CLS], which always applies)"
    if ring.position is None:
        return f"{ring.count} lines, one per other position: if {ring.symbol}, {output}"
    return f"look at x{ring.position}: if it is {ring.symbol}, {output}"
