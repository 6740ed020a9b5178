"""A compiled function as a document: what was made, what was proved, the norms beside the theorem's figures."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import at_least, at_most, margin
from keyhole.show.document import Document, Facts
from keyhole.show.folding import shorten

Record = Mapping[str, Any]

COMPARED = (
    "(P_∞: a path norm, see norms below. Units: hidden units. R: the largest difference between the scores of two "
    "symbols at one position; 0 if not stated. Unless asked otherwise, the construction with the smallest "
    "generalisation bound by Theorem T is taken, which grows with P_∞ and R. A: a coordinate for each position and "
    "symbol; B: token plus position; B′: a head for each position; V: veto, one false literal takes the attention; L: "
    "the least P_∞ of one head with R = 0. The number says for which functions: A1, B2 any; A2, V1 and; A3, V2 or; A4 "
    "a threshold of a count; A5, B1 symmetric.)"
)
TARGETS = {"signs": ("1 or −1", "0"), "bits": ("1 or 0", "0.5")}  # the two outputs, and the threshold between them
NORMS = {  # the names of the record, in words
    "score_frobenius": "M, Frobenius",
    "score_21": "M, by columns",
    "score_transposed_21": "M, by rows",
    "value_spectral": "W_V, spectral",
    "value_21": "W_V, by columns",
    "value_frobenius": "W_V, Frobenius",
    "readout": "read-out, ℓ2",
    "path": "path norm P",
    "path_inf": "path norm P_∞",
}
RELATIONS = {"=": "exactly", "≤": "at most", "≥": "at least"}
MEASURED = (
    "M is the score matrix, W_V the value matrix. By columns (rows): the sum of the ℓ2 lengths of the columns (rows). "
    "P: the sum over hidden units of |read-out weight| times the ℓ2 length of the unit's column of W_V; P_∞: the same "
    "with the unit's largest |value| of a token. Theorem: what the theorem on this construction says of the norm."
)
FORMATS = (
    "whether every sign stays right in floating point; a / b: numbers stored in a, sums made in b; the rounding bound "
    "leaves out what only scales the output, since that keeps its sign"
)
LEAK = "lies off the relevant positions; the proof allows for it"
DIGITS = 17  # enough to tell any two doubles apart


def compiled_document(record: Record) -> Document:
    """What was made and what was shown of it."""
    context = record["context"]
    width, dimension = _count(record["width"], "hidden unit"), record["dimension"]
    size = f"{_count(record['heads'], 'head')}, {width}, embedding dimension {dimension}"
    scale = (
        f"the attention scores span {record['logit_scale']:.6g}, from the least to the largest; a model with this "
        "margin and with values and a read-out of these sizes needs a span of at least "
        f"{at_least(record['logit_floor'], 6)}"
    )
    target, threshold = TARGETS[record["output"]]
    proof = (
        f"by cases: {record['method']}. The output should be {target}, and is off by at most "
        f"{at_most(record['error'], 2)}. Margin: the least distance of an output from the threshold {threshold}, "
        "rounded down"
    )
    rows = [
        ("function", shorten(record["function"])),
        ("context", f"T = {context}"),
        ("construction", shorten(record["why"], 400)),
        ("", COMPARED),
        ("size", size),
        ("certificate", f"PROVED: right on all 2^{context} inputs, with margin {margin(record['margin'])}"),
        ("proof", proof),
        ("leak", f"at most {at_most(record['leak'], 9)} of a head's attention {LEAK}"),
        ("scores", scale),
        ("norms", MEASURED),
    ]
    rows += [(NORMS[name], _norm(value, record["theorem"].get(name))) for name, value in record["norms"].items()]
    rows.append(("formats", FORMATS))
    rows += [
        (name.replace(" stored, ", " / ").removesuffix(" summed"), verdict_words(verdict))
        for name, verdict in record["rounding"].items()
    ]
    rows.append(("assumed", record["rounding_assumes"]))
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
        return "neither proved nor tried: each position has its own score, and there are too many to add up"
    deviation = at_most(verdict["deviation"] or 0.0)
    return f"not proved: {verdict['tried']} inputs were tried and are right, with an output off by up to {deviation}"


def _norm(value: float, stated: Record | None) -> str:
    """A norm, beside what the construction's theorem says of it, if anything."""
    figure = (
        ""
        if stated is None
        else f"   theorem: {RELATIONS[stated['relation']]} {_theorem_figure(stated['value'], stated['relation'])}"
    )
    return f"{value:<12.6g}{figure}".rstrip()


def _theorem_figure(value: float, relation: str) -> str:
    """A theorem's figure in six digits: a bound to its safe side, an equal number to the nearest."""
    return at_most(value, 6) if relation == "≤" else at_least(value, 6) if relation == "≥" else f"{value:.6g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
