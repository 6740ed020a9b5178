"""Somebody else's weights on disk: plain numbers in safetensors, with a description; pickles are never opened."""

from pathlib import Path
from typing import Any

import numpy as np

from keyhole.errors import CheckpointError
from keyhole.files.reading import parse_json, read_bytes, read_text

KEY = "keyhole"  # of the description among the file's own metadata


def is_ours(path: Path) -> bool:
    """Whether the file says that keyhole wrote it; False for what cannot be read."""
    from keyhole.files.model import FORMAT  # noqa: PLC0415  (a name only)

    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            return FORMAT.encode() in file.read(min(length, 10**8))
    except (OSError, ValueError):
        return False


def read_weights(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Named arrays in double precision, and their description: of the file itself, or of the .json beside it."""
    from safetensors import SafetensorError  # noqa: PLC0415  (imported when something is read)
    from safetensors.numpy import load  # noqa: PLC0415

    try:
        content = read_bytes(path)
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror}. Name a model file.") from error
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
    # By name: the library's own order changes from one reading to the next, and with it which array a refusal names.
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
        text = metadata[KEY] if KEY in metadata else read_text(beside)
        described = parse_json(text)
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
