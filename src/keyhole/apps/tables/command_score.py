"""`keyhole score`: whether an attribution finds the positions that matter."""

from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import file_place

EXAMPLES = """
Examples:

  keyhole score suite/key.json model-007.npy

  keyhole score suite/key.json occlusion.npy --model model-007 --json

  keyhole score suite/key.json attributions/ --top 5
"""


def score_command(
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
    seed: Annotated[int, typer.Option(help="Draws the resamples of the intervals.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the scores as .json, .txt or .html.", metavar="FILE", parser=file_place)
    ] = None,
) -> None:
    """Score attributions against a certified suite.

    Precision, recall and AUC of the relevant positions, with intervals over the inputs.

    The sizes of attributions are averaged over inputs and positions ranked once; "per input" ranks within each input.
    """
    from keyhole.apps.tables.score import Scores, score
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    if out is not None:
        Scores.require_ending(out)
    with view_progress("scoring"):
        scores = score(key, attributions, model=model, top=top, seed=seed)
    if json:
        typer.echo(scores.to_json())
    else:
        print_document(scores.document())
    if out is not None:
        typer.echo(f"wrote {scores.save(out)}", err=True)


score_command.__doc__ = f"{cleandoc(score_command.__doc__ or '')}\n{EXAMPLES}"
