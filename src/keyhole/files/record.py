"""Results as JSON: one envelope for every command, and no number that JSON cannot hold."""

import json
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from enum import Enum
from math import isfinite
from pathlib import Path
from typing import Any

from keyhole import __version__


def to_json(schema: str, fields: Mapping[str, Any]) -> str:
    """The envelope {"keyhole": version, "schema": …, fields…}; what is not finite becomes null with a reason.

    >>> to_json("example/1", {"bound": float("inf")}).splitlines()[-3:]
    ['  "bound": null,', '  "bound_reason": "infinite"', '}']
    """
    return json.dumps(to_record(schema, fields), indent=2, ensure_ascii=False)


def to_record(schema: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The envelope as plain values, as reading its JSON gives them back."""
    return {"keyhole": __version__, "schema": schema, **_plain(fields)}


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Nested values as JSON has them; beside each null that stands for a number, why."""
    plain: dict[str, Any] = {}
    for name, value in fields.items():
        plain[name] = _value(value)
        if isinstance(value, float) and not isfinite(value):
            plain[f"{name}_reason"] = "not a number" if value != value else "infinite"  # noqa: PLR0124
    return plain


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _plain({str(name): inner for name, inner in value.items()})
    if isinstance(value, list | tuple):
        return [_value(inner) for inner in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value


def hidden(**options: Any) -> Any:
    """A field of a dataclass that records leave out."""
    return field(**options, metadata={"hidden": True})


def record_of(value: Any) -> Any:
    """A value as JSON has it: dataclasses as their fields, and the `properties` that they name.

    >>> from dataclasses import make_dataclass
    >>> record_of(make_dataclass("Range", ["low", "high"])(1, (2.5, None)))
    {'low': 1, 'high': [2.5, None]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in fields(value) if "hidden" not in each.metadata]
        return {name: record_of(getattr(value, name)) for name in (*names, *getattr(value, "properties", ()))}
    if isinstance(value, Mapping):
        return {str(name): record_of(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [record_of(inner) for inner in value]
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return value.tolist()
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value
