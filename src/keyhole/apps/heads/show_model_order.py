"""What moving its rows does to a model, as a document."""

from collections.abc import Mapping
from typing import Any

from keyhole.show.document import Document, Facts, Gap, Lines

Record = Mapping[str, Any]


def model_order_document(record: Record) -> Document:
    """The answer, then a line per question."""
    context = record["context"]
    stays = "the last row" if context is None else f"a row after the context of {context} (it sees that alone)"
    facts = [
        ("model", f"{record['source']} ({record['architecture']})"),
        ("data", record["data"]),
        (
            "knows places by",
            {"none": "nothing", "learned": "a table of positions"}.get(record["positions"], record["positions"]),
        ),
        ("moved with positions", _number(record["moved_together"], "largest entry of the change")),
        ("moved without", _number(record["moved_alone"], "mean of ‖change‖/‖row‖")),
        ("context reordered", _number(record["moved_context"], f"largest ‖change‖/‖row‖ of {stays}")),
    ]
    depends = "does not depend" if record["ignores_order"] else "depends"
    return (
        Lines(f"{record['verdict']}; {stays} {depends} on the order of those before it."),
        Gap(),
        Facts(facts),
        Gap(),
        Lines(
            "That rows move with their positions is a property of the architecture: it shows that the model was read "
            f"right, and says nothing of data. Not tested: {record['not_tested']}."
        ),
    )


def _number(value: float | None, what: str) -> str:
    return "not asked of such a model" if value is None else f"{value:.3g} ({what})"
