"""The command line as a whole: its commands, its version, and how it refuses."""

import inspect
import io
import os
import sys
from functools import cache, wraps
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from keyhole import __version__
from keyhole.cli.output import INPUT, INTERRUPTED, Misuse, one_sentence, print_answer, require_streams
from keyhole.errors import ArgumentError, printable
from keyhole.files.atomic import require_file_place, require_folder_place

COMMANDS = {  # each with its place, imported when it is typed, and with its line of help
    "describe": ("describe:describe_command", "Say what a function is, and how hard to learn."),
    "compile": ("compile:compile_command", "Make exact weights for a function, with a proof."),
    "check": ("check:check_command", "Check that a model file is what it claims."),
    "bound": ("bound:bound_command", "Evaluate what norms guarantee after M samples."),
    "norms": ("norms:norms_command", "Find least path norms of functions."),
    "learn": ("learn:learn_command", "Measure the samples that training takes as T grows."),
    "train": ("train:train_command", "Watch one training run."),
    "runs": ("runs:runs_app", "List, show or compare the finished runs."),
    "plan": ("learn:plan_command", "Carry out the sweeps of a plan."),
    "fit": ("fit:fit_command", "Find the sparse functions that fit a table."),
    "prove": ("prove:prove_command", "Prove what a model computes, or a claim about it."),
    "infer": ("infer:infer_command", "Compare attention with the exact posterior."),
    "exchangeable": ("exchangeable:exchangeable_command", "Test whether sequences could have a latent."),
    "tour": ("tour:tour_command", "Show five answers in a minute."),
    "explain": ("explain:explain_command", "Explain a word or a letter of an answer."),
}
PANELS = {  # by what a person wants: commands, and an example; what an entry point adds comes last
    "A function": ("describe compile check bound norms", 'compile "x3 & x17" --context 512'),
    "Data and training": ("learn train runs plan fit curve", "learn and:3 --context 25,50 --learner elimination"),
    "A model": ("prove heads checkpoint score", "prove model.safetensors"),
    "A hidden variable": ("infer exchangeable pretrain", "infer gaussian --size 8..64"),
    "Two papers, and help": ("reproduce claims serve tour explain", "explain margin"),
}
DEFAULTS = {"runs": "list"}  # the command of a group that is meant where none is named


class Commands(TyperGroup):
    """The commands of keyhole and of its applications, each imported when it is typed; errors are sentences."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys([*COMMANDS, *applications()], cast("Any", None))  # loaded by get_command

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import a command."""
        return load_command(cmd_name) if cmd_name in self.commands else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands by what a person wants, without importing those of the core; then the shared options."""
        lines = {name: line for name, (_, line) in COMMANDS.items()}
        lines |= {name: load_command(name).get_short_help_str(200) for name in applications()}
        placed = [name for names, _ in PANELS.values() for name in names.split()]
        others = [name for name in lines if name not in placed]
        formatter.write(f"Usage: {ctx.command_path} COMMAND [OPTIONS]\n{self.help}\n\n")
        for title, (names, example) in [*PANELS.items(), ("Added", (" ".join(others), ""))]:
            rows = [(name, lines[name]) for name in names.split() if name in lines]
            formatter.write(f"{title:<26}{example and f'keyhole {example}'}".rstrip() + "\n" if rows else "")
            formatter.write("".join(f"  {name:<13} {line}\n" for name, line in rows))
        formatter.write("\nAfter any command\n")
        options: list[Any] = self.params[:5]
        for option in options:
            formatter.write(f"  {', '.join([*option.opts[1:], option.opts[0]]):<13} {option.help}\n")
        formatter.write("keyhole COMMAND --help has more; --install-completion completes words in the shell.\n")
        formatter.write("Exit codes: 0 answered, 1 answered by no, 2 bad input; keyhole explain 'exit code'.\n")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let the options that every command shares stand anywhere before `--`."""
        end = args.index("--") if "--" in args else len(args)
        shared: list[str] = []
        others: list[str] = []
        words = iter(args[:end])
        for word in words:
            if word in VALUED:
                value = next(words, None)
                if value is None:  # the option alone is what click refuses best
                    return super().parse_args(ctx, [word])
                shared += [word, value]
            else:
                (shared if word.partition("=")[0] in SHARED else others).append(word)
        if others and others[0] in DEFAULTS and (len(others) == 1 or others[1] not in ("-h", "--help")):
            others[1:1] = [] if others[1:] and others[1][0] != "-" else [DEFAULTS[others[0]]]
        return super().parse_args(ctx, [*shared, *others, *args[end:]])

    def make_context(self, *words: Any, **more: Any) -> Any:
        """Read the words before the command."""
        try:
            with one_sentence():
                for option, value in pairwise(words[1] if len(words) > 1 else more.get("args", ())):
                    if option.startswith("-") and not value.strip():  # an empty path would be the current folder
                        raise ArgumentError(
                            f"{option} was given an empty word; write something there, or leave the option out."
                        )
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
            if type(error).__name__ == "NoArgsIsHelpError":  # neither is a group of commands alone
                raise
            raise _refused(error, ctx.invoked_subcommand) from error


@cache
def applications() -> dict[str, Any]:
    """Return the entry points that add commands, by name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in sorted(entry_points(group="keyhole.commands"), key=lambda point: point.name)}


@cache
def load_command(name: str) -> Any:
    """Import a command and build it: a function as typer reads it, or a typer.Typer."""
    if name in COMMANDS:
        module, _, place = COMMANDS[name][0].partition(":")
        command = getattr(import_module(f"keyhole.cli.{module}"), place)
    else:
        command = applications()[name].load()
    parent = typer.Typer(rich_markup_mode=None, context_settings=HELP)
    if isinstance(command, typer.Typer):
        for inner in command.registered_commands:
            inner.callback = share(inner.callback, f"{name} {inner.name}")
        parent.add_typer(command, name=name)
    else:
        parent.command(name)(share(command, name))
    return typer.main.get_group(parent).commands[name]


def share(command: Any, name: str) -> Any:
    """Give a command the shared options for which it has parameters, refuse it the others, and write its answer."""
    signature = inspect.signature(command)
    takes = {parameter: option for parameter, option in PARAMETERS.items() if parameter in signature.parameters}
    TAKEN[name] = set(takes.values())

    @wraps(command)
    def run(click: typer.Context, **given: Any) -> Any:
        typed = click.find_root().params
        values = {"--store": typed["store"], "--out": typed["out"]}
        for option, value in values.items():
            if value is not None and option not in TAKEN[name]:
                for every in (*COMMANDS, *applications()):
                    load_command(every)
                able = ", ".join(sorted(other for other, options in TAKEN.items() if option in options))
                raise ArgumentError(f"{option} means nothing to `keyhole {name}`; it is for {able}.")
        out = values["--out"]
        if out is not None:
            (require_folder_place if "folder" in takes or not out.suffix else require_file_place)(out)
        given |= {parameter: values[option] for parameter, option in takes.items()}
        answer = command(**given)
        if out is not None and "out" in takes:
            written = answer.save(out)
            checked = f"     next: keyhole check {quote(str(written))}" if name == "compile" else ""
            typer.echo(f"wrote {written}{checked if written.suffix == '.safetensors' else ''}", err=True)
        return answer

    parameters = [one for one in signature.parameters.values() if one.name not in takes]
    click = inspect.Parameter("click", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    run.__signature__ = signature.replace(parameters=[click, *parameters])  # type: ignore[attr-defined]
    return run


def _refused(error: Any, command: str | None = None) -> typer.Exit:
    """Say in one sentence what is wrong with the words, and where to look."""
    named: list[str] = []
    here = error.ctx
    while here is not None and here.parent is not None:
        named, here = [here.info_name, *named], here.parent
    sentence = " ".join(error.format_message().split()).rstrip(".").replace(": Value error, ", ": ")
    helping = " ".join(["keyhole", *(named or filter(None, [command])), "--help"])
    stop = "" if sentence.endswith("?") else ";"
    typer.echo(f"keyhole: {printable(sentence)}{stop} `{helping}` shows what to write.", err=True)
    return typer.Exit(INPUT)


SHARED = ("--json", "--verbose", "-v", *(VALUED := ("--store", "--out")))
PARAMETERS = {"store": "--store", "out": "--out", "folder": "--out"}  # a command that takes `folder` writes by itself
TAKEN: dict[str, set[str]] = {}  # by every command that was loaded
HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    cls=Commands,
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=HELP,
    result_callback=print_answer,
)


def show_version(wanted: bool) -> bool:
    """Print the version and stop, if that is wanted."""
    if wanted:
        typer.echo(f"keyhole {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def keyhole(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print all that the answer rests on.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the answer to a FILE; its ending is the format.")] = None,
    store: Annotated[Path | None, typer.Option(help="Folder of runs; KEYHOLE_HOME or .keyhole if not given.")] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """What can self-attention compute, infer and learn, and from how much data?"""


def main() -> None:
    """Run the command line; a terminal without our letters shows question marks, not a traceback."""
    require_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except SystemExit as stop:
        if stop.code == INTERRUPTED and "jax" in sys.modules:  # threads of a compiler that is stopped may crash the end
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(INTERRUPTED)
        raise
