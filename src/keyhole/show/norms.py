"""Path norms of functions as a document: a line per function, and which class each column is about."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import at_least, at_most
from keyhole.show.document import Column, Document, Grid, Lines
from keyhole.show.folding import shorten

DIGITS = 6
NONE = "–"
NOTES = {
    "built": "of the cheapest construction A (its name beside), times 1 − γ.",
    "least": "the smallest for one head with R = 0 and equal attention on the relevant bits, times 1 − γ; construction "
    "`least` reaches it.",
    "bound": "a proved lower bound for such heads, times 1 − γ.",
    "layer": "a proved lower bound for every ReLU layer with R = 0 and no residual path, for any number of heads, "
    "any attention and any context.",
    "sign": "the same, where the output needs only the right sign and a size of at least 1.",
    "veto": "of the veto, whose scores depend on the symbol (R > 0), so that the bounds do not apply to it.",
}
ABOUT = (
    "Every number is, or bounds, a path norm P_∞: the sum over hidden units of |read-out weight| times the unit's "
    "largest |value| of a token. R: the largest difference between the scores of two symbols at one position. γ: the "
    "leak, the share of attention off the relevant bits; times 1 − γ a norm is the same for every leak. –: does not "
    "apply."
)
OUTPUTS = {"signs": "1 and −1", "bits": "1 and 0"}


def norms_document(record: Mapping[str, Any]) -> Document:
    """What is built, what is least and what is proved, from the record of the norms."""
    signs = record["output"] == "signs"
    headings = ["function", "built", "least", "bound", "layer", *(["sign"] if signs else []), "veto"]
    rows = [
        [
            shorten(row["function"], 40),
            _built(row),
            _rounded(row["least"], at_most),
            _rounded(row["least_bound"], at_least),
            _rounded(row["any_bound"], at_least),
            *([_rounded(row["margin_bound"], at_least)] if signs else []),
            _rounded(row["veto"], at_most),
        ]
        for row in record["functions"]
    ]
    priced = max(row["priced"] for row in record["functions"])
    lines = [ABOUT, *(f"{heading}: {NOTES[heading]}" for heading in headings[1:])]
    lines.append(
        f"Outputs are {OUTPUTS[record['output']]}. Norms are rounded up and bounds down. Bounds are proved by "
        f"checking every hidden unit that can matter, at most {priced} for a function."
    )
    return (Grid([Column(heading) for heading in headings], rows), Lines("\n".join(lines)))


def _built(row: Mapping[str, Any]) -> str:
    return NONE if row["built"] is None else f"{_rounded(row['built'], at_most)} {row['construction']}"


def _rounded(number: float | None, side: Any) -> str:
    """A number to its safe side; one that is whole but for rounding in its last places, as the side has it."""
    return NONE if number is None else str(side(number, DIGITS))
