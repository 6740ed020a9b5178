"""A function that fits a table as a document: the function, its rivals, and what it promises for new rows."""

from collections.abc import Mapping
from typing import Any

from keyhole.decimals import at_most, counted
from keyhole.show.document import Document, Facts
from keyhole.show.folding import shorten

Record = Mapping[str, Any]
FEW = 5  # rivals that are shown


def fit_document(record: Record) -> Document:
    """What fits, from the record of a fit."""
    return (
        Facts(
            [("data", _data(record)), *(_function_rows(record) if record["fits"] else [("function", _none(record))])]
        ),
    )


def _data(record: Record) -> str:
    rows, positions = counted(record["rows"], "row"), counted(record["context"], "position")
    words = f"{rows} of {positions}, {record['symbols']} symbols"
    repeated = record["rows"] - record["rows_distinct"]
    words += f"; {repeated:,} rows repeat an earlier one" if repeated else ""
    return f"{words}; {100 * record['labels_true']:.3g} % of the labels are 1"


def _none(record: Record) -> str:
    """Why there is no function, and what to try."""
    if record["fits"] is None:
        return f"undecided: {record['reason']}; give more time, or ask for fewer positions"
    return (
        f"none: no function of at most {record['sparsity']} positions agrees with every row; ask for more positions, "
        "or look for labels that are wrong"
    )


def _function_rows(record: Record) -> list[tuple[str, str]]:
    constant = max(record["labels_true"], 1 - record["labels_true"])
    bound = at_most(record["error_bound"], 4)
    promised = f"at most {bound} on new rows, if rows are drawn independently and one function gives all labels"
    rows = [
        ("function", shorten(record["function"])),
        ("reads", _reads(record)),
        ("rivals", _rivals(record)),
        ("error", f"{promised}; the bound fails with probability at most {record['delta']:g}"),
        ("trivial", f"{1 - constant:.4g}: the error of the better constant answer on these rows"),
    ]
    return rows if record["searched"] else [*rows, ("searched", f"not to the end: {record['reason']}")]


def _reads(record: Record) -> str:
    """The positions, with the names of their columns."""
    places, names = record["positions"], record["columns"] or [""] * len(record["positions"])
    listed = ", ".join(f"x{place}{f' ({name})' * bool(name)}" for place, name in zip(places, names, strict=True))
    return f"{len(places)} of {record['context']:,} positions{': ' * bool(listed)}{listed} (counted from 0)"


def _rivals(record: Record) -> str:
    """Whether another function fits as well."""
    most = f"of at most {record['sparsity']} position{'s' * (record['sparsity'] != 1)}"
    if record["only"]:
        return f"none: this is the only function {most} that fits, so it is the target if the target is one {most}"
    others = record["same_size"][1:]
    if not others:
        return f"none of its size; but other functions {most} may fit, or some pattern has no row"
    shown = "; ".join(others[:FEW]) + ("; …" if len(others) > FEW else "")
    return f"{len(others):,} other functions of its size fit as well: {shown}"
