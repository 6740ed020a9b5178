"""A file is written whole or not at all: a reader never sees half, and a failed write leaves the old one.

Only regular files are replaced. Links are followed and stay; devices that take text and named pipes are written
through; what else is no file is refused. A file that is replaced keeps its owner, where that may be, and its mode.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from keyhole.errors import OutputError

NO_FILES = {stat.S_IFDIR: "a folder", stat.S_IFBLK: "a block device", stat.S_IFSOCK: "a socket"}


def write_file(path: Path, content: bytes) -> Path:
    """Write the content at the path, making the folders it needs, and return the path."""
    with _refused(path):
        status = _status(path)
        _require_file(path, status)
        printed = None if status is None else _printed(status)
        if printed is not None:
            _write_through(os.dup(printed), content)
        elif status is None or stat.S_ISREG(status.st_mode):
            _replace(Path(os.path.realpath(path)), content, status)
        else:
            _write_through(os.open(path, os.O_WRONLY | os.O_NOCTTY), content)
    return path


def require_file_place(path: Path) -> None:
    """Refuse a path where no file can be written, as far as can be told without writing, before work is done for it."""
    with _refused(path):
        status = _status(path)
        _require_file(path, status)
        if status is None or (stat.S_ISREG(status.st_mode) and _printed(status) is None):
            _require_writable(Path(os.path.realpath(path)).parent)


def require_folder_place(path: Path) -> None:
    """Refuse a path where no folder is and none can be made, or whose folder takes no files, before work is done."""
    with _refused(path):
        status = _status(path)
        if status is not None and not stat.S_ISDIR(status.st_mode):
            raise OutputError(f"{str(path)!r} is a file, and a folder is needed; name another.")
        _require_writable(Path(os.path.realpath(path)))


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    """Say in a sentence what the system refuses of this path."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{str(path)!r} cannot be written: {error.strerror}. Choose another place.") from error
    except ValueError as error:  # a null character, or a letter that file names cannot have
        raise OutputError(f"{str(path)!r} cannot be written: {error}. Choose another name.") from error


def _require_file(path: Path, status: os.stat_result | None) -> None:
    if status is not None and stat.S_IFMT(status.st_mode) in NO_FILES:
        inside = " inside it" if stat.S_ISDIR(status.st_mode) else ""
        raise OutputError(f"{str(path)!r} is {NO_FILES[stat.S_IFMT(status.st_mode)]}; name a file{inside}.")


def _require_writable(folder: Path) -> None:
    """Refuse a folder that takes no new entries; of one that is still to be made, the first that is there counts."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, f"the folder {str(folder)!r} takes no new files")


def _status(path: Path) -> os.stat_result | None:
    """What the path leads to, links followed, or None where there is nothing yet."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _printed(status: os.stat_result) -> int | None:
    """The descriptor of standard output or error if it goes to this file: to replace it would lose what was printed."""
    for descriptor in (1, 2):
        with suppress(OSError):  # closed
            if os.path.samestat(os.fstat(descriptor), status):
                return descriptor
    return None


def _write_through(descriptor: int, content: bytes) -> None:
    """Send the content into what stands there, after all that was printed; a pipe waits for its reader."""
    with open(descriptor, "wb") as through:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        through.write(content)


def _replace(target: Path, content: bytes, old: os.stat_result | None) -> None:
    """Put a part file beside the target, as private as the old one was, and let it take its place."""
    _make_folders(target.parent)
    part = target.with_name(f".{uuid4().hex}.part")  # a name that is never longer than a name may be
    try:
        mode = 0o666 if old is None else 0o600
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:  # noqa: PTH123
            file.write(content)
        if old is not None:
            with suppress(PermissionError):  # only root gives files away; the content is what was asked for
                os.chown(part, old.st_uid, old.st_gid)
            part.chmod(old.st_mode & 0o777)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _make_folders(folder: Path) -> None:
    """Make the folder and those it is in, one after the other: they may be more than calls can nest."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
