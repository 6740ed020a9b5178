"""Verdicts of earlier calls: a file for each question, named by the digest of all that the answer depends on."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from keyhole import __version__

SEARCH = 5  # raised when the same question gets another answer than before


def question_key(*parts: Any) -> str:
    """Return a name for a question: the digest of all that its answer depends on."""
    digest = sha256(f"{__version__} {SEARCH}".encode())
    for piece in _pieces(parts):
        digest.update(piece)
    return digest.hexdigest()[:32]


def _pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.ndarray):
        yield f"{value.dtype}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, tuple | list):
        yield f"[{len(value)}".encode()
        for part in value:
            yield from _pieces(part)
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__.encode()
        for part in fields(value):
            yield part.name.encode()
            yield from _pieces(getattr(value, part.name))
    else:
        yield repr(value).encode()
