"""Where the weights of a model lie: one file, or a folder with a configuration and one or several files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keyhole.checkpoints.weight_files.safetensors_file import read_safetensors
from keyhole.checkpoints.weight_files.stored_tensor import StoredTensor
from keyhole.checkpoints.weight_files.torch_file import read_torch
from keyhole.errors import CheckpointError

CONFIGURATION = "config.json"
INDEX = ".index.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # as transformers looks for them: whole, then by an index
ADAPTERS = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
ENDINGS = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")
NO_WEIGHTS = ("training_args.bin", "optimizer.pt", "scheduler.pt", "scaler.pt", "rng_state.pth", "optimizer.bin")
LONGEST_JSON = 64 * 2**20  # bytes; an index has a line per tensor


@dataclass(frozen=True, eq=False)
class WeightFiles:
    """The tensors by name, and what is said of the model beside them; without a configuration it is empty."""

    source: str
    tensors: Mapping[str, StoredTensor]
    config: Mapping[str, Any]
    notes: Mapping[str, str] = field(default_factory=dict)  # of a safetensors header


def open_weights(path: Path) -> WeightFiles:
    """Open the weights of a file or folder: names, shapes and formats at once, numbers when asked for."""
    try:
        if path.is_dir():
            return _open_folder(path)
        if not path.exists():
            path.stat()  # says why: nothing there, or links that lead to each other
        if not path.is_file():
            raise CheckpointError(f"{str(path)!r} is neither a file nor a folder; name the weights of a model.")
        tensors, notes = _open_file(path)
        beside = next(
            (each for each in (path.with_suffix(".json"), path.with_name(CONFIGURATION)) if each.is_file()), None
        )
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CheckpointError(f"{str(path)!r} cannot be read: {reason}. Name a file or folder of weights.") from error
    return WeightFiles(str(path), tensors, {} if beside is None else _read_json(beside), notes)


def _open_folder(folder: Path) -> WeightFiles:
    config = _read_json(folder / CONFIGURATION) if (folder / CONFIGURATION).is_file() else {}
    if any((folder / name).is_file() for name in ADAPTERS):
        raise CheckpointError(
            f"{str(folder)!r} holds an adapter, which is a change to a model's weights; merge the two and save."
        )
    for name in WEIGHTS:
        if (folder / name).is_file():
            tensors, notes = _open_file(folder / name)
            return WeightFiles(str(folder), tensors, config, notes)
        if (folder / (name + INDEX)).is_file():
            return WeightFiles(str(folder), _read_shards(folder, folder / (name + INDEX)), config)
    files = sorted(
        each
        for each in folder.iterdir()
        if each.suffix.lower() in ENDINGS and each.name not in NO_WEIGHTS and each.is_file()
    )
    if len(files) != 1:
        what = ", ".join(each.name for each in files[:6]) or "no file of weights"
        raise CheckpointError(
            f"{str(folder)!r} holds {what}; name one file, or a folder with one of {', '.join(WEIGHTS)}, or its index."
        )
    tensors, notes = _open_file(files[0])
    return WeightFiles(str(folder), tensors, config, notes)


def _read_shards(folder: Path, index: Path) -> dict[str, StoredTensor]:
    """Return the tensors that an index spreads over several files of its folder."""
    record = _read_json(index)
    weight_map, stated = record.get("weight_map"), record.get("metadata")
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        raise CheckpointError(f"{str(index)!r} has no weight_map of names and files; save the model again.")
    if isinstance(stated, dict) and "dtype" in stated:
        raise CheckpointError(f"{str(index)!r} has a dtype of its own; give it as dtype in config.json.")
    tensors: dict[str, StoredTensor] = {}
    for shard in sorted(set(weight_map.values())):
        if Path(shard).name != shard or shard in ("", ".", ".."):
            raise CheckpointError(f"{str(index)!r} names {shard[:80]!r}, which is no file of its own folder.")
        if not (folder / shard).is_file():
            raise CheckpointError(f"{str(index)!r} names {shard!r}, which is not there; fetch all files of the model.")
        tensors |= _open_file(folder / shard)[0]
    lacking = sorted(set(weight_map) - set(tensors))
    if lacking:
        raise CheckpointError(f"{str(index)!r} speaks of {lacking[0]!r}, which no file holds; fetch the model again.")
    return tensors


def _open_file(path: Path) -> tuple[dict[str, StoredTensor], Mapping[str, str]]:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise CheckpointError(f"{str(path)!r} is not a file of weights: its name should end in {', '.join(ENDINGS)}.")
    return read_safetensors(path) if ending == ".safetensors" else (read_torch(path), {})


def _read_json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LONGEST_JSON:
            raise CheckpointError(f"{str(path)!r} has {path.stat().st_size:,} bytes, which no configuration has.")
        record = json.loads(path.read_text("utf8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{str(path)!r} is not JSON ({error}); fetch it again.") from error
    if not isinstance(record, dict):
        raise CheckpointError(f"{str(path)!r} is not a record of names and values; fetch it again.")
    return record
