"""torch's own files, zip archives and the older ones, read without torch: only weights, and nothing is run.

Both kinds are a pickle that speaks of storages, and the storages' plain numbers. In an archive each storage is an entry
of its own, stored as it is; in an older file they follow the pickle one after the other.
"""

import io
import mmap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

from keyhole.checkpoints.weight_files.opcodes import Storage, TensorView, read_pickle
from keyhole.checkpoints.weight_files.stored_tensor import FORMATS, StoredTensor
from keyhole.errors import CheckpointError

MAGIC = 0x1950A86A20F9469CFC6C  # of the older files
PROTOCOL = 1001
LONGEST_PICKLE = 256 * 2**20  # bytes; a state dict takes about a hundred per tensor
STATES = ("state_dict", "model_state_dict", "model", "module", "net", "network", "weights", "encoder")
LOCAL_HEADER = 30  # bytes of a zip entry before its name


@dataclass(frozen=True)
class _Place:
    """Where the numbers of a storage lie in the file."""

    offset: int
    length: int  # numbers


def is_torch(path: Path, head: bytes) -> bool:
    """Whether a file begins as torch's do."""
    return head[:4] == b"PK\x03\x04" or head[:1] == b"\x80" or path.suffix.lower() in (".pt", ".pth", ".bin", ".ckpt")


def read_torch(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a state dict that torch.save wrote, alone or beside other things."""
    where = repr(str(path))
    try:
        with path.open("rb") as file:
            archive = file.read(4) == b"PK\x03\x04"
            if archive:
                value, places = _read_archive(file, where)
            else:
                value, places = _read_older(file, where)
    except OSError as error:
        raise CheckpointError(f"{where} cannot be read: {error.strerror or error}.") from error
    state = _state_of(value, where)
    return {name: _stored(path, name, view, places) for name, view in state.items()}


def _read_archive(file: io.BufferedReader, where: str) -> tuple[Any, Callable[[Storage], _Place]]:
    try:
        archive = ZipFile(file)
        entries = {entry.filename: entry for entry in archive.infolist()}
        pickles = [name for name in entries if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise CheckpointError(f"{where} is an archive without the one data.pkl that torch writes; save it again.")
        root = pickles[0].removesuffix("data.pkl")
        for entry in entries.values():
            if entry.compress_type != ZIP_STORED or entry.file_size != entry.compress_size:
                raise CheckpointError(
                    f"{where} has the compressed entry {entry.filename[:80]!r}, {entry.file_size:,} bytes from "
                    f"{entry.compress_size:,}; torch compresses nothing. Save it again."
                )
        if entries[pickles[0]].file_size > LONGEST_PICKLE:
            raise CheckpointError(f"{where} has a data.pkl of {entries[pickles[0]].file_size:,} bytes; none is read.")
        order = entries.get(f"{root}byteorder")
        if order is not None and archive.read(order) != b"little":
            raise CheckpointError(f"{where} was written with the big end first, which is not read; save it elsewhere.")
        content = archive.read(pickles[0])
    except (BadZipFile, ValueError, NotImplementedError, EOFError, RuntimeError) as error:
        raise CheckpointError(f"{where} is not a whole archive of torch's ({error}); copy or save it again.") from error
    value = read_pickle(io.BytesIO(content), where)
    starts = {name: _start(file, entry, where) for name, entry in entries.items()}

    def place(storage: Storage) -> _Place:
        entry = entries.get(f"{root}data/{storage.key}")
        if entry is None:
            raise CheckpointError(f"{where} speaks of the storage {storage.key[:40]!r}, which it does not hold.")
        return _Place(starts[entry.filename], entry.file_size // np.dtype(FORMATS[storage.number_format]).itemsize)

    return value, place


def _start(file: io.BufferedReader, entry: ZipInfo, where: str) -> int:
    """Where an entry's bytes begin: after its own header, whose name and padding say their lengths."""
    file.seek(entry.header_offset)
    header = file.read(LOCAL_HEADER)
    if len(header) < LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise CheckpointError(f"{where} is not a whole archive of torch's: {entry.filename[:80]!r} has no header.")
    skipped = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    start = entry.header_offset + LOCAL_HEADER + skipped
    if start + entry.file_size > file.seek(0, io.SEEK_END):
        raise CheckpointError(f"{where} is cut off inside {entry.filename[:80]!r}; copy or save it again.")
    return start


def _read_older(file: io.BufferedReader, where: str) -> tuple[Any, Callable[[Storage], _Place]]:
    size = file.seek(0, io.SEEK_END)
    if not size:
        raise CheckpointError(f"{where} is empty; copy or save it again.")
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if (
            read_pickle(content, where, storages=False) != MAGIC
            or read_pickle(content, where, storages=False) != PROTOCOL
        ):
            raise CheckpointError(f"{where} is a pickle and no file of torch's; save the weights with safetensors.")
        system = read_pickle(content, where, storages=False)
        if not isinstance(system, dict) or system.get("little_endian") is not True:
            raise CheckpointError(f"{where} was written with the big end first, which is not read; save it elsewhere.")
        value = read_pickle(content, where)
        keys = read_pickle(content, where, storages=False)
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise CheckpointError(f"{where} does not list its storages; save the weights with safetensors.")
        spoken = {storage.key: storage for storage in _storages(value)}
        places: dict[str, _Place] = {}
        for key in keys:
            if key not in spoken:
                raise CheckpointError(f"{where} holds the storage {key[:40]!r}, of which nothing is said.")
            length = int.from_bytes(content.read(8), "little", signed=True)
            width = np.dtype(FORMATS[spoken[key].number_format]).itemsize
            start = content.tell()
            if length < 0 or start + length * width > size:
                raise CheckpointError(f"{where} is cut off inside the storage {key[:40]!r}; copy or save it again.")
            places[key] = _Place(start, length)
            content.seek(start + length * width)

    def place(storage: Storage) -> _Place:
        if storage.key not in places:
            raise CheckpointError(f"{where} speaks of the storage {storage.key[:40]!r}, which it does not hold.")
        return places[storage.key]

    return value, place


def _storages(value: Any) -> Iterable[Storage]:
    """Every storage that a value speaks of; what was seen is not looked at again, since values may hold themselves."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        if isinstance(here, TensorView):
            yield here.storage
        elif isinstance(here, Storage):
            yield here
        elif isinstance(here, dict):
            waiting.extend(here.values())
        elif isinstance(here, list | tuple):
            waiting.extend(here)


def _state_of(value: Any, where: str) -> dict[str, TensorView]:
    """The state dict: the value itself, or an entry of it under one of the usual names, or its first item."""
    if isinstance(value, tuple | list) and value and isinstance(value[0], dict):
        value = value[0]
    if not isinstance(value, dict):
        raise CheckpointError(f"{where} holds a {type(value).__name__} and no state dict; save model.state_dict().")
    for name in STATES:
        if _tensors(value.get(name)):
            value = value[name]
            break
    state = _tensors(value)
    if not state:
        names = ", ".join(str(name)[:40] for name in list(value)[:6]) or "nothing"
        raise CheckpointError(f"{where} holds {names}, and no tensor; save model.state_dict().")
    return state


def _tensors(value: Any) -> dict[str, TensorView]:
    """The tensors of a dictionary under their names; what else it holds is not weights."""
    if not isinstance(value, dict):
        return {}
    return {name: view for name, view in value.items() if isinstance(name, str) and isinstance(view, TensorView)}


def _stored(path: Path, name: str, view: TensorView, places: Callable[[Storage], _Place]) -> StoredTensor:
    place = places(view.storage)
    last = sum((side - 1) * stride for side, stride in zip(view.shape, view.strides, strict=True)) + view.offset
    held = min(place.length, view.storage.start + view.storage.length)
    size = prod(view.shape)
    if size and (view.storage.start + last >= held or size > held):
        raise CheckpointError(
            f"{name} in {str(path)!r} has shape {view.shape}, and its storage holds {held:,} numbers; save it again."
        )
    kind = np.dtype(FORMATS[view.storage.number_format])
    start = place.offset + (view.storage.start + view.offset) * kind.itemsize

    def raw() -> np.ndarray:
        if not size:
            return np.empty(view.shape, kind)
        span = last - view.offset + 1
        numbers = np.memmap(path, dtype=kind, mode="r", offset=start, shape=(span,))
        strides = tuple(stride * kind.itemsize for stride in view.strides)
        return np.lib.stride_tricks.as_strided(numbers, view.shape, strides, writeable=False)

    return StoredTensor(name, view.shape, view.storage.number_format, raw)
