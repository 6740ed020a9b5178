"""Tables of sequences on disk, a row each: arrays of numbers, or text between commas; read as data, never run."""

import csv
from pathlib import Path

import numpy as np

from keyhole.errors import DataError
from keyhole.files.arrays import read_array


def read_sequences(path: Path) -> np.ndarray:
    """Letters (n, T) as whole numbers, reals (n, T), or vectors (n, T, d), from a .npy or .csv file.

    A .csv whose cells are all whole numbers, or all words, holds letters; words are numbered in their order.
    """
    if path.suffix.lower() not in (".npy", ".csv"):
        raise DataError(f"{str(path)!r} is neither .npy nor .csv; save the sequences as one of them, a row each.")
    array = read_array(path, "sequences", "a row per sequence") if path.suffix.lower() == ".npy" else _table(path)
    if array.dtype.kind in "bui":
        return array.astype(np.int64)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _table(path: Path) -> np.ndarray:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if row]
    except OSError as error:
        raise DataError(f"The sequences {str(path)!r} cannot be read: {error.strerror}.") from error
    except (ValueError, csv.Error) as error:
        raise DataError(f"{str(path)!r} is no text of values between commas; write a line per sequence.") from error
    if not rows:
        raise DataError(f"{str(path)!r} holds no sequence; write a line per sequence, values between commas.")
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if all(len(row) == 1 and mark in row[0] for row in rows):
            raise DataError(f"{str(path)!r} has {name} between its values; write commas instead.")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]) or "" in row:
            raise DataError(
                f"Row {number} of {str(path)!r} has {sum(cell != '' for cell in row)} values and the first has "
                f"{sum(cell != '' for cell in rows[0])}; sequences must have one length, and no empty cell."
            )
    return _cells(path, rows)


def _cells(path: Path, rows: list[list[str]]) -> np.ndarray:
    cells = [cell for row in rows for cell in row]
    shape = (len(rows), len(rows[0]))
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64).reshape(shape)
    except (ValueError, OverflowError):
        pass
    reals = [is_number(cell) for cell in cells]
    if all(reals):
        return np.array([float(cell) for cell in cells]).reshape(shape)
    if any(reals):
        first = "the first row looks like a heading: remove it" if not any(reals[: shape[1]]) else "use one kind"
        raise DataError(f"{str(path)!r} mixes numbers and words; {first}.")
    return np.unique(np.array(cells), return_inverse=True)[1].reshape(shape)


def is_number(cell: str) -> bool:
    """Whether a cell of a table spells a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
