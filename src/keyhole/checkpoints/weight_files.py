"""Weights on disk, read and never run: safetensors, torch's files, and whole folders with a configuration.

Names, shapes and number formats are known at once; numbers are read from the disk when they are asked for. The library
safetensors checks its headers. torch reads its own files, is asked for weights alone, and runs nothing of the file.
"""

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np

from keyhole.errors import CheckpointError, MissingError, adding

# how the numbers of a format lie in a file; bfloat16 is the upper half of float32
FORMATS: Mapping[str, str] = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "bfloat16": "<u2",
    "int64": "<i8",
    "int32": "<i4",
    "int16": "<i2",
    "int8": "|i1",
    "uint8": "|u1",
    "bool": "|b1",
}
WEIGHTS = ("float64", "float32", "float16", "bfloat16")
SAFETENSORS: Mapping[str, str] = {  # the format in a header → ours
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
STATES = ("state_dict", "model_state_dict", "model", "module", "net", "network", "weights", "encoder")
CONFIGURATION = "config.json"
INDEX = ".index.json"
WHOLE = ("model.safetensors", "pytorch_model.bin")  # as transformers looks for them: whole, then by an index
ADAPTERS = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
ENDINGS = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")
NO_WEIGHTS = ("training_args.bin", "optimizer.pt", "scheduler.pt", "scaler.pt", "rng_state.pth", "optimizer.bin")
LONGEST_JSON = 64 * 2**20  # bytes; an index has a line per tensor


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """A tensor of a file; `raw` gives its numbers as they lie there, from the disk where that can be."""

    name: str
    shape: tuple[int, ...]
    number_format: str
    raw: Callable[[], np.ndarray] = field(repr=False)

    def stored(self) -> np.ndarray:
        """Return the numbers as they lie there, finite or not."""
        raw = np.asarray(self.raw())
        return (raw.astype(np.uint32) << 16).view(np.float32) if self.number_format == "bfloat16" else raw

    def numbers(self) -> np.ndarray:
        """Return the numbers in double precision, in an array of their own; refuse what is not finite."""
        if self.number_format not in WEIGHTS:
            raise CheckpointError(
                f"{self.name} holds {self.number_format} numbers, and weights are read as {', '.join(WEIGHTS)}; save "
                "the model in one of these (a quantised one is to be dequantised first)."
            )
        numbers: np.ndarray = self.stored().astype(np.float64)  # no longer a view of the disk to who uses it
        if not np.isfinite(numbers).all():
            raise CheckpointError(
                f"{self.name} holds NaN or infinity, and weights are finite; take a checkpoint from before it diverged."
            )
        return numbers

    def loaded_as(self, number_format: str) -> "StoredTensor":
        """Return the tensor as torch loads it in another format: to nearest, ties to even, by single precision."""
        if number_format == self.number_format or self.number_format not in WEIGHTS:
            return self

        def raw() -> np.ndarray:
            numbers = self.numbers()
            if number_format == "float64":
                return numbers
            with np.errstate(over="ignore"):  # an infinity is refused when the numbers are asked for
                single = numbers.astype(np.float32)
                if number_format != "bfloat16":
                    return single.astype(FORMATS[number_format])
            bits = single.view(np.uint32)
            rounded: np.ndarray = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
            return rounded

        return replace(self, number_format=number_format, raw=raw)


def in_memory(arrays: Mapping[str, Any]) -> dict[str, StoredTensor]:
    """Return arrays by name, as if they lay in a file.

    >>> in_memory({"w": np.ones((2, 3))})["w"].shape
    (2, 3)
    """
    plain = {name: np.asarray(array) for name, array in arrays.items()}
    return {name: StoredTensor(name, each.shape, each.dtype.name, each.view) for name, each in plain.items()}


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
            path.stat()  # raises: nothing there, or links that lead to each other
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
    for name in WHOLE:
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
            f"{str(folder)!r} holds {what}; name one file, or a folder with one of {', '.join(WHOLE)}, or its index."
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
            raise CheckpointError(f"{str(index)!r} names {shard[:80]!r}, which is not a file of its own folder.")
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
    return _read_safetensors(path) if ending == ".safetensors" else (_read_torch(path), {})


def _read_safetensors(path: Path) -> tuple[dict[str, StoredTensor], dict[str, str]]:
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
            number_format, shape = SAFETENSORS.get(entry["dtype"], entry["dtype"]), tuple(entry["shape"])
            raw = partial(_mapped, path, shape, number_format, 8 + length + entry["data_offsets"][0])
            tensors[name] = StoredTensor(name, shape, number_format, raw)
    return tensors, notes


def _mapped(path: Path, shape: tuple[int, ...], number_format: str, offset: int) -> np.ndarray:
    """Map the numbers that lie in a file from a byte on; nothing is copied."""
    kind = np.dtype(FORMATS[number_format])
    return np.memmap(path, dtype=kind, mode="r", offset=offset, shape=shape) if prod(shape) else np.empty(shape, kind)


def _read_torch(path: Path) -> dict[str, StoredTensor]:
    """Return the tensors of a state dict that torch.save wrote, alone or beside other things."""
    try:
        import torch  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingError(
            f"{str(path)!r} is a file of torch's, and torch is not installed; run {adding('torch')}, or save the "
            "weights with safetensors."
        ) from error
    with path.open("rb") as file:
        archive = file.read(2) == b"PK"  # older files are not archives, and are read at once
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of protocols, before the refusal
            value = torch.load(path, map_location="cpu", weights_only=True, mmap=archive)
    except UnpicklingError as error:
        raise CheckpointError(
            f"{str(path)!r} holds more than weights, so torch.load(weights_only=True) refuses it, and nothing of it "
            "was run. Save the weights alone, with safetensors or torch.save(model.state_dict(), …)."
        ) from error
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise CheckpointError(
            f"{str(path)!r} is not a whole file of torch's ({reason}); copy or save it again."
        ) from error
    state = _tensors(value[0] if isinstance(value, tuple | list) and value else value, torch.Tensor)
    if not state:
        raise CheckpointError(f"{str(path)!r} holds a {type(value).__name__} without tensors; save model.state_dict().")
    return {name: _stored(name, tensor) for name, tensor in state.items()}


def _tensors(value: Any, kind: type) -> dict[str, Any]:
    """Return the tensors of a state dict: of an entry under one of the usual names, or of the dictionary itself."""
    if not isinstance(value, dict):
        return {}
    for inner in (*(value.get(name) for name in STATES), value):
        if isinstance(inner, dict):
            state = {name: each for name, each in inner.items() if isinstance(name, str) and isinstance(each, kind)}
            if state:
                return state
    return {}


def _stored(name: str, tensor: Any) -> StoredTensor:
    number_format = str(tensor.dtype).removeprefix("torch.")

    def raw() -> np.ndarray:
        import torch  # noqa: PLC0415  (an extra)

        numbers = tensor.detach().contiguous()
        if number_format == "bfloat16":  # which numpy lacks
            return np.asarray(numbers.view(torch.int16).numpy()).view(np.uint16)
        return np.asarray(numbers.numpy())

    return StoredTensor(name, tuple(tensor.shape), number_format, raw)


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
