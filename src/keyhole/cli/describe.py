"""`keyhole describe`: what a sparse function is."""

from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count, file_place

EXAMPLES = """
Examples:

  keyhole describe "x3 & ~x17 | maj(x1,x2,x5)"

  keyhole describe parity:4 --context 1e6

  keyhole describe "atleast(2; x1, x5, x9)" --json

  keyhole describe majority:101 --out weight.svg

  keyhole describe and.safetensors --lists 6 --picture lists.svg
"""


def describe_command(
    formula: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA",
            help="A formula such as 'x3 & ~x17', a family such as and:3, parity:4, majority:5, random:3, or a file "
            "that `keyhole compile` wrote, whose heads are read as decision lists too.",
        ),
    ],
    context: Annotated[
        int | None,
        typer.Option(help="Context length T, such as 512 or 1e9: adds what depends on it.", parser=count, metavar="T"),
    ] = None,
    lists: Annotated[
        int | None, typer.Option(help="How many lines of each head's list are shown; for a file.", metavar="N", min=1)
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw a file's lists (.svg, .png, .html or .csv).", metavar="FILE", parser=file_place),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the table of random:s.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write a file: .json or .txt for the description; .svg, .pdf, .png, .html or .csv for the figure.",
            metavar="FILE",
            parser=file_place,
        ),
    ] = None,
) -> None:
    """What FORMULA is: positions, Fourier weight, influences, leap, and what the theory says of it.

    Operators ~ & ^ | bind as in Python; positions count from 0.

    Functions: and(…), or(…), parity(…), maj(…), atleast(2; …), symmetric(0110; …), table(0110; x4, x9).
    """
    from keyhole.api.describe import Description, describe
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress
    from keyhole.show.site import require_format, save_figure

    if out is not None:
        Description.require_ending(out)
    if picture is not None:
        require_format(picture)
    with view_progress("describing"):
        description = describe(formula, context=context, seed=seed, lists=lists)
    if json:
        typer.echo(description.to_json())
    else:
        print_document(description.document())
    if out is not None:
        typer.echo(f"wrote {description.save(out)}", err=True)
    if picture is not None:
        typer.echo(f"wrote {save_figure(description.lists_figure(), picture)}", err=True)


describe_command.__doc__ = f"{cleandoc(describe_command.__doc__ or '')}\n{EXAMPLES}"
