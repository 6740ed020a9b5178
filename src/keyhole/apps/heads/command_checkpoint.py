"""`keyhole checkpoint`: norms of every head of a checkpoint, what they guarantee, and what else its heads are."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.apps.heads.command import SOURCE, Config, Head, Images, Rows, Source, Text, layer_head
from keyhole.cli.arguments import count

HELP = """Measure the heads of a checkpoint in several ways.

--out writes .json or .txt, or a figure (.svg, .png, .html, .csv).

Examples:

  keyhole checkpoint norms ./my-model --out heads.svg

  keyhole checkpoint norms step-100/ step-200/ step-400/ --out drift.png

  keyhole checkpoint norms minilm --samples 1e9

  keyhole checkpoint order tsp.pt --rows points.npy

  keyhole checkpoint estimator minilm --text long.txt --head 3-7

  keyhole checkpoint relations minilm dev.conllu test.conllu
"""
checkpoint_app = typer.Typer(no_args_is_help=True, help=HELP)


@checkpoint_app.command("norms", short_help="The norms of W_QK and W_OV of every head.")
def norms_command(
    sources: Annotated[list[str], typer.Argument(metavar="CHECKPOINT...", help=f"{SOURCE} Several for a series.")],
    *,
    samples: Annotated[str, typer.Option(help="Training samples of the norm bound.", metavar="M")] = "1e6",
    context: Annotated[str, typer.Option(help="Its number of positions.", metavar="T")] = "128",
    config: Config = None,
    out: Path | None = None,
) -> object:
    """Show the norms of W_QK and W_OV of every head beside random and shuffled weights.

    Spectral, Frobenius, (2,1) by columns and by rows, stable rank; the share of each layer in a norm bound after M
    samples, and by how much that is vacuous. Nothing of the files is run.
    """
    from keyhole.apps.heads.checkpoint_norms import CheckpointNorms, checkpoint_norms
    from keyhole.apps.heads.model_source import open_checkpoint
    from keyhole.show.progress_view import view_progress

    CheckpointNorms.require_ending(out)
    with view_progress("norms") as watch:
        checkpoints = (open_checkpoint(each, config=config) for each in sources)
        return checkpoint_norms(*checkpoints, samples=count(samples), context=count(context), watch=watch)


@checkpoint_app.command("order", short_help="Whether it depends on the order of its rows.")
def order_command(
    source: Source,
    *,
    text: Text = None,
    images: Images = None,
    rows: Rows = None,
    config: Config = None,
    context: Annotated[
        int | None, typer.Option(help="Rows that later ones see, as in prior-fitted networks.", min=2)
    ] = None,
) -> object:
    """Test whether CHECKPOINT is exchangeable: exit code 0 if it is, 1 if not.

    Do its last rows move with its rows and their positions, how far do they change when rows move and positions stay,
    and does a row change when those before it are reordered?
    """
    from keyhole.apps.heads.head_data import data_of
    from keyhole.apps.heads.model_source import open_checkpoint
    from keyhole.apps.heads.order import model_order
    from keyhole.show.progress_view import view_progress

    data = data_of(text, images, rows)
    with view_progress("moving rows"):
        return model_order(open_checkpoint(source, config=config), data, context=context)


@checkpoint_app.command("estimator", short_help="Which estimator of its values each head is.")
def estimator_command(
    source: Source,
    *,
    text: Text = None,
    images: Images = None,
    rows: Rows = None,
    config: Config = None,
    head: Head = None,
    out: Path | None = None,
) -> object:
    """Find the kernel estimator that fits each head's queries, keys and values, and its bandwidth.

    The head itself, and the same model with shuffled and with random weights, stand beside it.
    """
    from keyhole.apps.heads.estimator import HeadEstimator, head_estimator
    from keyhole.apps.heads.head_data import data_of
    from keyhole.apps.heads.model_source import open_checkpoint
    from keyhole.show.progress_view import view_progress

    HeadEstimator.require_ending(out)
    data = data_of(text, images, rows)
    chosen = None if head is None else layer_head(head)
    with view_progress("estimators") as watch:
        return head_estimator(open_checkpoint(source, config=config), data, head=chosen, watch=watch)


@checkpoint_app.command("relations", short_help="Which head finds each relation of a treebank.")
def relations_command(
    source: Source,
    chosen: Annotated[Path, typer.Argument(metavar="DEV", help="A CoNLL-U file on which heads are chosen.")],
    scored: Annotated[Path, typer.Argument(metavar="TEST", help="The CoNLL-U file on which they are scored.")],
    *,
    config: Config = None,
    out: Path | None = None,
) -> object:
    """Find the head of each relation of a treebank, beside the best fixed offset and both controls."""
    from keyhole.apps.heads.head_annotation import HeadsAnnotation, heads_annotation
    from keyhole.apps.heads.model_source import open_checkpoint
    from keyhole.show.progress_view import view_progress

    HeadsAnnotation.require_ending(out)
    with view_progress("relations") as watch:
        return heads_annotation(open_checkpoint(source, config=config), chosen_on=chosen, scored_on=scored, watch=watch)
