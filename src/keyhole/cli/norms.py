"""`keyhole norms`: how small a path norm can represent a function."""

from pathlib import Path
from typing import Annotated

import typer

FORMULA = "A formula or family of at most 4 bits; without one, every class of functions of at most 3 bits."


def norms_command(
    function: Annotated[str | None, typer.Argument(metavar="FUNCTION", show_default=False, help=FORMULA)] = None,
    *,
    output: Annotated[str, typer.Option(help="signs (1 and -1) or bits (1 and 0).")] = "signs",
    out: Path | None = None,
) -> object:
    """Find the least path norm that represents FUNCTION, with a proved lower bound.

    The number of samples that a bound asks for grows like the square of this norm.

    --out writes .json, .txt or .html.

    Examples:

      keyhole norms

      keyhole norms parity:4

      keyhole norms "x0 & (x1 | x2)" --output bits --json
    """
    from keyhole.api.norms import Norms, norms
    from keyhole.show.progress_view import view_progress

    Norms.require_ending(out)
    with view_progress("searching"):
        return norms(function, output=output)
