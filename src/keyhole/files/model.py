"""A model on disk: arrays in safetensors, and in the same file a description of them; reading never runs code.

A keyhole model states its digests. A damaged one is read as far as it goes, with the reason; any other file is refused.
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
from keyhole.files.reading import parse_json, read_bytes, read_text
from keyhole.files.record import to_record

FORMAT = "keyhole-model/1"
LONGEST_HEADER = 10**8  # bytes; no header of keyhole comes near
KEY = "keyhole"  # of the description that somebody wrote into a file of weights


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


def is_ours(path: Path) -> bool:
    """Return whether the file states that keyhole wrote it; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            return FORMAT.encode() in file.read(min(length, LONGEST_HEADER))
    except (OSError, ValueError):
        return False


def read_model(path: Path) -> StoredModel:
    """Read a model that keyhole wrote; refuse any other file."""
    content = _content(path)
    length = int.from_bytes(content[:8], "little")
    text = content[8 : 8 + length]
    cut = len(text) < length
    if len(content) < 8 or length > LONGEST_HEADER or not (text.startswith(b"{") and (cut or FORMAT.encode() in text)):
        raise CheckpointError(f"{str(path)!r} is not a keyhole model; name a file that `keyhole compile --out` wrote.")
    if cut:
        raise CheckpointError(f"{str(path)!r} ends inside its header; it was cut off. Write it again.")
    try:
        header = parse_json(text, _once)
        metadata = header["__metadata__"]
        description = parse_json(metadata["description"], _once)
        whole = set(metadata) == {"format", "description"} and metadata["format"] == FORMAT
    except (ValueError, KeyError, TypeError, AttributeError):
        whole = False
    if not whole or not isinstance(description, dict):
        return StoredModel({}, {}, "the header is not the JSON it was written as")
    return _with_tensors(content, header, 8 + length, description)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON record; refuse a name that occurs twice, of which readers take different values."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a name occurs twice")
    return record


def _content(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror}. Name a model file.") from error


def _with_tensors(content: bytes, header: Mapping[str, Any], start: int, description: Mapping[str, Any]) -> StoredModel:
    """Return the arrays behind the header, or the first one that the file cuts off."""
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
    """Return the SHA-256 of an array's numbers, little end first."""
    return hashlib.sha256(np.ascontiguousarray(array).astype("<f8").tobytes()).hexdigest()


def description_digest(description: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a description's canonical JSON, its own digest left out."""
    plain = {name: value for name, value in description.items() if name != "digest"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def read_weights(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read somebody else's arrays, in double precision, and their description in the file or in the .json beside it."""
    from safetensors import SafetensorError  # noqa: PLC0415  (imported when something is read)
    from safetensors.numpy import load  # noqa: PLC0415

    content = _content(path)
    if content[:2] == b"PK" or content[:1] == b"\x80":
        raise CheckpointError(
            f"{str(path)!r} is a pickle, which runs code when it is read, so it is not; save the weights with "
            "safetensors.torch.save_file(model.state_dict(), …)."
        )
    try:
        loaded = load(content)
        length = int.from_bytes(content[:8], "little")
        metadata = parse_json(content[8 : 8 + length]).get("__metadata__", {})
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{str(path)!r} holds no arrays that can be read ({error}); save float32 weights with safetensors."
        ) from error
    tensors = {name: np.asarray(loaded[name]) for name in sorted(loaded)}
    for name, array in tensors.items():
        if array.dtype.kind != "f":
            raise CheckpointError(f"{name} in {str(path)!r} holds {array.dtype} numbers; weights are floating-point.")
        if not np.isfinite(array).all():
            raise CheckpointError(f"{name} in {str(path)!r} holds NaN or infinity; only finite weights are certified.")
    return {name: array.astype(np.float64) for name, array in tensors.items()}, _description(path, metadata)


def _description(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    beside = path.with_suffix(".json")
    try:
        described = parse_json(metadata[KEY] if KEY in metadata else read_text(beside))
    except OSError as error:
        raise CheckpointError(
            f"{str(path)!r} comes without a description; write one into {str(beside)!r} "
            "(help(keyhole.checkpoints.torch_encoder) shows it)."
        ) from error
    except ValueError as error:
        raise CheckpointError(f"The description of {str(path)!r} is not JSON: {error}.") from error
    if not isinstance(described, dict):
        raise CheckpointError(f"The description of {str(path)!r} is not a record of names and values.")
    return described
