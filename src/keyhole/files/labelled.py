"""A labelled sample on disk: rows of symbols and a true or false for each, as .npz or .csv."""

import csv
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from keyhole.errors import DataError, KeyholeError
from keyhole.files.sequences import is_number

HOW = "write numpy.savez(file, inputs=…, labels=…), or a .csv whose last column is the label"


def read_labelled(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (m, T) of whole numbers and labels (m,) of truth values; labels are 0 and 1, or −1 and 1.

    An .npz holds the arrays `inputs` and `labels`. A .csv has a row per sample, the label last, under a header or none.
    """
    suffix = path.suffix.lower()
    if suffix not in {".npz", ".csv"}:
        raise DataError(f"{str(path)!r} is neither .npz nor .csv; {HOW}.")
    try:
        inputs, labels = _from_npz(path) if suffix == ".npz" else _from_csv(path)
    except OSError as error:
        raise DataError(f"The data {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except KeyholeError:  # already a sentence
        raise
    except (ValueError, KeyError, EOFError, BadZipFile) as error:
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
    if symbols.dtype.kind not in "biu" and not (symbols.dtype.kind == "f" and (symbols == np.round(symbols)).all()):
        raise DataError(f"{where} has inputs that are not whole numbers; symbols count from 0.")
    known = set(np.unique(answers).tolist())
    if not (known <= {0, 1} or known <= {-1, 1}):
        raise DataError(f"{where} has labels {sorted(known)[:5]}; give 0 and 1, or −1 and 1.")
    return symbols.astype(np.int64), answers > 0


def _from_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    content = path.read_bytes()
    if not content.startswith(b"PK"):  # numpy would take anything else for a pickle
        raise ValueError("not an archive of arrays")
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        return arrays["inputs"], arrays["labels"]


def _from_csv(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with path.open(newline="", encoding="utf8") as file:
        rows = [row for row in csv.reader(file) if row]
    if rows and not is_number(rows[0][0]):
        rows = rows[1:]  # a header
    if len({len(row) for row in rows}) > 1:
        raise ValueError("its rows have different lengths")
    table = np.array([[float(entry) for entry in row] for row in rows])
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError("it has no row with a symbol and a label")
    return table[:, :-1], table[:, -1]
