"""A profile of norms as JSON: every entry is named as in the profile, and none is guessed."""

import json
from dataclasses import MISSING, asdict, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from keyhole.errors import AssumptionError, DataError
from keyhole.files.reading import parse_json, read_text
from keyhole.norm_profile import BlockNorms, HeadNorms, LayerNormPlace, MatrixNorms, NormProfile, require_possible

SCHEMA = "norms/1"
TEMPLATE = "`keyhole.files.norms.norms_template()`"
WHOLE = {"rows", "columns", "tokens", "symbols", "constant_tokens"}  # counts; every other number is a norm
LAYERNORM = {**{place: place for place in get_args(LayerNormPlace)}, False: "none", True: "after"}
LARGEST = 1e100  # of a norm; products of a few of them must still be numbers


def norms_template() -> str:
    """Return a file of norms to edit: one layer, one head, 100 positions and [CLS]."""
    score = MatrixNorms(64, 64, spectral=3.0, frobenius=5.0, columns21=30.0, rows21=30.0, entries11=200.0)
    value = MatrixNorms(64, 16, spectral=1.0, frobenius=2.0, columns21=6.0, rows21=10.0, entries11=40.0)
    profile = NormProfile(
        blocks=(BlockNorms((HeadNorms(score, value, query=3.0),)),),
        tokens=101,
        readout=3.0,
        token_radius=1.0,
        query_radius=1.0,
        token_diameter=2.0,
        path=5.0,
        path_inf=4.0,
        spread=0.0,
    )
    return dumps(profile)


def dumps(profile: NormProfile) -> str:
    """Return a profile as the text of a file."""
    return json.dumps({"schema": SCHEMA, **asdict(profile)}, indent=2, ensure_ascii=False)


def read_norms(path: Path) -> NormProfile:
    """Read the profile in a file."""
    try:
        record = parse_json(read_text(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}. Give a JSON file of norms.") from error
    except ValueError as error:  # neither text nor JSON
        raise DataError(f"{path} is not a JSON file of norms; {TEMPLATE} is one to edit.") from error
    if not isinstance(record, dict) or record.pop("schema", SCHEMA) != SCHEMA:
        raise DataError(f"{path} is not a file of norms (schema {SCHEMA}); {TEMPLATE} is one to edit.")
    return parse_norms(record, str(path))


def parse_norms(record: dict[str, Any], where: str = "the norms") -> NormProfile:
    """Return a profile from plain lists and dictionaries; refuse an entry that is missing, unknown or impossible."""
    profile: NormProfile = _parsed(NormProfile, record, where)
    try:
        require_possible(profile)
    except AssumptionError as refusal:
        raise DataError(f"{where}: {refusal}") from refusal
    return profile


def _parsed(kind: Any, record: Any, where: str) -> Any:
    """Return a dataclass from a record of its fields."""
    if not isinstance(record, dict):
        raise DataError(f"{where} must be a record of norms; see {TEMPLATE}.")
    known = {field.name: field for field in fields(kind)}
    unknown = sorted(set(record) - set(known))
    if unknown:
        raise DataError(f"{where} has {', '.join(unknown)}, which no bound reads; the names are {', '.join(known)}.")
    needed = [name for name, field in known.items() if field.default is MISSING and record.get(name) is None]
    if needed:
        raise DataError(f"{where} lacks {' and '.join(needed)}; {TEMPLATE} has every entry.")
    return kind(**{name: _entry(known[name].type, name, value, where) for name, value in record.items()})


def _entry(kind: Any, name: str, value: Any, where: str) -> Any:
    """Return the value of a field: a list of records, a record, a word, a truth value or a number."""
    if get_origin(kind) is tuple:
        if not isinstance(value, list) or not value:
            raise DataError(f"{where} must list at least one entry under {name}; see {TEMPLATE}.")
        return tuple(_parsed(get_args(kind)[0], inner, f"{where}: {name}[{i}]") for i, inner in enumerate(value))
    if value is None and NoneType in get_args(kind):
        return None
    for each in (kind, *get_args(kind)):
        if is_dataclass(each):
            return _parsed(each, value, f"{where}.{name}")
    if name == "layernorm":
        if isinstance(value, bool | str) and value in LAYERNORM:
            return LAYERNORM[value]
        raise DataError(f"{where}: layernorm is none, before or after (attention), or false or true; got {value!r}.")
    if kind in (bool, str) and not isinstance(value, kind):
        raise DataError(f"{where}: {name} must be {'true or false' if kind is bool else 'a word'}; got {value!r}.")
    return value if kind in (bool, str) else _number(name, value, where)


def _number(name: str, value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise DataError(
            f"{where}: {name} is a norm or a count, so it must be a number ≥ 0, at most {LARGEST:g}; got {value!r:.40}."
        )
    if name in WHOLE and (value != int(value) or value < 1):
        raise DataError(f"{where}: {name} must be a whole number ≥ 1; got {value!r:.40}.")
    return int(value) if name in WHOLE else float(value)
