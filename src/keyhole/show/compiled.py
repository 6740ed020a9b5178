"""A compiled function as a document: what was made, what was proved, the norms beside the theorem's figures."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import at_least, at_most, margin
from keyhole.show.document import Document, Facts
from keyhole.show.folding import shorten

Record = Mapping[str, Any]

RIVALS = "(P_∞: path norm; R: spread of the scores; after each rival's name its P_∞ and its number of units)"
DIGITS = 17  # enough to tell any two doubles apart


def compiled_document(record: Record) -> Document:
    """What was made and what was shown of it."""
    context = record["context"]
    size = f"{_count(record['heads'], 'head')}, {_count(record['width'], 'unit')}, dimension {record['dimension']}"
    scale = (
        f"{record['logit_scale']:.6g}; at least {at_least(record['logit_floor'], 6)} is needed at these output norms"
    )
    rows = [
        ("function", shorten(record["function"])),
        ("context", f"T = {context}"),
        ("construction", shorten(record["why"], 400)),
        ("", RIVALS),
        ("size", size),
        ("certificate", f"PROVED on all 2^{context} inputs: margin {margin(record['margin'])}"),
        ("", f"method: {record['method']}; the output is off by at most {at_most(record['error'], 2)}"),
        ("leak", f"at most {at_most(record['leak'], 9)} of the attention lies off the relevant positions"),
        ("logit scale", scale),
    ]
    rows += [(name, _norm(value, record["theorem"].get(name))) for name, value in record["norms"].items()]
    rows += [
        (name.replace(" stored, ", " / ").removesuffix(" summed"), verdict_words(verdict))
        for name, verdict in record["rounding"].items()
    ]
    rows.append(("formats assume", record["rounding_assumes"]))
    return (Facts(rows),)


def verdict_words(verdict: Record) -> str:
    """What became of the signs in one pair of number formats."""
    if verdict["outcome"] == "proved":
        bound, least = verdict["bound"], verdict["margin"]
        digits = 3  # and more where the two are so near that rounding them apart would turn them round
        while float(at_most(bound, digits)) >= float(margin(least, digits)) and digits < DIGITS:
            digits += 1
        return f"signs proved: rounding bound {at_most(bound, digits)} < margin {margin(least, digits)}"
    if verdict["outcome"] == "refuted":
        return f"refuted: wrong on {verdict['counterexample']}"
    if not verdict["tried"]:
        return "only tried, on no input: each position has its own logit, and there are too many to add up"
    return f"only tried: {verdict['tried']} inputs right, output off by up to {at_most(verdict['deviation'] or 0.0)}"


def _norm(value: float, stated: Record | None) -> str:
    """A norm, beside what the construction's theorem says of it, if anything."""
    figure = (
        ""
        if stated is None
        else f"   theorem: {stated['relation']} {_theorem_figure(stated['value'], stated['relation'])}"
    )
    return f"{value:<12.6g}{figure}".rstrip()


def _theorem_figure(value: float, relation: str) -> str:
    """A theorem's figure in six digits: a bound to its safe side, an equal number to the nearest."""
    return at_most(value, 6) if relation == "≤" else at_least(value, 6) if relation == "≥" else f"{value:.6g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
