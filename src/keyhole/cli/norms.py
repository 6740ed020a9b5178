"""`keyhole norms`: how small a path norm can represent a function, or the norms of every head of a checkpoint."""

from collections.abc import Mapping
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyhole.cli.arguments import count, file_place
from keyhole.errors import ArgumentError, FormulaError

if TYPE_CHECKING:
    from keyhole.api.norms import Norms
    from keyhole.apps.heads.checkpoint_norms import CheckpointNorms

EXAMPLES = """
Examples:

  keyhole norms

  keyhole norms parity:4

  keyhole norms "x0 & (x1 | x2)" --output bits --json

  keyhole norms minilm

  keyhole norms ./my-model --statistic ov-rank --out heads.svg

  keyhole norms encoder.pt --heads 8 --json

  keyhole norms step-100/ step-200/ step-400/ --out drift.png
"""
WHAT = (
    "A formula or family of at most 4 bits; or a checkpoint: a folder with config.json and weights, a .safetensors or "
    "torch file, minilm or rxnmapper, several for a series. Without one, every class of functions of at most 3 bits."
)
STATISTIC = "Checkpoint: what the figure shows, qk- or ov- with spectral, frobenius, columns, rows, rank."


def norms_command(
    what: Annotated[list[str] | None, typer.Argument(metavar="WHAT...", show_default=False, help=WHAT)] = None,
    *,
    output: Annotated[
        str | None, typer.Option(help="Function: signs (1 and -1, the default) or bits (1 and 0).")
    ] = None,
    architecture: Annotated[
        str | None, typer.Option(help="Checkpoint: its family, such as bert or gpt2; else it is recognised.")
    ] = None,
    heads: Annotated[
        int | None,
        typer.Option(help="Checkpoint: number of heads, where its files do not say.", parser=count, metavar="H"),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="Checkpoint: a JSON file of settings that its own files lack.", metavar="FILE")
    ] = None,
    samples: Annotated[
        str | None, typer.Option(help="Checkpoint: samples m of the bound, 1e6 if not given.", metavar="M")
    ] = None,
    context: Annotated[
        str | None, typer.Option(help="Checkpoint: context T of the bound, 128 if not given.", metavar="T")
    ] = None,
    statistic: Annotated[str | None, typer.Option(help=STATISTIC)] = None,
    seed: Annotated[int, typer.Option(help="Draws the table of random:s, or a checkpoint's controls.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the norms as .json, .txt or .html; heads as .svg, .png, .html, .csv.",
            metavar="FILE",
            parser=file_place,
        ),
    ] = None,
) -> None:
    """The least path norm that represents a function, or the norms of W_QK and W_OV of every head of a checkpoint.

    Of a function: with a proved lower bound, beside what the constructions have; the number of samples that a bound
    asks for grows like the square of this norm.

    Of a checkpoint: spectral, Frobenius, (2,1) by columns and by rows, stable rank, beside random and shuffled weights;
    the share of each layer in a norm bound, and by how much that is vacuous. Needs no torch, and runs nothing.
    """
    from keyhole.apps.heads.checkpoint_norms import names_checkpoint
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    sources = what or []
    of_checkpoint = {
        "architecture": architecture, "heads": heads, "config": config, "samples": samples, "context": context,
        "statistic": statistic,
    }  # fmt: skip
    given = {name: value for name, value in of_checkpoint.items() if value is not None}
    answer: CheckpointNorms | Norms
    if sources and all(map(names_checkpoint, sources)):
        if output is not None:
            raise ArgumentError(f"--output {output} is of a function's norms, and {sources[0]} is a checkpoint.")
        answer = _of_checkpoint(sources, given, seed, out)
    elif len(sources) > 1:
        raise ArgumentError(f"{', '.join(sources)} are no checkpoints; name one function, or folders of one model.")
    else:
        if given:
            flags = ", ".join(f"--{name}" for name in given)
            raise ArgumentError(f"{flags} are of a checkpoint's norms, and {' '.join(sources) or 'nothing'} is none.")
        from keyhole.api.norms import norms

        try:
            with view_progress("searching"):
                answer = norms(sources[0] if sources else None, output=output or "signs", seed=seed)
        except FormulaError as error:
            if not sources[0].replace("-", "").isidentifier():
                raise
            raise ArgumentError(
                f"{sources[0]!r} is no file or folder here, no packaged model (minilm, rxnmapper), and no function; "
                "name a checkpoint by its path, or a function such as parity:4 or 'x0 & x1'."
            ) from error
    if json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.document())
    if out is not None:
        typer.echo(f"wrote {answer.save(out)}", err=True)


def _of_checkpoint(sources: list[str], given: Mapping[str, object], seed: int, out: Path | None) -> "CheckpointNorms":
    """The norms of one checkpoint or of a series, with a bar while they are computed."""
    from keyhole.apps.heads.checkpoint_norms import CheckpointNorms, checkpoint_norms
    from keyhole.show.progress_view import view_progress

    if out is not None:
        CheckpointNorms.require_ending(out)
    options: dict[str, Any] = {
        name: count(str(value)) if name in ("samples", "context") else value for name, value in given.items()
    }
    with view_progress("norms") as watch:
        return checkpoint_norms(*sources, seed=seed, watch=watch, **options)


norms_command.__doc__ = f"{cleandoc(norms_command.__doc__ or '')}\n{EXAMPLES}"
