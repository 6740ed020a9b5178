"""What a plan came to as a document: each sweep, its verdict, and what was predicted of the longest context."""

from collections.abc import Mapping
from typing import Any

from keyhole.show.document import Column, Document, Element, Gap, Grid, Lines
from keyhole.show.sample_complexity import sample_complexity_document

Record = Mapping[str, Any]


def plan_document(record: Record) -> Document:
    """The plan by its hash, then sweep by sweep."""
    elements: list[Element] = [Lines(record["summary"]), Lines(f"plan {record['hash']}")]
    for name, answer in record["answers"].items():
        elements += [Gap(), Lines(f"{name}{_standing(record['unfinished'][name], answer)}")]
        elements += sample_complexity_document(answer) if answer["runs"] else []
        elements += _predicted(record["predictions"].get(name, []), answer)
    return tuple(elements)


def _standing(left: list[int], answer: Record) -> str:
    """What is still to be run."""
    if not left:
        return ""
    done = [threshold["context"] for threshold in answer["thresholds"]]
    reached = f"under way, to T = {max(done)}, undecided so far" if done else "no context finished"
    return f": {reached}; still to be run: T = {', '.join(map(str, left))}"


def _predicted(found: list[Record], answer: Record) -> list[Element]:
    """The longest context as each law predicts it from the others."""
    if not found:
        return []
    longest = max(answer["thresholds"], key=lambda prediction: prediction["context"])
    measured = f"{longest['m']:.4g} ({longest['low']:.4g} to {longest['high']:.4g})"
    columns = [
        Column("law", at_least=16),
        Column("predicted", "right"),
        Column("90 % interval"),
        Column("off by, in standard errors", "right"),
    ]
    rows = [
        (prediction["formula"], f"{p['value']:.4g}", f"{p['low']:.4g} to {p['high']:.4g}", f"{prediction['off']:+.1f}")
        for prediction in found
        for p in [prediction["predicted"]]
    ]
    return [Gap(), Lines(f"T = {longest['context']} held out: m* = {measured} was measured"), Grid(columns, rows)]
