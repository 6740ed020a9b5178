"""The command line as a whole: its verbs, its version, and how it says no."""

from typing import Annotated

import typer

from keyhole import __version__

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"keyhole {__version__}")
        raise typer.Exit


@app.callback()
def keyhole(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """What self-attention can represent, infer and learn, and how much data that takes."""


def main() -> None:
    """Run the command line."""
    app()
