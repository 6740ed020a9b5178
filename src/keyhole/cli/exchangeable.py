"""`keyhole exchangeable`: whether sequences could come from a latent variable."""

from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count

EXAMPLES = """
Examples:

  keyhole exchangeable tokens.npy

  keyhole exchangeable words.csv --test order --permutations 9999

  keyhole exchangeable positions.npy --test extendible --json
"""


def exchangeable_command(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A .npy array or .csv table, a row per sequence: letters (whole numbers, words), or reals.",
        ),
    ],
    test: Annotated[
        str, typer.Option(help="order (does it matter?), extendible (can a latent explain them?), or both.")
    ] = "both",
    permutations: Annotated[
        str | None,
        typer.Option(
            help="Reorderings to compare with, such as 9999 or 1e4; 999 if not given, fewer for large tables.",
            metavar="B",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        float,
        typer.Option(help="Most chance of rejecting sequences that are independent and have a latent; shared."),
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Draws the reorderings and the halves.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Test whether DATA, a row per sequence, is exchangeable and could have a latent variable.

    Exits with 1 if that is rejected, with 0 if not. Sequences must be independent of each other; then the level holds
    for every latent variable and any number of sequences. Rows that repeat beyond chance count once. Not to reject
    proves nothing.
    """
    from keyhole.api.exchangeable import exchangeable
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    asked = None if permutations is None else count(permutations)
    with view_progress("reordering") as watch:
        answer = exchangeable(data, test=test, permutations=asked, level=level, seed=seed, watch=watch)
    if json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.document())
    if answer.rejected:
        raise typer.Exit(1)


exchangeable_command.__doc__ = f"{cleandoc(exchangeable_command.__doc__ or '')}\n{EXAMPLES}"
