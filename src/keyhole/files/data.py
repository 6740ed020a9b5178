"""Data on disk, read and never run: one array, a labelled sample, a table of sequences."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.errors import DataError
from keyhole.files.reading import parse_array, parse_arrays, read_bytes, read_text

LARGEST_SYMBOL = 2**53  # beyond it floating-point numbers skip whole ones
HOW = "write numpy.savez(file, inputs=…, labels=…), or a .csv whose last column is the label"


def read_array(path: Path, what: str, sides: str) -> np.ndarray:
    """Read the array of a .npy file; `what` and `sides` name it and its content where it is refused."""
    try:
        return parse_array(read_bytes(path))
    except OSError as error:
        raise DataError(f"The {what} {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise DataError(
            f"{str(path)!r} is not an array of numbers in the .npy format ({error}); write {sides} by numpy.save."
        ) from error


def read_labelled(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read inputs (m, T) of whole numbers and labels (m,) of truth values; labels are 0 and 1, or −1 and 1.

    An .npz holds the arrays `inputs` and `labels`. A .csv has a row per sample, the label last, under a header or none.
    """
    suffix = path.suffix.lower()
    if suffix not in {".npz", ".csv"}:
        raise DataError(f"{str(path)!r} is neither .npz nor .csv; {HOW}.")
    try:
        inputs, labels = (
            parse_arrays(read_bytes(path), ("inputs", "labels")) if suffix == ".npz" else _sample_of_csv(path)
        )
    except OSError as error:
        raise DataError(f"The data {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except (ValueError, csv.Error) as error:
        raise DataError(f"{str(path)!r} is not a labelled sample ({error}); {HOW}.") from error
    return as_sample(inputs, labels, str(path))


def as_sample(inputs: Any, labels: Any, where: str = "the data") -> tuple[np.ndarray, np.ndarray]:
    """Return arrays as a sample: whole numbers and truth values; refuse any other."""
    symbols, answers = np.asarray(inputs), np.asarray(labels)
    if symbols.ndim != 2 or answers.shape != symbols.shape[:1] or not symbols.size:
        raise DataError(
            f"{where} has inputs of shape {symbols.shape} and labels of shape {answers.shape}; give at least one row "
            "of symbols (m, T) and a label for each (m,)."
        )
    if symbols.dtype.kind not in "biuf":
        raise DataError(f"{where} has inputs that are not numbers; symbols are whole numbers from 0.")
    odd = (symbols != np.round(symbols)) | (np.abs(symbols.astype(np.float64)) > LARGEST_SYMBOL)
    if odd.any():
        raise DataError(
            f"{where} has inputs in column {np.flatnonzero(odd.any(axis=0))[0] + 1} that are not symbols, which are "
            "whole numbers from 0. Write 1 above a limit and 0 below, or ask `keyhole curve`, which takes decimals."
        )
    known = set(np.unique(answers).tolist())
    if not (known <= {0, 1} or known <= {-1, 1}):
        raise DataError(f"{where} has labels {sorted(known)[:5]}; give 0 and 1, or −1 and 1.")
    return symbols.astype(np.int64), answers > 0


def _sample_of_csv(path: Path) -> tuple[np.ndarray, np.ndarray]:
    rows = _rows(path)
    if rows and is_heading(rows[0]):
        rows = rows[1:]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("its rows have different lengths")
    for index, row in enumerate(rows, start=1):
        for column, cell in enumerate(row, start=1):
            if not is_number(cell):
                raise ValueError(
                    f"row {index} of the data holds {cell!r:.40} in column {column}, which is not a number"
                )
    table = np.array([list(map(float, row)) for row in rows])
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError("it has no row with a symbol and a label")
    return table[:, :-1], table[:, -1]


def _rows(path: Path) -> list[list[str]]:
    """Return the rows of a .csv that have a cell."""
    return [[cell.strip() for cell in row] for row in csv.reader(StringIO(read_text(path), newline="")) if row]


def column_names(path: Path, columns: int) -> tuple[str, ...]:
    """Return the names of the columns before the label, if a .csv has a header; else nothing."""
    first = next(iter(_rows(path)), []) if path.suffix.lower() == ".csv" else []
    return tuple(first[:-1]) if len(first) == columns + 1 and is_heading(first) else ()


def read_sequences(path: Path) -> np.ndarray:
    """Read letters (n, T) as whole numbers, reals (n, T), or vectors (n, T, d), from a .npy or .csv file.

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
        rows = _rows(path)
    except OSError as error:
        raise DataError(f"The sequences {str(path)!r} cannot be read: {error.strerror}.") from error
    except (ValueError, csv.Error) as error:
        raise DataError(f"{str(path)!r} is not a text of values between commas; write a line per sequence.") from error
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
    cells = np.array(rows)
    numbers = np.array([[is_number(cell) for cell in row] for row in rows])
    if numbers.all():
        reals = cells.astype(np.float64)
        whole = all(cell.lstrip("+-").isdigit() for row in rows for cell in row) and abs(reals).max() <= LARGEST_SYMBOL
        return cells.astype(np.int64) if whole else reals
    if numbers.any():
        first = "use one kind" if numbers[0].any() else "the first row looks like a heading: remove it"
        raise DataError(f"{str(path)!r} mixes numbers and words; {first}.")
    letters: np.ndarray = np.unique(cells, return_inverse=True)[1].reshape(cells.shape)
    return letters


def is_number(cell: str) -> bool:
    """Return whether a cell of a table spells a number, in digits that every program reads."""
    try:
        float(cell)
    except ValueError:
        return False
    return cell.isascii() and "_" not in cell


def is_heading(row: list[str]) -> bool:
    """Return whether a row names the columns: no cell of it is a number."""
    return not any(map(is_number, row))
