"""Where keyhole keeps what it writes unasked: runs, weights, compiled programs."""

import os
from pathlib import Path

DEFAULT = ".keyhole"
VARIABLE = "KEYHOLE_HOME"


def home(store: Path | None = None) -> Path:
    """The folder that was asked for, or the one the environment names, or `.keyhole` where the command is run.

    >>> home(Path("here"))
    PosixPath('here')
    """
    return store if store is not None else Path(os.environ.get(VARIABLE) or DEFAULT)
