"""`keyhole curve`: how accuracy on a table of one's own grows with the rows learned from."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import counts, names

DATA = "A .csv with a row per sample, with or without a header; or .npz: inputs and labels."
TARGET = "The column to predict, by name or number from 1, or COL=CLASS for one class of many; else the last."
LEARNER = "Learners, between commas: sklearn:logistic, sklearn:lasso, sklearn:tree, sklearn:forest, transformer, …"


def curve_command(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=DATA)],
    target: Annotated[str, typer.Option(help=TARGET, metavar="COL")] = "",
    learner: Annotated[str, typer.Option(help=LEARNER, metavar="LIST")] = "sklearn:logistic",
    accuracy: Annotated[
        float | None, typer.Option(help="Say how many rows this accuracy takes, such as 0.95.", metavar="A")
    ] = None,
    irrelevant: Annotated[
        str, typer.Option(help="Repeat with so many irrelevant columns appended, such as 30,300.", metavar="LIST")
    ] = "",
    splits: Annotated[int, typer.Option(help="Random splits into rows to learn from and rows held out.", min=2)] = 20,
    out: Path | None = None,
) -> object:
    """Draw the learning curve of a table.

    Accuracy on held-out rows of DATA, against the number of rows learned from.

    --out writes the figure (.html, .svg, .png, .csv) or the answer (.json, .txt).

    Examples:

      keyhole curve patients.csv --target ill --accuracy 0.95

      keyhole curve table.csv --irrelevant 100 --learner sklearn:lasso

      keyhole curve digits.csv --target digit=8 --out digits.png
    """
    from keyhole.apps.tables.curve import Curve, curve
    from keyhole.apps.tables.table import read_table
    from keyhole.show.progress_view import view_progress

    Curve.require_ending(out)
    more = counts(irrelevant) if irrelevant else []
    column, _, positive = target.partition("=")
    with view_progress("reading") as watch:
        return curve(
            read_table(data, column, positive),
            names(learner),
            accuracy=accuracy,
            irrelevant=more,
            splits=splits,
            watch=watch,
        )
