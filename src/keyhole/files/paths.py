"""The folder where keyhole stores runs, weights and compiled programs."""

import os
from pathlib import Path


def home(store: str | Path | None = None) -> Path:
    """Return the folder that was asked for, or that of KEYHOLE_HOME, or `.keyhole` in the current one.

    >>> home(Path("here"))
    PosixPath('here')
    """
    return Path(store or os.environ.get("KEYHOLE_HOME") or ".keyhole")
