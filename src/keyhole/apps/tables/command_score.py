"""`keyhole score`: make certified models with an answer key; score attributions against the key."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count
from keyhole.errors import ArgumentError

HELP = """Does an attribution find the positions that matter?

Examples:

  keyhole score suite 100 --context 64 --out suite

  keyhole score attributions suite/key.json attributions/
"""

score_command = typer.Typer(no_args_is_help=True, help=HELP)


@score_command.command("suite", short_help="Certified models with an answer key.")
def suite_command(
    models: Annotated[int, typer.Argument(metavar="N", help="How many models.")],
    context: Annotated[int, typer.Option(help="Context length T, such as 64.", parser=count, metavar="T")],
    seed: Annotated[int, typer.Option(help="Draws functions, constructions and distractors.", min=0)] = 0,
    modules: Annotated[bool, typer.Option("--modules", help="Write every model as a torch module (.py) too.")] = False,
    folder: Path | None = None,
) -> object:
    """Write N certified models, and key.json, their answer key, into the folder of --out.

    Some models have distractors: heads that attend elsewhere and change no output.

    Examples:

      keyhole score suite 100 --context 64 --out suite
    """
    from keyhole.apps.tables.suites import make_suite
    from keyhole.show.progress_view import view_progress

    if folder is None:
        raise ArgumentError("A suite needs a folder; give --out DIR.")
    with view_progress("making models") as watch:
        made = make_suite(models, context, seed, watch=watch)
        key = made.save(folder, modules=modules, watch=watch)
    typer.echo(f"wrote {models} model{'s' * (models != 1)} and the answers: {key}", err=True)
    return made


@score_command.command("attributions", short_help="Precision, recall and AUC of attributions.")
def attributions_command(
    key: Annotated[Path, typer.Argument(metavar="KEY", help="The key.json of a suite.")],
    attributions: Annotated[
        Path,
        typer.Argument(
            metavar="ATTRIBUTIONS",
            help="A .npy array, a row per input and a column per position; or a folder of them, named as the models.",
        ),
    ],
    model: Annotated[
        str | None, typer.Option(help="Which model was explained, if the file's name does not say.", metavar="NAME")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="How many positions to take; as many as are relevant, if not given.", min=1)
    ] = None,
) -> object:
    """Score attributions against a certified suite.

    Precision, recall and AUC of the relevant positions, with intervals over the inputs.

    The sizes of attributions are averaged over inputs and positions ranked once; "per input" ranks within each input.

    Examples:

      keyhole score attributions suite/key.json model-007.npy

      keyhole score attributions suite/key.json attributions/ --top 5
    """
    from keyhole.apps.tables.score import score
    from keyhole.show.progress_view import view_progress

    with view_progress("scoring"):
        return score(key, attributions, model=model, top=top)
