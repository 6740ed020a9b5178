"""A safetensors file: the library checks its header, and the numbers are mapped from the disk."""

import json
from collections.abc import Mapping
from pathlib import Path

from keyhole.checkpoints.weight_files.stored_tensor import StoredTensor, mapped
from keyhole.errors import CheckpointError

NAMES: Mapping[str, str] = {  # of the header → ours
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


def read_safetensors(path: Path) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """Return the tensors of a file, and the notes in its header."""
    from safetensors import SafetensorError, safe_open  # noqa: PLC0415  (imported when something is read)

    try:
        with safe_open(path, framework="numpy") as checked:  # header, offsets, sizes and the end of the file
            notes = dict(checked.metadata() or {})
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
    except (SafetensorError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{str(path)!r} is not a whole safetensors file ({error}); copy or save it again."
        ) from error
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            kind = NAMES.get(entry["dtype"], entry["dtype"])
            start = 8 + length + entry["data_offsets"][0]
            tensors[name] = mapped(path, name, tuple(entry["shape"]), kind, start)
    return tensors, notes
