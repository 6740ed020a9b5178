"""Which function of few positions explains a labelled table, and is it the only one? No network is trained."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from keyhole.api.result import Result
from keyhole.boolean import Junta, uniform_law
from keyhole.boolean.fitting import Sample, juntas_that_fit
from keyhole.decimals import at_most, counted, percent, surely
from keyhole.errors import ArgumentError, DataError
from keyhole.files.data import as_sample, column_names, read_labelled
from keyhole.files.record import hidden
from keyhole.prover.sample import occam_bound, repeats_of
from keyhole.show.answer import Show, shorten

FEW = 5  # rivals that are shown
Data = str | Path | tuple[Any, Any]
MOST_CELLS = 2**16  # of a table: symbols to the power of the positions
MOST_ENTRIES = 2**27  # rows × positions × symbols
LONGEST = 20_000  # positions: the search compares that many in thousands of pairs of rows


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Result):
    """The functions of the fewest positions that agree with every row, and what they promise for new rows."""

    schema: ClassVar[str] = "fit/1"

    rows: int
    rows_distinct: int
    context: int
    symbols: int
    labels_true: float  # share of the labels that are 1
    sparsity: int  # functions of up to so many positions were tried
    fits: bool | None  # None where the search did not come to its end
    function: str | None  # of the fewest positions that fits
    positions: tuple[int, ...] | None  # that it reads
    columns: tuple[str, ...] | None  # names of its positions, where the table has a header
    same_size: tuple[str, ...]  # all functions of its size that fit
    only: bool  # exactly one function of at most so many positions fits
    searched: bool  # to the end
    reason: str  # why nothing fits, or why the search ended early
    error_bound: float | None
    delta: float
    junta: Junta | None = hidden()

    @property
    def answer_is_no(self) -> bool:
        """True if no function of so few positions fits."""
        return self.fits is False

    def lines(self, show: Show) -> None:
        """Say the function, its rivals and its error on new rows, or why there is none."""
        most = f"of at most {counted(self.sparsity, 'position')}"
        if self.function is not None:
            show.line(shorten(self.function))
        elif self.fits is None:
            show.line(f"undecided: {self.reason}; give more time, or ask for fewer positions")
        else:
            show.line(f"No function {most} agrees with every row; ask for more positions, or look for wrong labels")
        rows, positions = counted(self.rows, "row"), counted(self.context, "position")
        repeated = self.rows - self.rows_distinct
        repeats = f", {repeated:,} of them repeated" if repeated else ""
        facts = [("data", f"{rows}{repeats}, {positions}, {self.symbols} symbols; {percent(self.labels_true)} are 1")]
        if self.positions is not None and self.error_bound is not None:
            names = self.columns or [""] * len(self.positions)
            reads = ", ".join(
                f"x{at}{f' ({name})' * bool(name)}" for at, name in zip(self.positions, names, strict=True)
            )
            facts += [
                ("reads", reads or "no position"),
                ("rivals", self._rivals(most)),
                ("error", f"≤ {at_most(self.error_bound, 4)} on new rows, with probability ≥ {surely(self.delta)}"),
                ("trivial", f"{min(self.labels_true, 1 - self.labels_true):.4g}, the better constant on these rows"),
            ]
            if not self.searched:
                facts.append(("searched", f"not to the end: {self.reason}"))
        show.facts(facts)
        if show.verbose and self.function is not None:
            show.line("The error is promised if rows are drawn independently and one function gives all labels.")

    def _rivals(self, most: str) -> str:
        if self.only:
            return f"none: this is the only function {most} that fits"
        others = self.same_size[1:]
        if not others:
            return f"none of its size; but other functions {most} may fit, or some pattern has no row"
        shown = "; ".join(others[:FEW]) + ("; …" if len(others) > FEW else "")
        return f"{len(others):,} other functions of its size fit as well: {shown}"


def fit(
    data: Data, *, sparsity: int = 3, symbols: int | None = None, delta: float = 0.01, time_limit: float = 30.0
) -> Fit:
    """Search for the functions of the fewest positions that agree with every row of a labelled table.

    `data` is a .csv file with the label last, an .npz with `inputs` and `labels`, or a pair of arrays. Functions of up
    to `sparsity` positions are tried. If the rows are independent draws, labelled by one target, then with probability
    at least 1 − δ over them the function found errs on new rows no oftener than the record's error bound, which pays
    for every function that was in the race. `symbols` is the size of the alphabet; left out, it is taken to be 2, or
    as many as the table shows.

    >>> rows = np.random.default_rng(0).integers(0, 2, (200, 12))
    >>> answer = fit((rows, rows[:, 3] & rows[:, 7]))
    >>> answer.function, answer.only
    ('x3 & x7', True)
    """
    names: tuple[str, ...] = ()
    if isinstance(data, str | Path):
        sample = read_labelled(Path(data))
        names = column_names(Path(data), sample[0].shape[1])
    else:
        sample = as_sample(*data)
    inputs, labels = sample
    size = max(2, int(inputs.max()) + 1) if symbols is None else symbols
    _require_searchable(sample, size, sparsity, delta, time_limit)
    search = juntas_that_fit(sample, size, sparsity, time_limit=time_limit)
    repeats = repeats_of(inputs, uniform_law(size))
    first = search.fitting[0] if search.fitting else None
    rows, context = inputs.shape
    return Fit(
        rows=rows,
        rows_distinct=len(np.unique(repeats.owners)),
        context=context,
        symbols=size,
        labels_true=float(labels.mean()),
        sparsity=sparsity,
        fits=True if search.fitting else False if search.finished else None,
        function=None if first is None else str(first),
        positions=None if first is None else first.positions,
        columns=None if first is None else tuple(names[place] for place in first.positions if names),
        same_size=tuple(map(str, search.fitting)),
        only=search.only is not None,
        searched=search.finished,
        reason=search.reason,
        error_bound=None if first is None else occam_bound(first, sample, delta, repeats).error_bound,
        delta=delta,
        junta=first,
    )


def _require_searchable(sample: Sample, symbols: int, sparsity: int, delta: float, time_limit: float) -> None:
    """Refuse symbols outside the alphabet, and searches that are too large."""
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
