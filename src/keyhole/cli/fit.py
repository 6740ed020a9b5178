"""`keyhole fit`: which function of few positions explains a labelled table."""

from pathlib import Path
from typing import Annotated

import typer

DATA = "A .csv with a row per sample and the label (0 or 1) last, with or without a header; or .npz: inputs and labels."


def fit_command(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=DATA)],
    sparsity: Annotated[int, typer.Option(help="Try functions of up to S positions.", metavar="S", min=0)] = 3,
    delta: Annotated[float, typer.Option(help="Probability with which the error bound may fail.")] = 0.01,
    time_limit: Annotated[float, typer.Option(help="Seconds for the search.", metavar="S")] = 30.0,
    out: Path | None = None,
) -> object:
    """Find the functions of the fewest positions that agree with every row of DATA; no network is trained.

    Exit code 0 if one fits, or the search did not end; 1 if none of at most S positions does.

    --out writes .json, .txt or .html.

    Examples:

      keyhole fit data.csv

      keyhole fit data.csv --sparsity 4 --json
    """
    from keyhole.api.fit import Fit, fit
    from keyhole.show.progress_view import view_progress

    Fit.require_ending(out)
    with view_progress("searching"):
        return fit(data, sparsity=sparsity, delta=delta, time_limit=time_limit)
