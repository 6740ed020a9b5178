"""Reading what others wrote: arrays are never unpickled, and a broken file is a ValueError.

The versions of the packages that compute, which every stored number states.
"""

import errno
import json
import platform
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from keyhole import __version__

MOST_BYTES = 4 * 2**30  # of a file, which is read whole


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; raise OSError if it cannot be read, or is larger than is ever read."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except ValueError as error:  # a null character in the name
        raise OSError(errno.EINVAL, str(error)) from error
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it is longer than {MOST_BYTES:,} bytes")
    return content


def read_text(path: Path) -> str:
    """Return the content as text; raise ValueError if it is not text."""
    return read_bytes(path).decode("utf-8-sig")


def parse_json(text: str | bytes, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return the value that a JSON text spells; raise ValueError for any other text, also one nested too deep."""
    try:
        whole = text if isinstance(text, str) else text.decode("utf-8")  # Python alone would guess other encodings
        return json.loads(whole, object_pairs_hook=pairs)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def parse_array(content: bytes) -> np.ndarray:
    """Return the array of a .npy file; raise ValueError for any other content."""
    array = _load(content)
    if not isinstance(array, np.ndarray):
        raise ValueError("it holds several arrays")  # noqa: TRY004  (of content, not of an argument)
    return array


def parse_arrays(content: bytes, names: tuple[str, ...]) -> tuple[np.ndarray, ...]:
    """Return these arrays of a .npz archive; raise ValueError if it lacks one, or is not such an archive."""
    archive = _load(content)
    if isinstance(archive, np.ndarray):
        raise ValueError("not an archive of arrays")  # noqa: TRY004
    for name in names:
        if name not in archive:
            raise ValueError(f"it holds no {name}.npy")
    try:
        return tuple(np.asarray(archive[name]) for name in names)
    except Exception as error:  # each way in which an archive is broken has its own kind of error
        raise ValueError(f"the archive cannot be read: {error}") from error


def _load(content: bytes) -> Any:
    try:
        return np.load(BytesIO(content), allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(str(error)) from error


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of keyhole, of Python and of those of these packages that are installed.

    >>> list(versions(["numpy", "no-such-package"]))
    ['keyhole', 'python', 'numpy']
    """
    numbers = {"keyhole": __version__, "python": platform.python_version()}
    for name in packages:
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:
            continue
    return numbers
