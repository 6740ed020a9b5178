"""Reading what others wrote: sizes are asked before memory is taken, and no text is nested deeper than can be followed.

A header can claim more than the file holds, an archive more than the machine, and a device never ends.
"""

import errno
import json
import stat
from collections.abc import Callable
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

MOST_BYTES = 4 * 2**30  # of a file that is read whole
MOST_STREAMED = 2**28  # bytes of what is no file, such as a pipe: nobody says how long it is
MOST_NUMBERS = 2**28  # of an array


def read_bytes(path: Path) -> bytes:
    """The content of a file; an OSError where it cannot be read, or is larger than is ever read."""
    try:
        with path.open("rb") as file:
            status = path.stat()
            regular = stat.S_ISREG(status.st_mode)
            most = MOST_BYTES if regular else MOST_STREAMED
            content = b"" if regular and status.st_size > most else file.read(most + 1)
    except ValueError as error:  # a null character, or a letter that file names cannot have
        raise OSError(errno.EINVAL, str(error)) from error
    if (not content and regular and status.st_size > most) or len(content) > most:
        raise OSError(errno.EFBIG, f"it is longer than {most:,} bytes")
    return content


def read_text(path: Path) -> str:
    """The content as text; a ValueError where it is none."""
    return read_bytes(path).decode("utf-8-sig")


def parse_json(text: str | bytes, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value that a JSON text spells; a ValueError for every other text, also one nested too deep."""
    try:
        whole = text if isinstance(text, str) else text.decode("utf-8")  # Python alone would guess other encodings
        return json.loads(whole, object_pairs_hook=pairs)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def parse_array(content: bytes) -> np.ndarray:
    """The array of a .npy file, never unpickled; a ValueError for whatever else the content is."""
    return _array(BytesIO(content), len(content))


def parse_arrays(content: bytes, names: tuple[str, ...]) -> tuple[np.ndarray, ...]:
    """These arrays of a .npz archive; a ValueError where it lacks one, or is no such archive."""
    if not content.startswith(b"PK"):  # numpy would take anything else for a pickle
        raise ValueError("not an archive of arrays")
    try:
        with ZipFile(BytesIO(content)) as archive:
            return tuple(_member(archive, f"{name}.npy") for name in names)
    except (ValueError, MemoryError):
        raise
    except Exception as error:  # zip archives have many ways to be broken, and each of them its own kind of error
        raise ValueError(f"the archive cannot be read: {error}") from error


def _member(archive: ZipFile, name: str) -> np.ndarray:
    if name not in archive.namelist():
        raise ValueError(f"it holds no {name}")
    with archive.open(name) as file:
        return _array(file, archive.getinfo(name).file_size)


def _array(file: Any, size: int) -> np.ndarray:
    """An array from a stream of so many bytes, whose header may not claim more than they hold."""
    try:
        shape, dtype = _header(file)
    except ValueError:
        raise
    except Exception as error:  # the header is a Python literal: what it cannot spell raises what the parser likes
        raise ValueError("its header is not that of an array") from error
    numbers = prod(shape)
    if dtype.hasobject:
        raise ValueError("it would have to be unpickled")
    if numbers * dtype.itemsize != size - file.tell():  # also more bytes than numbers: a claim that was changed
        raise ValueError(f"it claims {numbers:,} numbers and holds {size:,} bytes")
    if numbers > MOST_NUMBERS:
        raise ValueError(f"it holds {numbers:,} numbers, more than {MOST_NUMBERS:,}; give fewer rows")
    file.seek(0)
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype
