"""`keyhole score`: whether an attribution finds the positions that matter."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from keyhole.api.score import Scores

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
    out: Annotated[Path | None, typer.Option(help="Write the scores as .json.", metavar="FILE")] = None,
) -> None:
    """Precision, recall and AUC of the relevant positions, with intervals over the inputs.

    The sizes of attributions are averaged over inputs and positions ranked once; "per input" ranks within each input.
    """
    from keyhole.api.score import score
    from keyhole.files.atomic import write_file
    from keyhole.files.record import to_json

    scores = score(key, attributions, model=model, top=top, seed=seed)
    text = to_json("score/1", scores.record())
    if json:
        typer.echo(text)
    else:
        show(scores)
    if out is not None:
        typer.echo(f"wrote {write_file(out, f'{text}{chr(10)}'.encode())}", err=True)


score_command.__doc__ = f"{score_command.__doc__}\n{EXAMPLES}"


def show(scores: "Scores") -> None:
    """A line per model, and the average where there are several."""
    from rich.markup import escape
    from rich.table import Table

    from keyhole.cli.facts import show_table

    table = Table(box=None, pad_edge=False)
    for column in ("model", "precision", "recall", "AUC", "AUC per input"):
        table.add_column(column, min_width=None if column == "model" else 14)
    for entry in scores.models:
        found = entry.score
        numbers = (found.precision, found.recall, found.auc, found.auc_per_input)
        table.add_row(escape(Path(entry.file).stem), *(f"{n.value:.2f} {n.low:.2f}–{n.high:.2f}" for n in numbers))
    if len(scores.models) > 1:
        means = [f"{scores.mean(measure):.2f}" for measure in ("precision", "recall", "auc", "auc_per_input")]
        table.add_row("average", *means)
    show_table(table)
    first = scores.models[0].score
    typer.echo(f"intervals: 95 of 100 among {first.resamples} resamples of the inputs, seed {first.seed}")
