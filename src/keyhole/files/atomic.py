"""A file is written whole or not at all: a reader never sees half, and a failed write leaves the old one."""

import os
from pathlib import Path

from keyhole.errors import OutputError


def write_file(path: Path, content: bytes) -> Path:
    """Write the content at the path, making the folders it needs, and return the path."""
    if path.is_dir():
        raise OutputError(f"{str(path)!r} is a folder; name a file inside it.")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{str(path)!r} cannot be written: {error.strerror}. Choose another place.") from error
    return path
