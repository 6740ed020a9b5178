"""A finding on disk: its outcome under a digest, and back; what is claimed is never read from a file.

Which file it is, `cache_key` says: the code that decides a finding, and not what seeds the runs it may be made of.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, replace
from math import isfinite
from typing import Any, get_args

from keyhole import figure as shown
from keyhole.apps.ledger.finding import Claim, Finding, Outcome, Scale
from keyhole.errors import AssumptionError, DataError
from keyhole.figure import Axis, Figure
from keyhole.files.record import to_record
from keyhole.verdicts import ClaimVerdict

COVERED = ("run", "scale", "seed", "seconds", "versions", "outcome")  # by the digest
NO_RECORD = (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError)  # what misreading raises


def finding_bytes(finding: Finding) -> bytes:
    """The finding as it is kept: all but the claim, which the ledger has, and a digest over it."""
    fields = {name: value for name, value in finding.stored().items() if name not in {"claim", "origin"}}
    record = to_record("finding/2", fields)
    return f"{json.dumps({**record, 'digest': digest(record)}, indent=2, ensure_ascii=False)}\n".encode()


def digest(record: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of what a kept finding says, the name of its run included."""
    plain = {name: record[name] for name in COVERED}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def read_finding(claim: Claim, content: bytes, *, origin: str = "") -> Finding:
    """The finding of this claim that the content was written of; DataError where it is not as it was written."""
    try:
        record = json.loads(content.decode(), parse_constant=_refuse)
        _demand(isinstance(record, dict), "it is no record")
        _demand(record["digest"] == digest(record), "its digest does not hold")
        return replace(_finding(claim, record), origin=origin)
    except (*NO_RECORD, AssumptionError) as error:  # that of a figure without rows
        raise DataError("The finding is not the JSON that a finding is.") from error


def _finding(claim: Claim, record: Mapping[str, Any]) -> Finding:
    seconds, versions = record["seconds"], record["versions"]
    _demand(_is_number(seconds) and seconds >= 0, "seconds are a number")
    _demand(record["scale"] in get_args(Scale) and isinstance(record["run"], str), "a run has a name and a scale")
    _demand(isinstance(record["seed"], int), "a seed is a whole number")
    _demand(isinstance(versions, dict) and _are_texts(versions.values()), "versions are texts")
    outcome = _outcome(record["outcome"])
    return Finding(claim, outcome, record["run"], record["scale"], record["seed"], float(seconds), versions)


def _outcome(record: Mapping[str, Any]) -> Outcome:
    _demand(set(record) == {field.name for field in fields(Outcome)}, "an outcome has these entries only")
    _demand(record["verdict"] in get_args(ClaimVerdict), "a verdict is one of those there are")
    _demand(_are_texts((record["measurement"], record["interval"])), "a measurement is a text")
    _demand(isinstance(record["caveats"], list) and _are_texts(record["caveats"]), "caveats are texts")
    numbers = record["numbers"]
    _demand(all(value is None or _is_number(value) for value in numbers.values()), "numbers are numbers")
    figures = tuple(_figure(figure) for figure in record["figures"])
    return Outcome(**{**record, "figures": figures, "caveats": tuple(record["caveats"])})


def _figure(record: Mapping[str, Any]) -> Figure:
    _demand(_are_texts((record["title"], record["subtitle"])), "a figure's title is a text")
    _demand(record["kind"] in get_args(shown.Kind), "a figure is of a known kind")
    named = (record["low"], record["high"], record["group"])
    _demand(_are_texts(name for name in named if name is not None), "a figure's columns are texts")
    cells = [cell for row in record["rows"] for cell in row.values()] if _are_rows(record["rows"]) else [()]
    _demand(
        all(isinstance(cell, str | bool | None) or _is_number(cell) for cell in cells),
        "a figure's rows hold plain values",
    )
    axes = {name: _axis(record[name]) for name in ("x", "y", "colour") if record[name] is not None}
    over = tuple(_figure(each) for each in record["over"])
    return Figure(**{**record, **axes, "rows": tuple(record["rows"]), "over": over})


def _axis(record: Mapping[str, Any]) -> Axis:
    _demand(_are_texts((record["column"], record["title"])), "an axis has a column and a title")
    _demand(record["scale"] in get_args(shown.Scale), "an axis has a known scale")
    return Axis(**record)


def _are_rows(rows: object) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


def _are_texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _demand(holds: bool, law: str) -> None:  # noqa: FBT001  (what is demanded)
    if not holds:
        raise DataError(f"The finding is not as it was written: {law}.")


def _refuse(name: str) -> None:
    raise ValueError(name)
