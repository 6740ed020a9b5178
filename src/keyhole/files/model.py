"""A model on disk: arrays in safetensors, and beside them, in the same file, what they are said to be.

Reading never runs what it reads: the file is a JSON header and plain numbers. What is not such a file, or is one of
somebody else's, is refused; what was once such a file and is damaged is told apart and described.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.errors import CheckpointError
from keyhole.files.atomic import write_file
from keyhole.files.reading import parse_json, read_bytes
from keyhole.files.record import to_record

FORMAT = "keyhole-model/1"
LONGEST_HEADER = 10**8  # bytes; no header of ours comes near


@dataclass(frozen=True, eq=False)
class StoredModel:
    """Arrays and description as read; with `damage`, why they could not all be."""

    tensors: Mapping[str, np.ndarray]
    description: Mapping[str, Any]
    damage: str | None = None


def write_model(path: Path, tensors: Mapping[str, np.ndarray], description: Mapping[str, Any]) -> Path:
    """Write the arrays, in double precision, and the description with a digest of each of them and of itself."""
    from safetensors.numpy import save  # noqa: PLC0415  (imported when something is written)

    arrays = {name: np.asarray(array, dtype=np.float64, order="C") for name, array in tensors.items()}
    plain = to_record("model/1", {**description, "digests": {name: digest(arrays[name]) for name in arrays}})
    plain["digest"] = description_digest(plain)
    metadata = {"format": FORMAT, "description": json.dumps(plain, ensure_ascii=False)}
    return write_file(path, save(arrays, metadata))


def read_model(path: Path) -> StoredModel:
    """Read a model of ours; refuse any other file."""
    try:
        content = read_bytes(path)
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror}. Name a model file.") from error
    length = int.from_bytes(content[:8], "little")
    text = content[8 : 8 + length]
    cut = len(text) < length
    if len(content) < 8 or length > LONGEST_HEADER or not (text.startswith(b"{") and (cut or FORMAT.encode() in text)):
        raise CheckpointError(f"{str(path)!r} is no keyhole model; name a file that `keyhole compile --out` wrote.")
    if cut:
        raise CheckpointError(
            f"{str(path)!r} ends inside its header, after {len(content)} of {8 + length} bytes; it was cut off. "
            "Write it again."
        )
    try:
        header = parse_json(text, _once)
        description = parse_json(header["__metadata__"]["description"], _once)
        other = sorted(header["__metadata__"].keys() - {"format", "description"})
    except (ValueError, KeyError, TypeError, AttributeError):
        return StoredModel({}, {}, "the header is not the JSON it was written as")
    if other or header["__metadata__"].get("format") != FORMAT:
        return StoredModel({}, {}, f"the header holds {other[0] if other else 'a format'} that no model of ours has")
    if not isinstance(description, dict):
        return StoredModel({}, {}, "the description is not the record it was written as")
    return _with_tensors(content, header, 8 + length, description)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON record whose every name occurs once: of two values, one reader takes the first and another the last."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a name occurs twice")
    return record


def _with_tensors(content: bytes, header: Mapping[str, Any], start: int, description: Mapping[str, Any]) -> StoredModel:
    """The arrays behind the header, or the first one that the file cuts off."""
    from safetensors import SafetensorError  # noqa: PLC0415  (imported when something is read)
    from safetensors.numpy import load  # noqa: PLC0415

    try:
        for name, entry in header.items():
            if name != "__metadata__" and start + entry["data_offsets"][1] > len(content):
                wanting = start + entry["data_offsets"][1] - len(content)
                return StoredModel({}, description, f"the file is cut off: {name} lacks its last {wanting} bytes")
        tensors = dict(sorted(load(content).items()))  # the library's own order changes from one reading to the next
    except (SafetensorError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        return StoredModel({}, description, f"the header does not fit the arrays ({error})")
    wrong = [name for name, array in tensors.items() if array.dtype != np.float64]
    if wrong:
        return StoredModel({}, description, f"{wrong[0]} is not in double precision")
    return StoredModel(tensors, description)


def digest(array: np.ndarray) -> str:
    """SHA-256 of an array's numbers, little end first."""
    return hashlib.sha256(np.ascontiguousarray(array).astype("<f8").tobytes()).hexdigest()


def description_digest(description: Mapping[str, Any]) -> str:
    """SHA-256 of a description's canonical JSON, its own digest left out."""
    plain = {name: value for name, value in description.items() if name != "digest"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
