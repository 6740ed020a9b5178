"""`keyhole runs`: the finished runs of a store, listed, shown, compared and exported."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import Store, counts, file_place
from keyhole.cli.output import written
from keyhole.errors import ArgumentError

Task = Annotated[str, typer.Option("--task", help="Only runs of this task, such as and:3.", metavar="NAME")]
Learner = Annotated[str, typer.Option("--learner", help="Only runs of this learner.", metavar="NAME")]
Context = Annotated[str, typer.Option("--context", help="Only these contexts, as in 25..800.", metavar="LIST")]
CURVES = "Draw its readings (loss, accuracy, attention, Fourier weight) by step: .html, .svg, .pdf, .png or .csv."

runs_app = typer.Typer(no_args_is_help=True)


@runs_app.callback()
def runs_command() -> None:
    """List, show, compare or export the runs that `keyhole learn` keeps.

    Examples:

      keyhole runs list --task and:3 --context 25..100

      keyhole runs show 3f9a

      keyhole runs export runs.csv --learner transformer
    """


@runs_app.command("list")
def list_command(
    task: Task = "",
    learner: Learner = "",
    context: Context = "",
    store: Store = None,
) -> object:
    """List the finished runs, one on a line.

    Example:

      keyhole runs list --task and:3 --context 25..100
    """
    from keyhole.api.runs import runs

    return runs(task=task, learner=learner, contexts=counts(context) if context else (), store=store)


@runs_app.command("show")
def show_command(
    run: Annotated[str, typer.Argument(help="Its name, or as much of it as no other run has.")],
    store: Store = None,
    out: Annotated[Path | None, typer.Option("--out", help=CURVES, metavar="FILE", parser=file_place)] = None,
) -> object:
    """Show one run: its result, and with -v its settings and the versions it was computed with.

    Examples:

      keyhole runs show 3f9a

      keyhole runs show 3f9a --out curves.html
    """
    from keyhole.api.runs import RunInFull, show_run

    if out is not None:
        RunInFull.require_ending(out)
    stored = show_run(run, store=store)
    return written(stored, out)


@runs_app.command("export")
def export_command(
    file: Annotated[Path, typer.Argument(help="A .csv file.", metavar="FILE.csv", parser=file_place)],
    task: Task = "",
    learner: Learner = "",
    context: Context = "",
    store: Store = None,
) -> None:
    """Write the runs as a table for other programs, with every setting of task and learner.

    Example:

      keyhole runs export and.csv --task and:3
    """
    from keyhole.api.runs import runs

    if file.suffix.lower() != ".csv":
        raise ArgumentError(f"Runs are exported as .csv, and {file.name!r} ends otherwise; name a .csv file.")
    chosen = runs(task=task, learner=learner, contexts=counts(context) if context else (), store=store)
    typer.echo(f"wrote {chosen.save(file)}: {len(chosen.runs):,} run{'s' * (len(chosen.runs) != 1)}", err=True)


@runs_app.command("compare")
def compare_command(
    other: Annotated[Path, typer.Argument(help="Folder of the other store.", metavar="DIR")],
    store: Store = None,
) -> object:
    """Set the runs of two stores beside each other, cell by cell; exit code 1 where some cell differs.

    Runs that both stores hold must be equal to the bit; of the others the successes are compared by Fisher's exact
    test, with Holm's procedure over all cells.

    Example:

      keyhole runs compare ../colleague/.keyhole
    """
    from keyhole.api.compare_runs import compare_runs

    return compare_runs(other, store=store)
