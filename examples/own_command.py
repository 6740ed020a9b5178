"""A command of one's own in keyhole's command line: `keyhole depths "x1 & (x2 | x3)"`.

The package that holds this file names the function in its pyproject.toml, and keyhole finds it once both are installed:

    [project.entry-points."keyhole.commands"]
    depths = "own_command:depths_command"

Run with: python examples/own_command.py
"""

from typing import Annotated

import typer

import keyhole


def depths_command(
    formulas: Annotated[list[str], typer.Argument(help="Boolean functions.", metavar="FORMULA...")],
) -> None:
    """The path norms that compiling takes.

    Each function is compiled on 64 positions.

    Example:

      keyhole depths "x1 & x2" "x1 & (x2 | x3)"
    """
    for formula in formulas:
        typer.echo(f"{keyhole.compile(formula, 64).norms['path_inf']:8.2f}  {formula}")


if __name__ == "__main__":
    depths_command(["x1 & x2", "x1 & (x2 | x3)", "x1 ^ x2"])
