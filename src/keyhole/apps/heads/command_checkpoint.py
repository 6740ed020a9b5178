"""`keyhole checkpoint`: the norms of every head of a checkpoint, and what they guarantee."""

from pathlib import Path
from typing import Annotated, Any

import typer

from keyhole.cli.arguments import count, file_place

HELP = """The norms of a checkpoint's heads, and what they guarantee.

Examples:

  keyhole checkpoint norms ./my-model --statistic ov-rank --out heads.svg

  keyhole checkpoint norms encoder.pt --heads 8 --json

  keyhole checkpoint norms step-100/ step-200/ step-400/ --out drift.png

  keyhole checkpoint bound minilm --samples 1e9 --context 128

  keyhole checkpoint bound vit.pt --config vit.json --samples 60000

  keyhole checkpoint order tsp.pt --rows points.npy
"""
checkpoint_app = typer.Typer(no_args_is_help=True, help=HELP)

SOURCE = "A folder with config.json and weights, a .safetensors or torch file, minilm or rxnmapper."
Source = Annotated[str, typer.Argument(metavar="CHECKPOINT", help=SOURCE)]
Config = Annotated[
    Path | None,
    typer.Option(help="A JSON file of settings that its own files lack, such as heads.", metavar="FILE"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]

STATISTIC = "What the figure shows: qk- or ov- with spectral, frobenius, columns, rows, rank."


@checkpoint_app.command("norms", short_help="The norms of W_QK and W_OV of every head.")
def norms_command(
    sources: Annotated[list[str], typer.Argument(metavar="CHECKPOINT...", help=f"{SOURCE} Several for a series.")],
    *,
    architecture: Annotated[
        str | None, typer.Option(help="Its family, such as bert or gpt2; else it is recognised.")
    ] = None,
    heads: Annotated[
        int | None, typer.Option(help="Number of heads, where its files do not say.", parser=count, metavar="H")
    ] = None,
    config: Config = None,
    samples: Annotated[str, typer.Option(help="Samples m of the bound.", metavar="M")] = "1e6",
    context: Annotated[str, typer.Option(help="Context T of the bound.", metavar="T")] = "128",
    statistic: Annotated[str, typer.Option(help=STATISTIC)] = "qk-spectral",
    seed: Annotated[int, typer.Option(help="Draws the controls.", min=0)] = 0,
    json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a .json, .txt, .svg, .png, .html or .csv.", metavar="FILE", parser=file_place),
    ] = None,
) -> None:
    """Show the norms of W_QK and W_OV of every head beside random and shuffled weights.

    Spectral, Frobenius, (2,1) by columns and by rows, stable rank; the share of each layer in a norm bound, and by how
    much that is vacuous. Needs no torch, and runs nothing.
    """
    from keyhole.apps.heads.checkpoint_norms import CheckpointNorms, checkpoint_norms
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    if out is not None:
        CheckpointNorms.require_ending(out)
    with view_progress("norms") as watch:
        answer = checkpoint_norms(
            *sources,
            architecture=architecture,
            heads=heads,
            config=config,
            samples=count(samples),
            context=count(context),
            statistic=statistic,
            seed=seed,
            watch=watch,
        )
    if json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.document())
    if out is not None:
        typer.echo(f"wrote {answer.save(out)}", err=True)


@checkpoint_app.command("bound", short_help="What its norms guarantee after M samples.")
def bound_command(
    source: Source,
    *,
    samples: Annotated[str, typer.Option(help="Number of training samples, m, such as 1e6.", metavar="M")],
    context: Annotated[
        str | None, typer.Option(help="Number of positions, T; 128, or those of a model of images.", metavar="T")
    ] = None,
    config: Config = None,
    delta: Annotated[float, typer.Option(help="Probability with which the bound may fail.")] = 0.01,
    json: Json = False,
    out: Annotated[
        Path | None, typer.Option(help="Write a .txt, .json or .html.", metavar="FILE", parser=file_place)
    ] = None,
) -> None:
    """Say what the norms of CHECKPOINT guarantee after M samples, by every theorem that applies.

    A model of one layer that reads images, and whose norms only centre, has a bound of its own; for any other the bound
    is that of a stand-in.
    """
    from keyhole.apps.heads.checkpoint_bound import CheckpointBound, checkpoint_bound
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    if out is not None:
        CheckpointBound.require_ending(out)
    with view_progress("bounding"):
        answer: Any = checkpoint_bound(
            source, count(samples), count(context) if context else None, delta=delta, config=config
        )
    if out is not None:
        typer.echo(f"wrote {answer.save(out)}", err=True)
    elif json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.document())


@checkpoint_app.command("order", short_help="Whether it depends on the order of its rows.")
def order_command(
    source: Source,
    *,
    text: Annotated[Path | None, typer.Option(help="A file with a text on every line.", metavar="FILE")] = None,
    images: Annotated[Path | None, typer.Option(help="A folder of images, or .npy, .npz.", metavar="PLACE")] = None,
    rows: Annotated[
        Path | None, typer.Option(help="Rows (inputs, T, features), or tokens, as .npy, .npz.", metavar="FILE")
    ] = None,
    config: Config = None,
    context: Annotated[
        int | None, typer.Option(help="Rows that later ones see, as in prior-fitted networks.", min=2)
    ] = None,
    json: Json = False,
) -> None:
    """Test whether CHECKPOINT is exchangeable: exit code 0 if it is, 1 if not.

    Do its last rows move with its rows and their positions, how far do they change when rows move and positions stay,
    and does a row change when those before it are reordered?
    """
    from keyhole.apps.heads.model_order import model_order
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    with view_progress("moving rows"):
        answer = model_order(source, text=text, images=images, rows=rows, config=config, context=context)
    if json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.document())
    if answer.exchangeable is False:
        raise typer.Exit(1)
