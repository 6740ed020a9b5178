"""`keyhole check`: whether a model file is what it says, or a certificate proves what it says."""

from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
Examples:

  keyhole check and.safetensors

  keyhole check and.cert --json
"""


def check_command(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A model written by `keyhole compile --out`, or a certificate (.cert)."),
    ],
) -> object:
    """Check FILE from its own numbers: digests, construction, proof on all 2^T inputs, norms, formats.

    Every line of a certificate is checked in integer arithmetic, as `python keyhole_check.py FILE` does.

    Exit code 0 if everything is as claimed, 1 if something is not, 2 if the file is not a model.
    """
    from keyhole.api.check import check
    from keyhole.api.proof_file import check_certificate, is_certificate
    from keyhole.show.progress_view import view_progress

    if is_certificate(file):
        return check_certificate(file)
    with view_progress("checking"):
        return check(file)


check_command.__doc__ = f"{cleandoc(check_command.__doc__ or '')}\n{EXAMPLES}"
