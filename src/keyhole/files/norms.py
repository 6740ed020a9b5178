"""A profile of norms as JSON: every entry named as in the profile, none guessed."""

import json
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from keyhole.errors import AssumptionError, DataError
from keyhole.files.reading import parse_json, read_text
from keyhole.norm_profile import BlockNorms, HeadNorms, LayerNormPlace, MatrixNorms, NormProfile, require_possible

SCHEMA = "norms/1"
TEMPLATE = "`keyhole.files.norms.norms_template()`"  # as a caller from Python writes it
WHOLE = {"rows", "columns", "tokens", "symbols", "constant_tokens"}
FLAGS = {"residual", "concatenated", "biased", "split_residual", "readout_nonnegative", "odd_units", "projected"}
WORDS = {"normaliser"}
LAYERNORM = {**{place: place for place in get_args(LayerNormPlace)}, False: "none", True: "after"}
LARGEST = 1e100  # of a norm; products of a few of them must still be numbers
SHOWN = 40  # letters of a value that is refused


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
    """A profile as the text of a file."""
    return json.dumps({"schema": SCHEMA, **asdict(profile)}, indent=2, ensure_ascii=False)


def read_norms(path: Path) -> NormProfile:
    """Return the profile in a file."""
    try:
        record = parse_json(read_text(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}. Give a JSON file of norms.") from error
    except ValueError as error:  # neither text nor JSON
        raise DataError(f"{path} is not a JSON file of norms; {TEMPLATE} is one to edit.") from error
    if not isinstance(record, dict) or record.get("schema", SCHEMA) != SCHEMA:
        raise DataError(f"{path} is not a file of norms (schema {SCHEMA}); {TEMPLATE} is one to edit.")
    return parse_norms({k: v for k, v in record.items() if k != "schema"}, str(path))


def parse_norms(record: dict[str, Any], where: str = "the norms") -> NormProfile:
    """A profile from plain lists and dictionaries, every entry checked."""
    blocks = record.get("blocks")
    if not isinstance(blocks, list) or not blocks:
        raise DataError(f"{where} must list at least one layer under blocks; see {TEMPLATE}.")
    layers = tuple(_block(block, f"{where}: blocks[{i}]") for i, block in enumerate(blocks))
    profile = NormProfile(**_entries(NormProfile, {**record, "blocks": layers}, where))
    try:
        require_possible(profile)
    except AssumptionError as refusal:
        raise DataError(f"{where}: {refusal}") from refusal
    return profile


def _block(record: Any, where: str) -> BlockNorms:
    heads = record.get("heads") if isinstance(record, dict) else None
    if not isinstance(heads, list) or not heads:
        raise DataError(f"{where} must list at least one head under heads; see {TEMPLATE}.")
    norms = tuple(_head(head, f"{where}.heads[{i}]") for i, head in enumerate(heads))
    given = {name: record[name] for name in ("output", "hidden") if record.get(name) is not None}
    parts = {name: _matrix(matrix, f"{where}.{name}") for name, matrix in given.items()}
    return BlockNorms(**_entries(BlockNorms, {**record, "heads": norms, **parts}, where))


def _head(record: Any, where: str) -> HeadNorms:
    if not isinstance(record, dict):
        raise DataError(f"{where} must be a record with score and value; see {TEMPLATE}.")
    parts = {name: _matrix(record[name], f"{where}.{name}") for name in ("score", "value") if name in record}
    return HeadNorms(**_entries(HeadNorms, {**record, **parts}, where))


def _matrix(record: Any, where: str) -> MatrixNorms:
    if not isinstance(record, dict):
        raise DataError(f"{where} must be a record of norms; see {TEMPLATE}.")
    return MatrixNorms(**_entries(MatrixNorms, record, where))


def _entries(kind: type, record: dict[str, Any], where: str) -> dict[str, Any]:
    known = {field.name: field for field in fields(kind)}
    unknown = sorted(set(record) - set(known))
    if unknown:
        raise DataError(f"{where} has {', '.join(unknown)}, which no bound reads; the names are {', '.join(known)}.")
    needed = [name for name, field in known.items() if field.default is MISSING and record.get(name) is None]
    if needed:
        raise DataError(f"{where} lacks {' and '.join(needed)}; {TEMPLATE} has every entry.")
    void = [name for name, value in record.items() if value is None and NoneType not in get_args(known[name].type)]
    if void:
        raise DataError(f"{where}: {void[0]} is null; leave it out, which means {known[void[0]].default}, or give it.")
    return {name: _entry(name, value, where) for name, value in record.items()}


def _entry(name: str, value: Any, where: str) -> Any:
    if value is None or isinstance(value, (tuple, MatrixNorms)):
        return value
    if name == "layernorm":
        if not isinstance(value, bool | str) or value not in LAYERNORM:
            raise DataError(
                f"{where}: layernorm says where one stands, none, before or after attention, or false or true (after); "
                f"got {value!r}."
            )
        return LAYERNORM[value]
    if name in FLAGS or name in WORDS:
        wanted: type = bool if name in FLAGS else str
        if not isinstance(value, wanted):
            raise DataError(
                f"{where}: {name} must be {'true or false' if wanted is bool else 'a word'}; got {value!r}."
            )
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise DataError(f"{where}: {name} is a norm or a count, so it must be a number ≥ 0; got {_short(value)}.")
    if value > LARGEST:
        raise DataError(f"{where}: {name} is {_short(value)}, beyond what is computed with; use at most {LARGEST:g}.")
    if name in WHOLE:
        if value != int(value) or value < 1:
            raise DataError(f"{where}: {name} must be a whole number ≥ 1; got {_short(value)}.")
        return int(value)
    return float(value)


def _short(value: object) -> str:
    """The value as it was written, cut where it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
