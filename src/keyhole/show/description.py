"""A description as a document: facts in two columns, weights and influences as small bars."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import at_least
from keyhole.show.document import Bars, Document, Facts, Gap
from keyhole.show.folding import shorten

MANY = 12  # rows shown of a long list
ROUNDING = 1e-12  # Fourier weight below it is none
LEAP = "the Fourier terms can be ordered so that none brings in more new positions than that"
FLIPPED = "the chance that flipping one random bit of a uniform input changes the answer"
VERDICTS = {"proved": "yes", "refuted": "no"}

Record = Mapping[str, Any]


def description_document(record: Record) -> Document:
    """What a function is, from the record of a description."""
    weights = [(str(k), weight) for k, weight in enumerate(record["fourier_weight"]) if weight > ROUNDING]
    influences = [(f"x{place}", value) for place, value in record["influences"].items()]
    return (
        Facts(facts(record)),
        *_bars("Fourier weight by degree", weights),
        *_bars("influence by position", influences),
    )


def facts(record: Record) -> list[tuple[str, str]]:
    """The facts and what the theory says, as words."""
    threshold, representation, training = (record[name] for name in ("threshold", "representation", "training"))
    rows = [
        ("formula", shorten(record["formula"])),
        ("positions", shorten(", ".join(map(str, record["positions"])) or "none: the function is constant")),
        ("sparsity", f"s = {record['sparsity']}"),
        (record["rule"], shorten(_rule(record))),
        ("Fourier degree", str(record["degree"])),
        ("sensitivity", _sensitivity(record)),
        ("leap", f"{record['leap']}: {LEAP}"),
        ("symmetric", _symmetry(record)),
        ("monotone", _yes(holds=record["monotone"])),
        ("threshold", f"{VERDICTS.get(threshold['verdict'], 'undecided')}: {threshold['method']}"),
        ("P(1)", f"{record['probability']:.6g} on uniform bits"),
        ("trivial error", f"{record['trivial_error']:.6g}: the error of the better constant answer"),
        ("representation", f"{representation['says']}\n[{representation['source']}]"),
        ("training", f"{training['says']}\n[{training['source']}]"),
    ]
    if record["context"] is not None:
        floor = f"{at_least(record['information_floor'], 4)} samples: with fewer, every learner names some set of s"
        rows.append(("information floor", f"{floor} positions wrongly (T = {record['context']})"))
        rows.append(("sensitivity / T", f"{record['sensitivity_per_position']:.4g}: {FLIPPED}"))
    return rows


def _sensitivity(record: Record) -> str:
    """How many single bits change the answer."""
    average, most = f"{record['sensitivity']:.6g}", record["largest_sensitivity"]
    return f"bits that change the answer if flipped alone: {average} on average over uniform inputs, at most {most}"


def _rule(record: Record) -> str:
    """The levels with what they count, or the table."""
    if record["levels"] is None:
        lowest, highest = (record["positions"][end] for end in (0, -1))
        return (
            f"{record['table']} (answers for 0, 1, 2, … in binary; x{lowest} is the lowest bit, x{highest} the highest)"
        )
    counted = ", ".join(record["literals"] or ())
    return f"{record['levels']}: the answers where 0 to {record['sparsity']} of {counted} are true, in this order"


def _symmetry(record: Record) -> str:
    """Symmetric, symmetric once some bits are negated, or neither."""
    if record["symmetric"] or not record["symmetric_up_to_negation"]:
        return _yes(holds=record["symmetric"])
    return "once some bits are negated"


def _yes(*, holds: bool) -> str:
    return "yes" if holds else "no"


def _bars(title: str, rows: list[tuple[str, float]]) -> Document:
    """A list of numbers with a bar each; the largest ones of a long list, said to be so."""
    if not rows:
        return ()
    shown = rows if len(rows) <= MANY else sorted(sorted(rows, key=lambda row: -row[1])[:MANY], key=rows.index)
    remark = f"(the {MANY} largest of {len(rows)}; the record has all)" if len(rows) > MANY else ""
    largest = max(value for _, value in shown) or 1
    return (Gap(), Bars(title, [(name, f"{value:.4g}", value / largest) for name, value in shown], remark))
