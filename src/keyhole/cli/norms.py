"""`keyhole norms`: the norms of every head of a checkpoint."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count

EXAMPLES = """
Examples:

  keyhole norms minilm

  keyhole norms ./my-model --statistic ov-rank --out heads.svg

  keyhole norms encoder.pt --heads 8 --json

  keyhole norms step-100 step-200 step-400 --out drift.png
"""
SOURCES = (
    "A folder with config.json and weights, a .safetensors or torch file, minilm or rxnmapper; several are a series."
)


def norms_command(
    sources: Annotated[list[str], typer.Argument(metavar="DIR...", help=SOURCES)],
    *,
    architecture: Annotated[
        str | None, typer.Option(help="Read it as this family, such as bert or gpt2; else it is recognised.")
    ] = None,
    heads: Annotated[
        int | None, typer.Option(help="Number of heads, where no file says it.", parser=count, metavar="H")
    ] = None,
    samples: Annotated[str, typer.Option(help="Samples m of the bound whose shares are told.", metavar="M")] = "1e6",
    context: Annotated[str, typer.Option(help="Context T of that bound.", metavar="T")] = "128",
    statistic: Annotated[
        str, typer.Option(help="Shown by the figure: qk- or ov- with spectral, frobenius, columns, rows, rank.")
    ] = "qk-spectral",
    seed: Annotated[int, typer.Option(help="Draws the controls.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write a file: .json or .txt for the norms; .svg, .png, .html or .csv for the head grid.",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Norms of W_QK and W_OV of every head of a local checkpoint, beside random and shuffled weights.

    Spectral, Frobenius, (2,1) by columns and by rows, stable rank; the share of each layer in a norm bound, and by how
    much that is vacuous. Needs no torch, and runs nothing of the files.
    """
    from keyhole.api.norms import Norms, norms
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    if out is not None:
        Norms.require_ending(out)
    with view_progress("norms") as watch:
        answer = norms(
            *sources,
            architecture=architecture,
            heads=heads,
            samples=float(count(samples)),
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


norms_command.__doc__ = f"{norms_command.__doc__}\n{EXAMPLES}"
