"""`keyhole runs`: the finished runs of a store, listed, shown, compared, exported and deleted."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from keyhole.cli.arguments import counts, file_place
from keyhole.errors import ArgumentError

if TYPE_CHECKING:
    from keyhole.api.runs import Runs

Task = Annotated[str, typer.Option("--task", help="Only runs of this task, such as and:3.", metavar="NAME")]
Learner = Annotated[str, typer.Option("--learner", help="Only runs of this learner.", metavar="NAME")]
Context = Annotated[str, typer.Option("--context", help="Only these contexts, as in 25..800.", metavar="LIST")]
Folder = Annotated[
    Path | None,
    typer.Option("--store", help="Folder of the runs; KEYHOLE_HOME or .keyhole if not given.", metavar="DIR"),
]
CURVES = "Draw its readings (loss, accuracy, attention, Fourier weight) by step: .html, .svg, .pdf, .png or .csv."
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


class Listing(TyperGroup):
    """Lists where no other command is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `--task and:3` as `list --task and:3`."""
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


runs_app = typer.Typer(cls=Listing)


@runs_app.callback()
def runs_command() -> None:
    """List, show, compare, export or prune (delete) the runs that `keyhole learn` keeps; alone, it lists them.

    Examples:

      keyhole runs --task and:3 --context 25..100

      keyhole runs show 3f9a

      keyhole runs export runs.csv --learner transformer

      keyhole runs compare ../colleague/.keyhole --task and:3

      keyhole runs prune --task parity:3
    """


@runs_app.command("list")
def list_command(
    task: Task = "", learner: Learner = "", context: Context = "", store: Folder = None, json: AsJson = False
) -> None:
    """List the finished runs, one on a line.

    Example:

      keyhole runs list --task and:3 --context 25..100
    """
    from keyhole.cli.printing import print_document

    chosen = _runs(task, learner, context, store)
    if json:
        typer.echo(chosen.to_json())
        return
    print_document(chosen.document())
    typer.echo(f"{_counted(chosen)} in {chosen.store.absolute()}", err=True)


@runs_app.command("show")
def show_command(
    run: Annotated[str, typer.Argument(help="Its name, or as much of it as no other run has.")],
    store: Folder = None,
    out: Annotated[Path | None, typer.Option("--out", help=CURVES, metavar="FILE", parser=file_place)] = None,
    json: AsJson = False,
) -> None:
    """Show everything about one run: its settings, its result, and the versions it was computed with.

    Examples:

      keyhole runs show 3f9a

      keyhole runs show 3f9a --out curves.html
    """
    from keyhole.api.runs import RunInFull, show_run
    from keyhole.cli.printing import print_document

    if out is not None:
        RunInFull.require_ending(out)
    stored = show_run(run, store=store)
    if out is not None:
        typer.echo(f"wrote {stored.save(out)}", err=True)
    if json:
        typer.echo(stored.to_json())
    else:
        print_document(stored.document())


@runs_app.command("export")
def export_command(
    file: Annotated[Path, typer.Argument(help="A .csv file.", metavar="FILE.csv", parser=file_place)],
    task: Task = "",
    learner: Learner = "",
    context: Context = "",
    store: Folder = None,
    json: AsJson = False,
) -> None:
    """Write the runs as a table for other programs, with every setting of task and learner.

    Example:

      keyhole runs export and.csv --task and:3
    """
    if file.suffix.lower() != ".csv":
        raise ArgumentError(f"Runs are exported as .csv, and {file.name!r} ends otherwise; name a .csv file.")
    chosen = _runs(task, learner, context, store)
    typer.echo(f"wrote {chosen.save(file)}: {_counted(chosen)}", err=True)
    if json:
        typer.echo(chosen.to_json())


@runs_app.command("compare")
def compare_command(
    other: Annotated[Path, typer.Argument(help="Folder of the other store.", metavar="DIR")],
    task: Task = "",
    learner: Learner = "",
    context: Context = "",
    level: Annotated[
        float, typer.Option("--level", help="Chance of a false alarm over all cells, at most.", metavar="SHARE")
    ] = 0.05,
    store: Folder = None,
    json: AsJson = False,
) -> None:
    """Set the runs of two stores beside each other, cell by cell; exit code 1 where some cell differs.

    Runs that both stores hold must be equal to the bit; of the others the successes are compared by Fisher's exact
    test, with Holm's procedure over all cells.

    Example:

      keyhole runs compare ../colleague/.keyhole --task and:3
    """
    from keyhole.api.compare_runs import compare_runs
    from keyhole.cli.printing import print_document

    chosen = {"task": task, "learner": learner, "contexts": counts(context) if context else ()}
    found = compare_runs(other, store=store, level=level, **chosen)  # type: ignore[arg-type]
    if json:
        typer.echo(found.to_json())
    else:
        print_document(found.document())
    if not found.agree:
        raise typer.Exit(1)


@runs_app.command("prune")
def prune_command(
    task: Task = "",
    learner: Learner = "",
    context: Context = "",
    everything: Annotated[bool, typer.Option("--all", help="Delete every run of the store.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    store: Folder = None,
    json: AsJson = False,
) -> None:
    """Delete runs and their weights; a sweep that needs them makes them again.

    Example:

      keyhole runs prune --task parity:3 --context 40
    """
    from keyhole.api.runs import forget_runs

    if not (task or learner or context or everything):
        raise ArgumentError("Which runs to delete was not said; give --task, --learner, --context or --all.")
    chosen = _runs(task, learner, context, store)
    if chosen:
        if not (yes or sys.stdin.isatty()):
            raise ArgumentError("Deleting runs needs a yes, and there is no terminal to ask at; give --yes.")
        typer.echo(chosen.cost, err=json)
        if not (yes or typer.confirm("Delete them?", default=False)):
            typer.echo("nothing was deleted", err=json)
            return
        forget_runs(chosen)
    said = f"deleted {_counted(chosen)}" if chosen else "there is no such run; nothing was deleted"
    typer.echo(said, err=json)
    if json:
        typer.echo(chosen.to_json())


def _counted(chosen: "Runs") -> str:
    return f"{len(chosen):,} run{'s' * (len(chosen) != 1)}"


def _runs(task: str, learner: str, context: str, store: Path | None) -> "Runs":
    from keyhole.api.runs import runs

    return runs(task=task, learner=learner, contexts=counts(context) if context else (), store=store)
