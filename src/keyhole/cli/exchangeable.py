"""`keyhole exchangeable`: whether sequences could come from a latent variable."""

from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count, refuse_ignored
from keyhole.errors import ArgumentError

EXAMPLES = """
Examples:

  keyhole exchangeable tokens.npy

  keyhole exchangeable words.csv --test order --permutations 9999

  keyhole exchangeable positions.npy --test extendible --json

  keyhole exchangeable --model minilm --text sentences.txt

  keyhole exchangeable --model tsp.pt --rows points.npy
"""


def exchangeable_command(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="A .npy array or .csv table, a row per sequence: letters (whole numbers, words), or reals.",
        ),
    ] = None,
    *,
    model: Annotated[
        str | None, typer.Option(help="Test a model instead of DATA: a checkpoint, or minilm.", metavar="CHECKPOINT")
    ] = None,
    text: Annotated[Path | None, typer.Option(help="Model: a file with a text on every line.", metavar="FILE")] = None,
    images: Annotated[
        Path | None, typer.Option(help="Model: a folder of images, or .npy, .npz.", metavar="PLACE")
    ] = None,
    rows: Annotated[
        Path | None, typer.Option(help="Model: rows (inputs, T, features), or tokens, as .npy, .npz.", metavar="FILE")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Model: a JSON file of settings that its own files lack.", metavar="FILE")
    ] = None,
    context: Annotated[
        int | None, typer.Option(help="Model: rows that later ones see, as in prior-fitted networks.", min=2)
    ] = None,
    test: Annotated[
        str, typer.Option(help="order (does it matter?), extendible (can a latent explain them?), or both.")
    ] = "both",
    permutations: Annotated[
        str | None,
        typer.Option(
            help="Reorderings to compare with, such as 9999 or 1e4; 999 if not given, fewer for large tables.",
            metavar="B",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        float,
        typer.Option(
            help="Largest probability of rejecting independent sequences that have a latent, for all tests together."
        ),
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Draws the reorderings and the halves.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Test whether DATA, a row per sequence, is exchangeable and could have a latent variable; or whether a model is.

    Exits with 1 if that is rejected, with 0 if not. Sequences must be independent of each other; then the level holds
    for every latent variable and any number of sequences. Rows that repeat beyond chance count once. Not to reject
    proves nothing.

    With --model: whether its last rows move with its rows and their positions, how far they change when rows move and
    positions stay, and whether a row changes when those before it are reordered. Exits with 1 where it is not so.
    """
    from keyhole.api.exchangeable import exchangeable
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    of_model = {
        "--text": text is not None, "--images": images is not None, "--rows": rows is not None,
        "--config": config is not None, "--context": context is not None,
    }  # fmt: skip
    if model is not None:
        of_data = {
            "DATA": data is not None, "--test": test != "both", "--permutations": permutations is not None,
            "--level": level != 0.05,
        }  # fmt: skip
        refuse_ignored(of_data, "a model is asked")
        _ask_model(model, text, images, rows, config, context, seed, json)
        return
    refuse_ignored(of_model, "no --model is named")
    if data is None:
        raise ArgumentError("Neither DATA nor --model was given; `keyhole exchangeable --help` has examples.")
    asked = None if permutations is None else count(permutations)
    with view_progress("reordering") as watch:
        answer = exchangeable(data, test=test, permutations=asked, level=level, seed=seed, watch=watch)
    if json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.document())
    if answer.rejected:
        raise typer.Exit(1)


def _ask_model(
    model: str,
    text: Path | None,
    images: Path | None,
    rows: Path | None,
    config: Path | None,
    context: int | None,
    seed: int,
    json: bool,
) -> None:
    """Ask a model, print the answer, and exit with 1 where it is not exchangeable."""
    from keyhole.apps.heads.model_order import model_order
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    with view_progress("moving rows"):
        answer = model_order(model, text=text, images=images, rows=rows, config=config, context=context, seed=seed)
    if json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.document())
    if answer.exchangeable is False:
        raise typer.Exit(1)


exchangeable_command.__doc__ = f"{cleandoc(exchangeable_command.__doc__ or '')}\n{EXAMPLES}"
