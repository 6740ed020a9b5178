"""Data on disk, read and never run: one array, a labelled sample, a table of sequences.

A labelled sample is rows of symbols and a true or false for each, as .npz or .csv. A table of sequences has a row for
each, as .npy or .csv.
"""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.errors import DataError, KeyholeError
from keyhole.files.reading import parse_array, parse_arrays, read_bytes, read_text

LARGEST_SYMBOL = 2**53  # beyond it floating-point numbers skip whole ones
SHOWN = 40  # letters of a cell that is refused
HOW = "write numpy.savez(file, inputs=…, labels=…), or a .csv whose last column is the label"


def read_array(path: Path, what: str, sides: str) -> np.ndarray:
    """The array of a .npy file, called `what` where it cannot be read; one that would have to be unpickled is refused.

    `sides` says what the array is to hold, for whoever gave several.
    """
    try:
        content = read_bytes(path)
        if content.startswith(b"PK"):
            raise DataError(f"{str(path)!r} holds several arrays; give one, with {sides}.")
        return parse_array(content)
    except OSError as error:
        raise DataError(f"The {what} {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except KeyholeError:  # already a sentence
        raise
    except ValueError as error:
        raise DataError(
            f"{str(path)!r} is no array of numbers in the .npy format ({error}); write it with numpy.save."
        ) from error


def read_labelled(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (m, T) of whole numbers and labels (m,) of truth values; labels are 0 and 1, or −1 and 1.

    An .npz holds the arrays `inputs` and `labels`. A .csv has a row per sample, the label last, under a header or none.
    """
    suffix = path.suffix.lower()
    if suffix not in {".npz", ".csv"}:
        raise DataError(f"{str(path)!r} is neither .npz nor .csv; {HOW}.")
    try:
        inputs, labels = _sample_of_npz(path) if suffix == ".npz" else _sample_of_csv(path)
    except OSError as error:
        raise DataError(f"The data {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except KeyholeError:  # already a sentence
        raise
    except (ValueError, csv.Error) as error:
        raise DataError(f"{str(path)!r} is no labelled sample ({error}); {HOW}.") from error
    return as_sample(inputs, labels, str(path))


def as_sample(inputs: Any, labels: Any, where: str = "the data") -> tuple[np.ndarray, np.ndarray]:
    """Arrays as a sample: whole numbers and truth values, checked."""
    symbols, answers = np.asarray(inputs), np.asarray(labels)
    if symbols.ndim != 2 or answers.shape != symbols.shape[:1] or not symbols.size:
        raise DataError(
            f"{where} has inputs of shape {symbols.shape} and labels of shape {answers.shape}; give at least one row "
            "of symbols (m, T) and a label for each (m,)."
        )
    whole = symbols.dtype.kind in "biu" or (symbols.dtype.kind == "f" and (symbols == np.round(symbols)).all())
    if not whole or np.abs(symbols.astype(np.float64)).max() > LARGEST_SYMBOL:
        raise DataError(f"{where} has inputs that are not whole numbers of use; symbols count from 0.")
    if answers.dtype.kind not in "biuf":
        raise DataError(f"{where} has labels that are no numbers; give 0 and 1, or −1 and 1.")
    known = set(np.unique(answers).tolist())
    if not (known <= {0, 1} or known <= {-1, 1}):
        raise DataError(f"{where} has labels {sorted(known)[:5]}; give 0 and 1, or −1 and 1.")
    return symbols.astype(np.int64), answers > 0


def _sample_of_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    inputs, labels = parse_arrays(read_bytes(path), ("inputs", "labels"))
    return inputs, labels


def _sample_of_csv(path: Path) -> tuple[np.ndarray, np.ndarray]:
    rows = [row for row in csv.reader(StringIO(read_text(path), newline="")) if row]
    if rows and is_heading(rows[0]):
        rows = rows[1:]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("its rows have different lengths")
    table = np.array([_numbers(row, index) for index, row in enumerate(rows, start=1)])
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError("it has no row with a symbol and a label")
    return table[:, :-1], table[:, -1]


def _numbers(row: list[str], index: int) -> list[float]:
    """The numbers of a row of data; a ValueError that says which cell is none."""
    for column, cell in enumerate(row, start=1):
        if not is_number(cell):
            raise ValueError(f"row {index} of the data holds {_short(cell)} in column {column}, which is no number")
    return [number(cell) for cell in row]


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= SHOWN else f"{cell[:SHOWN]}…")


def column_names(path: Path, columns: int) -> tuple[str, ...]:
    """The names of the columns before the label, where a .csv has a header; else nothing."""
    if path.suffix.lower() != ".csv":
        return ()
    rows = csv.reader(StringIO(read_text(path), newline=""))
    first = next((row for row in rows if row), [])
    headed = len(first) == columns + 1 and is_heading(first)
    return tuple(cell.strip() for cell in first[:-1]) if headed else ()


def read_sequences(path: Path) -> np.ndarray:
    """Letters (n, T) as whole numbers, reals (n, T), or vectors (n, T, d), from a .npy or .csv file.

    A .csv whose cells are all whole numbers, or all words, holds letters; words are numbered in their order.
    """
    if path.suffix.lower() not in (".npy", ".csv"):
        raise DataError(f"{str(path)!r} is neither .npy nor .csv; save the sequences as one of them, a row each.")
    array = read_array(path, "sequences", "a row per sequence") if path.suffix.lower() == ".npy" else _rows_of_csv(path)
    if array.dtype.kind in "bui":
        return array.astype(np.int64)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _rows_of_csv(path: Path) -> np.ndarray:
    try:
        lines = StringIO(read_text(path), newline="")
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
    return _letters_or_reals(path, rows)


def _letters_or_reals(path: Path, rows: list[list[str]]) -> np.ndarray:
    cells = [cell for row in rows for cell in row]
    shape = (len(rows), len(rows[0]))
    try:
        return np.array([int(_plain(cell)) for cell in cells], dtype=np.int64).reshape(shape)
    except (ValueError, OverflowError):
        pass
    reals = [is_number(cell) for cell in cells]
    if all(reals):
        return np.array([number(cell) for cell in cells]).reshape(shape)
    if any(reals):
        first = "the first row looks like a heading: remove it" if not any(reals[: shape[1]]) else "use one kind"
        raise DataError(f"{str(path)!r} mixes numbers and words; {first}.")
    return np.unique(np.array(cells), return_inverse=True)[1].reshape(shape)


def number(cell: str) -> float:
    """The number that a cell of a table spells, in digits that every program reads; a ValueError for other cells."""
    return float(_plain(cell))


def _plain(cell: str) -> str:
    """The cell, in which no digit is of another script and none are set apart, as Python alone would have it."""
    if not cell.isascii() or "_" in cell:
        raise ValueError(f"{cell!r} is no number")
    return cell


def is_number(cell: str) -> bool:
    """Whether a cell of a table spells a number."""
    try:
        number(cell)
    except ValueError:
        return False
    return True


def is_heading(row: list[str]) -> bool:
    """Whether a row names the columns: none of its cells is a number, or it is a row of data that was spoilt."""
    return not any(map(is_number, row))
