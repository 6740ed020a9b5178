"""`keyhole certify`: what a model computes on every input, and the error one can promise."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count, file_place

FILE = (
    "A run of `keyhole learn`, by the beginning of its name; or a model file: keyhole's own, or PyTorch weights in "
    "safetensors with a description beside them."
)
DATA = "The training set: .npz with inputs (m, T) and labels (m,), or .csv with the label last."
LINES = 8  # of a head's list, where only its picture was asked for
OUT = "Write the certificate (.json, .txt or .html), or the model it is about (.safetensors)."


def certify_command(
    file: Annotated[str, typer.Argument(metavar="RUN|FILE", help=FILE, show_default=False)],
    data: Annotated[Path | None, typer.Option(help=DATA, metavar="FILE")] = None,
    holdout: Annotated[Path | None, typer.Option(help="Labelled inputs the model never saw.", metavar="FILE")] = None,
    assume_junta: Annotated[
        int | None, typer.Option(help="Assume that the target reads at most S positions.", metavar="S", min=0)
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Where there is no proof, change the model until there is one.")
    ] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds for the proof.", metavar="S")] = 10.0,
    delta: Annotated[float, typer.Option(help="Chance of a wrong certificate, for each kind of promise.")] = 0.01,
    bias: Annotated[
        float | None, typer.Option(help="Probability of a 1 where inputs are bits; one half if not said.", metavar="P")
    ] = None,
    accepted: Annotated[
        float | None, typer.Option(help="Probability with which a drawn training set was kept.", metavar="P")
    ] = None,
    label_noise: Annotated[
        float, typer.Option(help="Share of the labels of --data that are wrong, in expectation.", metavar="P")
    ] = 0.0,
    store: Annotated[
        Path | None, typer.Option(help="Folder of the runs; KEYHOLE_HOME or .keyhole if not given.", metavar="DIR")
    ] = None,
    fresh: Annotated[
        str, typer.Option(help="Fresh inputs to compare on where there is no proof.", metavar="N")
    ] = "1e6",
    lists: Annotated[
        int | None,
        typer.Option(help="Read every head as decision lists too, and show so many lines of each.", metavar="N", min=1),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the lists (.svg, .png, .html or .csv).", metavar="FILE", parser=file_place)
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws every random input.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[Path | None, typer.Option(help=OUT, metavar="FILE", parser=file_place)] = None,
) -> None:
    """Say what a model computes, prove it on all inputs or refute it, and bound its error from its training set.

    PROVED means that the model equals the printed function on every input; it does not mean that either is right.

    Exit code 0 if the question was answered (also undecided or vacuous), 1 if
    model and function disagree on some input, 2 for bad input.

    Examples:

      keyhole certify and.safetensors

      keyhole certify 3f0a91c2 --assume-junta 3

      keyhole certify weights.safetensors --data train.npz --assume-junta 3

      keyhole certify w.safetensors --data noisy.csv --label-noise 0.05

      keyhole certify a.safetensors --data d.npz --repair --out b.safetensors

      keyhole certify and.safetensors --lists 8 --picture lists.svg
    """
    from keyhole.api.certify import Certified, certify
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress
    from keyhole.show.site import require_format, save_figure

    if out is not None:
        Certified.require_ending(out)
    if picture is not None:
        require_format(picture)
    with view_progress("reading the model") as watch:
        certified = certify(
            file,
            data,
            holdout=holdout,
            assume_junta=assume_junta,
            repair=repair,
            time_limit=time_limit,
            delta=delta,
            bias=bias,
            accepted=accepted,
            label_noise=label_noise,
            fresh=count(fresh),
            seed=seed,
            store=store,
            watch=watch,
            tell=lambda said: typer.echo(said, err=True),
            lists=LINES if lists is None and picture is not None else lists,
        )
    if json:
        typer.echo(certified.to_json())
    else:
        print_document(certified.document())
    if out is not None:
        typer.echo(f"wrote {certified.save(out)}", err=True)
    if picture is not None:
        typer.echo(f"wrote {save_figure(certified.lists_figure(), picture)}", err=True)
    if certified.status == "COUNTEREXAMPLE":
        raise typer.Exit(1)
