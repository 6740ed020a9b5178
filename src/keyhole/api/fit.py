"""Fit: which function of few positions explains a labelled table, and is it the only one? No network is trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.old_result import OldResult as Result
from keyhole.boolean import Junta, uniform_law
from keyhole.boolean.fitting import FittingJuntas, Sample, juntas_that_fit
from keyhole.errors import ArgumentError, DataError
from keyhole.files.data import as_sample, column_names, read_labelled
from keyhole.prover import formula
from keyhole.prover.sample import Judgement, occam_bound, repeats_of
from keyhole.show.document import Document
from keyhole.show.fit import fit_document

Data = str | Path | tuple[Any, Any]
MOST_CELLS = 2**16  # of a table: symbols to the power of the positions
MOST_ENTRIES = 2**27  # rows × positions × symbols
LONGEST = 20_000  # positions: the search compares that many in thousands of pairs of rows


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Result):
    """The functions of the fewest positions that agree with every row, and what they promise for new rows."""

    schema: ClassVar[str] = "fit/1"

    rows: int
    distinct: int  # rows that are different from each other
    context: int
    symbols: int
    share: float  # of the labels that are 1
    sparsity: int  # functions of up to so many positions were tried
    found: FittingJuntas
    judged: Judgement | None  # of the first function found
    delta: float
    columns: tuple[str, ...] = ()  # names of the positions, where the table has a header

    @property
    def function(self) -> Junta | None:
        """A function of the fewest positions that fits, or None."""
        return self.found.fitting[0] if self.found.fitting else None

    @property
    def fits(self) -> bool | None:
        """Whether some function fits; None where the search did not come to its end."""
        return True if self.found.fitting else False if self.found.finished else None

    @property
    def summary(self) -> str:
        """The function, and how many of its size fit."""
        none = f"nothing of at most {self.sparsity} positions fits" if self.found.finished else "undecided"
        shown = none if self.function is None else formula(self.function)
        return f"{shown}; {self.rows:,} rows of {self.context:,} positions"

    def document(self) -> Document:
        """The function, its rivals, and what it promises."""
        return fit_document(self.record())

    def record(self) -> dict[str, Any]:
        """The answer as plain values, for JSON."""
        return {
            "rows": self.rows,
            "rows_distinct": self.distinct,
            "context": self.context,
            "symbols": self.symbols,
            "labels_true": self.share,
            "sparsity": self.sparsity,
            "fits": self.fits,
            "function": None if self.function is None else formula(self.function),
            "positions": None if self.function is None else list(self.function.positions),
            "columns": None
            if self.function is None
            else [self.columns[i] for i in self.function.positions if self.columns],
            "same_size": [formula(junta) for junta in self.found.fitting],
            "only": self.found.only is not None,
            "searched": self.found.finished,
            "reason": self.found.reason,
            "error_bound": None if self.judged is None else self.judged.error_bound,
            "delta": self.delta,
        }


def fit(
    data: Data, *, sparsity: int = 3, symbols: int | None = None, delta: float = 0.01, time_limit: float = 30.0
) -> Fit:
    """The functions of the fewest positions that agree with every row of a labelled table, found by search.

    `data` is a .csv file with the label last, an .npz with `inputs` and `labels`, or a pair of arrays. Functions of up
    to `sparsity` positions are tried. If the rows are independent draws, labelled by one target, then with probability
    at least 1 − δ over them the function found errs on new rows no oftener than the record's error bound, which pays
    for every function that was in the race. `symbols` is the size of the alphabet; left out, it is taken to be 2, or
    as many as the table shows.

    >>> rows = np.random.default_rng(0).integers(0, 2, (200, 12))
    >>> answer = fit((rows, rows[:, 3] & rows[:, 7]))
    >>> formula(answer.function), answer.found.only is not None
    ('x3 & x7', True)
    """
    sample, names = _read(data)
    inputs, labels = sample
    size = max(2, int(inputs.max()) + 1) if symbols is None else symbols
    _require_searchable(sample, size, sparsity, delta, time_limit)
    search = juntas_that_fit(sample, size, sparsity, time_limit=time_limit)
    repeats = repeats_of(inputs, uniform_law(size))
    judged = occam_bound(search.fitting[0], sample, delta, repeats) if search.fitting else None
    rows, context = inputs.shape
    distinct = len(np.unique(repeats.owners))
    return Fit(rows, distinct, context, size, float(labels.mean()), sparsity, search, judged, delta, names)


def _read(data: Data) -> tuple[Sample, tuple[str, ...]]:
    """The sample, and the names of its columns where it has them."""
    if not isinstance(data, str | Path):
        return as_sample(*data), ()
    sample = read_labelled(Path(data))
    return sample, column_names(Path(data), sample[0].shape[1])


def _require_searchable(sample: Sample, symbols: int, sparsity: int, delta: float, time_limit: float) -> None:
    """Refuse what is no alphabet, no number of positions, or more than is searched."""
    inputs, _ = sample
    rows, context = inputs.shape
    if int(inputs.min()) < 0 or int(inputs.max()) >= symbols:
        raise DataError(
            f"The inputs run from {int(inputs.min())} to {int(inputs.max())}, and {symbols} symbols count from 0; "
            "write each column as 0, 1, …"
        )
    if sparsity < 0 or symbols**sparsity > MOST_CELLS:
        raise ArgumentError(
            f"Functions of {sparsity} positions over {symbols} symbols were asked for; their tables have at most "
            f"{MOST_CELLS:,} cells. Ask for fewer positions."
        )
    if rows * context * symbols > MOST_ENTRIES or context > LONGEST:
        raise DataError(
            f"{rows:,} rows of {context:,} positions over {symbols} symbols are more than is searched; give fewer "
            f"rows, or at most {LONGEST:,} positions."
        )
    if not 0 < delta < 1 or not time_limit > 0:
        raise ArgumentError(f"δ = {delta:g} and {time_limit:g} seconds were given; use 0 < δ < 1 and some time.")
