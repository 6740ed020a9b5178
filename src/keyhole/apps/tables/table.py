"""A table: rows of numbers and a column of two classes, read from a file; what cannot be learned from is refused."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.arrays import Bool, Float, UInt8
from keyhole.errors import DataError, KeyholeError
from keyhole.files.data import is_heading, is_number
from keyhole.files.reading import parse_arrays, read_bytes, read_text

LARGEST = 2**28  # entries of a table: 2 GB as numbers
FEWEST = 20  # rows: with fewer neither part of a split says anything
SHOWN = 5  # classes that a refusal names


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers, and for each whether it is of the class asked for."""

    features: Float[np.ndarray, "n d"]
    labels: Bool[np.ndarray, "n"]
    columns: tuple[str, ...]
    target: str
    positive: str  # the class that counts as true

    def bits(self, rows: np.ndarray) -> UInt8[np.ndarray, "n d"]:
        """Every column as a bit: whether it is above its median over these rows.

        Where the median is the largest value of these rows, as in a column of mostly ones, the middle of their range
        takes its place: nothing is above the largest.
        """
        seen = self.features[rows]
        middle, low, high = np.median(seen, axis=0), seen.min(axis=0), seen.max(axis=0)
        return np.asarray(self.features > np.where(middle < high, middle, (low + high) / 2)).astype(np.uint8)


def read_table(path: str | Path, target: str = "", positive: str = "") -> Table:
    """Read the table of a .csv (with a header, or the target by its number from 1) or of an .npz (`inputs`, `labels`).

    Without a target the last column is taken. A target of more than two classes needs the one that counts as true.
    """
    path = Path(path)
    if path.suffix.lower() not in {".csv", ".npz"}:
        raise DataError(f"{str(path)!r} is neither .csv nor .npz; save the table as one of them, a row per sample.")
    try:
        if path.suffix.lower() == ".npz":
            inputs, labels = parse_arrays(read_bytes(path), ("inputs", "labels"))
            if target:
                raise DataError(f"{str(path)!r} is an .npz, whose target is the array labels; leave out {target!r}.")
            return make_table(inputs, labels, positive=positive, where=str(path))
        return _table_of_csv(path, target, positive)
    except OSError as error:
        raise DataError(f"The table {str(path)!r} cannot be read: {error.strerror or error}.") from error
    except KeyholeError:  # already a sentence
        raise
    except UnicodeDecodeError as error:
        raise DataError(f"{str(path)!r} is not text; save the table as a .csv or an .npz.") from error
    except (ValueError, csv.Error) as error:
        raise DataError(
            f"{str(path)!r} is not a table of values between commas ({error}); write a row a line."
        ) from error


def make_table(
    features: Any,
    target: Any,
    *,
    columns: Sequence[str] = (),
    name: str = "labels",
    positive: str = "",
    where: str = "the table",
) -> Table:
    """Make a table of arrays; refuse a missing value, a column that is not of numbers, and a target of one class."""
    rows, classes = np.asarray(features), np.asarray(target)
    if rows.ndim != 2 or classes.shape != rows.shape[:1] or not rows.shape[1]:
        raise DataError(
            f"{where} has features of shape {rows.shape} and a target of shape {classes.shape}; give rows (n, d) and a "
            "class for each (n,)."
        )
    if rows.size > LARGEST:
        raise DataError(f"{where} has {rows.size:,} entries; use at most {LARGEST:,}: fewer rows, or fewer columns.")
    if rows.dtype.kind not in "biuf":
        raise DataError(f"{where} has features that are not numbers; encode them as numbers.")
    numbers = rows.astype(np.float64)
    names = tuple(columns) or tuple(f"x{place}" for place in range(rows.shape[1]))
    bad = ~np.isfinite(numbers)
    if bad.any():
        first = int(bad.any(axis=0).argmax())
        raise DataError(
            f"{where} has no number in {int(bad[:, first].sum())} rows of column {names[first]!r}, and in "
            f"{int(bad.any(axis=1).sum())} rows in all; fill them, encode words as numbers, or leave "
            "those rows or columns out."
        )
    if len(rows) < FEWEST:
        raise DataError(f"{where} has {len(rows)} rows; a learning curve needs at least {FEWEST}.")
    words = [str(each) for each in classes.tolist()]
    known = sorted(set(words))
    shown = ", ".join(known[:SHOWN]) + (", …" if len(known) > SHOWN else "")
    if positive and positive not in known:
        raise DataError(f"{where} has no {positive!r} in its target {name!r}; it has {shown}.")
    if len(known) == 1:
        raise DataError(f"{where} has {known[0]!r} in every row of its target {name!r}: there is nothing to learn.")
    if len(known) > 2 and not positive:
        raise DataError(
            f"{where} has {len(known)} classes in its target {name!r} ({shown}); say which one is to be set apart from "
            "the others: `positive`, or --target COL=CLASS."
        )
    chosen = positive or known[-1]  # the later of two
    return Table(numbers, np.array([word == chosen for word in words]), names, name, chosen)


def append_irrelevant(table: Table, count: int, rng: np.random.Generator) -> Table:
    """The table with so many columns more, each a column of it with its rows in random order: alike, and irrelevant."""
    taken = rng.integers(0, table.features.shape[1], count)
    more = [rng.permutation(table.features[:, place]) for place in taken]
    wide = np.concatenate([table.features, np.stack(more, axis=1)], axis=1) if count else table.features
    names = (*table.columns, *(f"irrelevant {place + 1}" for place in range(count)))
    return Table(wide, table.labels, names, table.target, table.positive)


def _table_of_csv(path: Path, target: str, positive: str) -> Table:
    rows = [row for row in csv.reader(StringIO(read_text(path), newline="")) if row]
    if not rows:
        raise DataError(f"{str(path)!r} holds no row; write a row a line, values between commas.")
    if len({len(row) for row in rows}) > 1:
        short = next(place for place, row in enumerate(rows, 1) if len(row) != len(rows[0]))
        raise DataError(
            f"Line {short} of {str(path)!r} has {len(rows[short - 1])} values, and the first has {len(rows[0])}; give "
            "every row as many."
        )
    if len(rows[0]) == 1:
        mark = next((mark for mark in (";", "\t", "|") if mark in rows[0][0]), "")
        advice = f"Its values are separated by {mark!r}; use commas" if mark else "Give it the columns to learn from"
        raise DataError(f"{str(path)!r} has one column, and nothing to tell the target from. {advice}.")
    headed = is_heading(rows[0])
    names = [cell.strip() for cell in rows[0]] if headed else [f"column {place + 1}" for place in range(len(rows[0]))]
    place = _place(target, names, path, headed=headed)
    body = [[cell.strip() for cell in row] for row in (rows[1:] if headed else rows)]
    classes = [row[place] for row in body]
    if "" in classes:
        raise DataError(
            f"{str(path)!r} has no value in {classes.count('')} rows of its target {names[place]!r}; leave them out."
        )
    kept = [column for column in range(len(names)) if column != place]
    return make_table(
        np.array([[float(row[column]) if is_number(row[column]) else np.nan for column in kept] for row in body]),
        np.array(classes),
        columns=[names[column] for column in kept],
        name=names[place],
        positive=positive,
        where=str(path),
    )


def _place(target: str, names: list[str], path: Path, *, headed: bool) -> int:
    """The column of the target: by its name, by its number from 1, or the last."""
    if not target:
        return len(names) - 1
    if headed and names.count(target) == 1:
        return names.index(target)
    if headed and names.count(target) > 1:
        raise DataError(f"{str(path)!r} has {names.count(target)} columns named {target!r}; give each its own name.")
    if target.isascii() and target.isdigit() and 1 <= int(target) <= len(names):
        return int(target) - 1
    shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    has = f"has the columns {shown}" if headed else f"has no header and {len(names)} columns"
    raise DataError(f"{str(path)!r} has no column {target!r}; it {has}. Name one, or give its number from 1.")
