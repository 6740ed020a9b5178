"""`keyhole norms`: how small a path norm can represent a function."""

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
Examples:

  keyhole norms

  keyhole norms parity:4

  keyhole norms "x0 & (x1 | x2)" --output bits --json
"""


def norms_command(
    formula: Annotated[
        str | None,
        typer.Argument(
            metavar="FORMULA",
            show_default=False,
            help="A formula or family of at most 4 bits; without one, every class of functions of at most 3 bits.",
        ),
    ] = None,
    output: Annotated[str, typer.Option(help="signs: 1 and -1; bits: 1 and 0.")] = "signs",
    seed: Annotated[int, typer.Option(help="Draws the table of random:s.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the norms as .json, .txt or .html.", metavar="FILE")] = None,
) -> None:
    """The least path norm that represents FORMULA, with a proved lower bound, beside what the constructions have.

    The number of samples that a bound asks for grows like the square of this norm.
    """
    from keyhole.api.norms import norms
    from keyhole.cli.printing import print_document

    found = norms(formula, output=output, seed=seed)
    if json:
        typer.echo(found.to_json())
    else:
        print_document(found.document())
    if out is not None:
        typer.echo(f"wrote {found.save(out)}", err=True)


norms_command.__doc__ = f"{norms_command.__doc__}\n{EXAMPLES}"
