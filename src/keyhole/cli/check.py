"""`keyhole check`: whether a model file is what it says."""

from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
Examples:

  keyhole check and.safetensors

  keyhole check and.safetensors --json
"""


def check_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A model written by `keyhole compile --out`.")],
) -> object:
    """Check FILE from its own numbers: digests, construction, proof on all 2^T inputs, norms, formats.

    Exit code 0 if everything is as claimed, 1 if something is not, 2 if the file is not a model.
    """
    from keyhole.api.check import check
    from keyhole.show.progress_view import view_progress

    with view_progress("checking"):
        return check(file)


check_command.__doc__ = f"{cleandoc(check_command.__doc__ or '')}\n{EXAMPLES}"
