"""Where keyhole keeps what it writes unasked: runs, weights, compiled programs."""

import os
from pathlib import Path

from keyhole.errors import ArgumentError

DEFAULT = ".keyhole"
VARIABLE = "KEYHOLE_HOME"


def home(store: str | Path | None = None) -> Path:
    """The folder that was asked for, or the one the environment names, or `.keyhole` where the command is run.

    >>> home(Path("here"))
    PosixPath('here')
    """
    if store is not None and not str(store):
        raise ArgumentError("The folder of the runs was given an empty name; name one, or leave it out.")
    return Path(os.environ.get(VARIABLE) or DEFAULT) if store is None else Path(store)
