"""`keyhole norms`: how small a path norm can represent a function."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import file_place

FORMULA = "A formula or family of at most 4 bits; without one, every class of functions of at most 3 bits."


def norms_command(
    function: Annotated[str | None, typer.Argument(metavar="FUNCTION", show_default=False, help=FORMULA)] = None,
    *,
    output: Annotated[str, typer.Option(help="signs (1 and -1) or bits (1 and 0).")] = "signs",
    out: Annotated[
        Path | None, typer.Option(help="Write a .json, .txt or .html.", metavar="FILE", parser=file_place)
    ] = None,
) -> object:
    """Find the least path norm that represents FUNCTION, with a proved lower bound.

    The number of samples that a bound asks for grows like the square of this norm.

    Examples:

      keyhole norms

      keyhole norms parity:4

      keyhole norms "x0 & (x1 | x2)" --output bits --json
    """
    from keyhole.api.norms import Norms, norms
    from keyhole.cli.output import written
    from keyhole.show.progress_view import view_progress

    if out is not None:
        Norms.require_ending(out)
    with view_progress("searching"):
        answer = norms(function, output=output)
    return written(answer, out)
