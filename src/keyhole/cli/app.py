"""The command line as a whole: its commands, its version, and its refusals."""

import io
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from keyhole import __version__
from keyhole.cli.bound import bound_command
from keyhole.cli.check import check_command
from keyhole.cli.compile import compile_command
from keyhole.cli.describe import describe_command
from keyhole.cli.exchangeable import exchangeable_command
from keyhole.cli.fit import fit_command
from keyhole.cli.infer import infer_command
from keyhole.cli.learn import learn_command
from keyhole.cli.norms import norms_command
from keyhole.cli.prove import prove_command
from keyhole.cli.refusals import EXIT_CODES, INPUT, Misuse, one_sentence, require_streams
from keyhole.cli.runs import runs_app
from keyhole.cli.train import train_command
from keyhole.errors import ArgumentError, printable

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")  # those that can be taught our words


class Courteous(TyperGroup):
    """Shows misuse and errors as sentences, each kind with its exit code."""

    def make_context(self, *words: Any, **more: Any) -> Any:
        """Read the words before the command."""
        try:
            with one_sentence():
                given = words[1] if len(words) > 1 else more.get("args", ())
                _refuse_blanks(given)
                _require_shell(given)
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


def _refuse_blanks(words: Sequence[str]) -> None:
    """Refuse an option whose value has no letter: an empty name would stand for the current folder."""
    for option, value in pairwise(words):
        if option.startswith("-") and not value.strip():
            raise ArgumentError(f"{option} was given an empty word; write something there, or leave the option out.")


def _require_shell(words: Sequence[str]) -> None:
    """Refuse to complete for a shell that cannot be told, as where no shell gave the command."""
    asked = words[0] if words and words[0] in ("--show-completion", "--install-completion") else ""
    if not asked:
        return
    from typer._completion_shared import _get_shell_name

    shell = _get_shell_name()
    if shell not in SHELLS:
        here = "no shell was found behind this command" if shell is None else f"this shell is {shell}"
        raise ArgumentError(f"{asked} was given, and {here}; ask for it at a prompt of {', '.join(SHELLS)}.")


def _refused(error: Any, command: str | None = None) -> typer.Exit:
    """Say in one sentence what is wrong with the words, and where to look."""
    named: list[str] = []
    here = error.ctx
    while here is not None and here.parent is not None:
        named, here = [here.info_name, *named], here.parent
    asked = " ".join(error.format_message().split()).rstrip(".").replace(": Value error, ", ": ")
    helping = " ".join(["keyhole", *(named or filter(None, [command])), "--help"])
    stop = "" if asked.endswith("?") else ";"  # a question about what was meant has its own mark
    typer.echo(f"keyhole: {printable(asked)}{stop} `{helping}` shows what to write.", err=True)
    return typer.Exit(INPUT)


app = typer.Typer(
    cls=Courteous,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("describe", short_help="What a function is, and how hard to learn.")(describe_command)
app.command("compile", short_help="Exact weights for a function, with a proof.")(compile_command)
app.command("norms", short_help="Least path norms of functions.")(norms_command)
app.command("check", short_help="Whether a model file is what it claims.")(check_command)
app.command("prove", short_help="What a model computes on every input, or whether a claim about it is true.")(
    prove_command
)
app.command("bound", short_help="What norms guarantee after M samples.")(bound_command)
app.command("learn", short_help="How many samples training takes as the context grows.")(learn_command)
app.command("train", short_help="One training run, watched.")(train_command)
app.add_typer(runs_app, name="runs", short_help="The finished runs: list, show, export, prune.")
app.command("exchangeable", short_help="Whether sequences could have a latent variable.")(exchangeable_command)
app.command("fit", short_help="Which sparse function fits a table.")(fit_command)
app.command("infer", short_help="How far attention is from the exact posterior.")(infer_command)


for point in sorted(entry_points(group="keyhole.commands"), key=lambda point: point.name):  # commands of applications
    command = point.load()
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=point.name)
    else:
        app.command(point.name, short_help=(command.__doc__ or "").partition("\n")[0])(command)


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
