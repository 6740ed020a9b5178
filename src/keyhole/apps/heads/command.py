"""`keyhole heads`: what the heads of a checkpoint do on text, images or rows of numbers."""

import re
from pathlib import Path
from typing import Annotated

import typer

from keyhole.errors import ArgumentError

SOURCE = "A folder with config.json and weights, a .safetensors or torch file, minilm or rxnmapper."
Source = Annotated[str, typer.Argument(metavar="CHECKPOINT", help=SOURCE)]
Config = Annotated[
    Path | None,
    typer.Option(help="JSON of settings its own files lack, such as num_attention_heads.", metavar="FILE"),
]
Text = Annotated[Path | None, typer.Option(help="A file with a text on every line.", metavar="FILE")]
Images = Annotated[Path | None, typer.Option(help="A folder of images, or an array as .npy, .npz.", metavar="PLACE")]
Rows = Annotated[
    Path | None, typer.Option(help="Rows (inputs, T, features), or tokens (inputs, T), as .npy, .npz.", metavar="FILE")
]
Head = Annotated[str | None, typer.Option(help="One head, as layer-head from 1.", metavar="L-H")]


def heads_command(
    source: Source,
    *,
    text: Text = None,
    images: Images = None,
    rows: Rows = None,
    config: Config = None,
    head: Head = None,
    through: Annotated[
        str, typer.Option(help="What runs the model: keyhole, or transformers (text; other families).")
    ] = "keyhole",
    seed: Annotated[int, typer.Option(help="Draws the controls.", min=0)] = 0,
    out: Path | None = None,
) -> object:
    """Classify each head on data.

    A head is sparse, local, a sink, broad or near-uniform; two controls stand beside it.

    Entropy, effective support, largest weight, weight on neighbours and on sinks, with sinks and without. With --head
    the figure shows that head's attention on the first input. Text needs the extra hf.

    --out writes .json or .txt, or a figure (.svg, .png, .html, .csv).

    Examples:

      keyhole heads minilm --text sentences.txt

      keyhole heads minilm --text a.txt --head 3-7 --out map.png

      keyhole heads vit.pt --images digits/ --config vit.json --json
    """
    from keyhole.apps.heads.head_data import data_of
    from keyhole.apps.heads.heads import Heads, heads
    from keyhole.apps.heads.model_source import open_checkpoint
    from keyhole.apps.heads.transformers_maps import outside_model
    from keyhole.show.progress_view import view_progress

    Heads.require_ending(out)
    if through not in ("keyhole", "transformers"):
        raise ArgumentError(f"{through!r} is not a forward pass; choose keyhole or transformers.")
    if through == "transformers" and config is not None:
        raise ArgumentError("transformers reads a folder's own settings; leave out --config.")
    data = data_of(text, images, rows)
    chosen = None if head is None else layer_head(head)
    model = outside_model(source) if through == "transformers" else open_checkpoint(source, config=config)
    with view_progress("heads") as watch:
        return heads(model, data, head=chosen, seed=seed, watch=watch)


def layer_head(text: str) -> tuple[int, int]:
    """Return a head, written as counted from 1, by its numbers from 0.

    >>> layer_head("3-7")
    (2, 6)
    """
    match = re.fullmatch(r"([1-9]\d{0,3})-([1-9]\d{0,3})", text)
    if match is None:
        raise ArgumentError(f"The head {text!r} was asked for; write layer-head, counted from 1, such as 3-7.")
    return int(match[1]) - 1, int(match[2]) - 1
