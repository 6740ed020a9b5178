"""`keyhole describe`: what a sparse function is."""

import re
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count
from keyhole.errors import ArgumentError


def describe_command(
    formula: Annotated[
        str | None,
        typer.Argument(
            metavar="[FORMULA]",
            show_default=False,
            help="A formula such as 'x3 & ~x17', or a family such as and:3, parity:4, majority:5, random:3.",
        ),
    ] = None,
    *,
    context: Annotated[
        int | None,
        typer.Option(help="Context length T, such as 512 or 1e9: adds what depends on it.", parser=count, metavar="T"),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="A model that `keyhole compile` wrote: its heads are read as decision lists too."),
    ] = None,
    lists: Annotated[
        int | None, typer.Option(help="Lines shown of each head's list.", metavar="N", min=1, show_default="8")
    ] = None,
    out: Path | None = None,
) -> object:
    """Describe FORMULA: positions, Fourier weight, influences, leap, and what the theory says of learning it.

    Operators ~ & ^ | bind as in Python; positions count from 0.

    Functions: and(…), or(…), parity(…), maj(…), atleast(2; …), symmetric(0110; …), table(0110; x4, x9).

    --out writes .json or .txt, and the figure as .svg, .pdf, .png, .html or .csv.

    Examples:

      keyhole describe "x3 & ~x17 | maj(x1,x2,x5)"

      keyhole describe parity:4 --context 1e6

      keyhole describe "atleast(2; x1, x5, x9)" --json

      keyhole describe majority:101 --out weight.svg

      keyhole describe --file and.safetensors --lists 6
    """
    from keyhole.api.describe import Description, describe, describe_file
    from keyhole.show.progress_view import view_progress

    if formula is None and file is None:
        raise ArgumentError("Nothing was given to describe; give a FORMULA such as 'x3 & ~x17', or --file FILE.")
    if file is not None and (formula or context) is not None:
        raise ArgumentError("A file has its own formula and context; give --file alone.")
    if file is None and lists is not None:
        raise ArgumentError("A formula has no heads, so it has no decision lists; give --file, or leave out --lists.")
    if formula is not None and re.fullmatch("[0-9a-f]{8,64}", formula):
        raise ArgumentError(
            f"{formula} names a run, not a function; `keyhole prove --run {formula}` reads its function."
        )
    Description.require_ending(out)
    with view_progress("describing"):
        return describe(formula or "", context=context) if file is None else describe_file(file, lists=lists)
