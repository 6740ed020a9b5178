"""The command line as a whole: its verbs, its version, and how it says no."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from keyhole import __version__
from keyhole.cli import bound
from keyhole.errors import KeyholeError


class Courteous(TyperGroup):
    """Shows our own errors as sentences, and everyone else's as tracebacks."""

    def invoke(self, ctx: Any) -> object:  # typer carries its own click, whose Context has no public name
        """Run the verb; an error of ours becomes one sentence on stderr and exit code 2."""
        try:
            return super().invoke(ctx)
        except KeyholeError as error:
            typer.echo(f"keyhole: {error}", err=True)
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=Courteous,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def show_version(wanted: bool) -> bool:
    """Print the version and stop; typer takes what is returned as the option's value."""
    if wanted:
        typer.echo(f"keyhole {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def keyhole(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """What self-attention can represent, infer and learn, and how much data that takes."""


bound.register(app)


def main() -> None:
    """Run the command line."""
    app()
