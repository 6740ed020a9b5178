"""The command line as a whole: its commands, its version, and its refusals."""

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from keyhole import __version__
from keyhole.cli.bound import bound_command
from keyhole.cli.certify import certify_command
from keyhole.cli.check import check_command
from keyhole.cli.compile import compile_command
from keyhole.cli.describe import describe_command
from keyhole.cli.exchangeable import exchangeable_command
from keyhole.cli.infer import infer_command
from keyhole.cli.learn import learn_command
from keyhole.cli.norms import norms_command
from keyhole.cli.refusals import EXIT_CODES, INPUT, one_sentence, require_streams
from keyhole.cli.reproduce import claims_command, reproduce_command
from keyhole.cli.runs import runs_app
from keyhole.cli.score import score_command

Misuse: type[Exception] = typer.BadParameter.__bases__[0]  # click's UsageError, wherever typer keeps its click


class Courteous(TyperGroup):
    """Shows misuse and errors as sentences, each kind with its exit code."""

    def make_context(self, *words: Any, **more: Any) -> Any:
        """Read the words before the command."""
        try:
            with one_sentence():
                return super().make_context(*words, **more)
        except Misuse as error:
            if type(error).__name__ == "NoArgsIsHelpError":  # no words at all are a call for help
                raise
            raise _refused(error) from error

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with one_sentence():
                return super().invoke(ctx)
        except Misuse as error:
            raise _refused(error, ctx.invoked_subcommand) from error


def _refused(error: Any, command: str | None = None) -> typer.Exit:
    """Say in one sentence what is wrong with the words, and where to look."""
    named: list[str] = []
    here = error.ctx
    while here is not None and here.parent is not None:
        named, here = [here.info_name, *named], here.parent
    asked = " ".join(error.format_message().split()).rstrip(".")
    helping = " ".join(["keyhole", *(named or filter(None, [command])), "--help"])
    typer.echo(f"keyhole: {asked}; `{helping}` shows what to write.", err=True)
    return typer.Exit(INPUT)


app = typer.Typer(
    cls=Courteous,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("describe", rich_help_panel="Understand a function")(describe_command)
app.command("compile", rich_help_panel="Build a model")(compile_command)
app.command("norms", rich_help_panel="Understand a function")(norms_command)
app.command("check", rich_help_panel="Build a model")(check_command)
app.command("certify", rich_help_panel="Understand a model")(certify_command)
app.command("bound", rich_help_panel="Ask the theory")(bound_command)
app.command("learn", rich_help_panel="Train models")(learn_command)
app.add_typer(runs_app, name="runs", rich_help_panel="Train models")
app.command("exchangeable", rich_help_panel="Look at data")(exchangeable_command)
app.command("infer", rich_help_panel="Ask the theory")(infer_command)
app.command("reproduce", rich_help_panel="See the claims")(reproduce_command)
app.command("claims", rich_help_panel="See the claims")(claims_command)
app.command("score", rich_help_panel="Judge a method")(score_command)


def show_version(wanted: bool) -> bool:
    """Print the version and stop, if that is wanted."""
    if wanted:
        typer.echo(f"keyhole {__version__}")
        raise typer.Exit
    return wanted


@app.callback(epilog=f'Try: keyhole describe "x3 & ~x17 | maj(x1,x2,x5)"\n\n{EXIT_CODES}')
def keyhole(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """What self-attention can represent, infer and learn, and how much data that takes."""


def main() -> None:
    """Run the command line; a terminal without our letters shows question marks, not a traceback."""
    require_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
