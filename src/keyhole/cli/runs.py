"""`keyhole runs`: the finished runs of a store, listed, shown and compared."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import complete_runs, counts

Task = Annotated[str, typer.Option("--task", help="Only runs of this task, such as and:3.", metavar="NAME")]
Learner = Annotated[str, typer.Option("--learner", help="Only runs of this learner.", metavar="NAME")]
Context = Annotated[str, typer.Option("--context", help="Only these contexts, as in 25..800.", metavar="LIST")]

runs_app = typer.Typer(no_args_is_help=True)


@runs_app.callback()
def runs_command() -> None:
    """List, show or compare the runs that `keyhole learn` keeps.

    Examples:

      keyhole runs list --task and:3 --context 25..100

      keyhole runs show 3f9a

      keyhole runs list --learner transformer --out runs.csv
    """


@runs_app.command("list")
def list_command(
    task: Task = "",
    learner: Learner = "",
    context: Context = "",
    store: Path | None = None,
    out: Path | None = None,
) -> object:
    """List the finished runs, one on a line.

    --out writes them as a table for other programs, with every setting of task and learner (.csv), or as .json, .txt.

    Examples:

      keyhole runs list --task and:3 --context 25..100

      keyhole runs list --learner transformer --out runs.csv
    """
    from keyhole.api.runs import Runs, runs

    Runs.require_ending(out)
    return runs(task=task, learner=learner, contexts=counts(context) if context else (), store=store)


@runs_app.command("show")
def show_command(
    run: Annotated[
        str,
        typer.Argument(help="Its name, or as much of it as no other run has; or last.", autocompletion=complete_runs),
    ],
    store: Path | None = None,
    out: Path | None = None,
) -> object:
    """Show one run: its result, and with -v its settings and the versions it was computed with.

    --out draws its readings (loss, accuracy, attention, Fourier weight) by step: .html, .svg, .pdf, .png or .csv.

    Examples:

      keyhole runs show 3f9a

      keyhole runs show 3f9a --out curves.html
    """
    from keyhole.api.runs import RunInFull, show_run

    RunInFull.require_ending(out)
    return show_run(run, store=store)


@runs_app.command("compare")
def compare_command(
    other: Annotated[Path, typer.Argument(help="Folder of the other store.", metavar="DIR")],
    store: Path | None = None,
) -> object:
    """Set the runs of two stores beside each other, cell by cell; exit code 1 where some cell differs.

    Runs that both stores hold must be equal to the bit; of the others the successes are compared by Fisher's exact
    test, with Holm's procedure over all cells.

    Example:

      keyhole runs compare ../colleague/.keyhole
    """
    from keyhole.api.compare_runs import compare_runs

    return compare_runs(other, store=store)
