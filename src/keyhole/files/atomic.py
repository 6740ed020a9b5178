"""A file is written whole or not at all: a reader never sees half, and a failed write leaves the old one.

The folder where keyhole stores runs, weights and compiled programs.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from keyhole.errors import OutputError


def write_file(path: Path, content: bytes) -> Path:
    """Write the content at the path, making the folders it needs, and return the path.

    A link is followed and stays; a device or a named pipe is written through.
    """
    with _refused(path):
        if path.is_dir():
            raise OutputError(f"{str(path)!r} is a folder; name a file inside it.")
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return path
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{uuid4().hex}.part")  # a name that is never longer than a name may be
        try:
            with part.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                part.chmod(target.stat().st_mode & 0o777)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    return path


def require_file_place(path: Path) -> None:
    """Refuse a path where no file can be written, before work is done for it."""
    with _refused(path):
        if path.is_dir():
            raise OutputError(f"{str(path)!r} is a folder; name a file inside it.")
        if not path.exists() or path.is_file():
            _require_writable(path.resolve().parent)


def require_folder_place(path: Path) -> None:
    """Refuse a path that is not a folder and where none can be made, before work is done for it."""
    with _refused(path):
        if path.exists() and not path.is_dir():
            raise OutputError(f"{str(path)!r} is a file, and a folder is needed; name another.")
        _require_writable(path.resolve())


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Turn what the system refuses of this path into a sentence."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{str(path)!r} cannot be written: {error.strerror}. Choose another place.") from error
    except (ValueError, RuntimeError) as error:  # a null character, or a loop of links
        raise OutputError(f"{str(path)!r} cannot be written: {error}. Choose another name.") from error


def _require_writable(folder: Path) -> None:
    """Refuse a folder that takes no new entries; if it is still to be made, the first one above it that exists."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise OutputError(f"{str(folder)!r} cannot be written: it is a file, not a folder. Choose another place.")
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise OutputError(f"{str(folder)!r} cannot be written: the folder takes no new files. Choose another place.")


def home(store: str | Path | None = None) -> Path:
    """Return the folder that was asked for, or that of KEYHOLE_HOME, or `.keyhole` in the current one.

    >>> home(Path("here"))
    PosixPath('here')
    """
    return Path(store or os.environ.get("KEYHOLE_HOME") or ".keyhole")
