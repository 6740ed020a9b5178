"""`keyhole pretrain`: what masked pretraining learns, and what it is worth downstream."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count, counts
from keyhole.errors import ArgumentError

MODEL = "A latent model by its name: finite, polya, beta, gaussian or mixture."
MASK = "Tokens masked at the end of each sequence, such as 1,2,4,8."
SIZE = "Tokens of a sequence, masked ones included: 16,64 or 8..64 (doublings)."
DOWNSTREAM = "The downstream task: latent, latent:K, or rows of numbers, one a latent value, as in 1,-1 or 1,0;0,1."


def pretrain_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=MODEL, show_default=False)],
    *,
    mask: Annotated[str, typer.Option(help=MASK, metavar="LIST")] = "1",
    size: Annotated[str, typer.Option(help=SIZE, metavar="LIST")] = "16",
    samples: Annotated[str, typer.Option(help="Training sequences n.", metavar="N")] = "2000",
    downstream: Annotated[str, typer.Option(help=DOWNSTREAM, metavar="TASK")] = "latent",
    labels: Annotated[str, typer.Option(help="Labels of the downstream task.", metavar="N")] = "200",
    repeats: Annotated[int, typer.Option(help="Training sets at each size and mask; 0 trains nothing.", min=0)] = 8,
    out: Path | None = None,
) -> object:
    """Measure what masked pretraining learns of a latent.

    Pretrain on masked tokens of MODEL: condition numbers of each mask, excess risk, and the risk of a linear head
    downstream. Every finished run is kept: the same command goes on where it was stopped.

    --out writes the figure (.svg, .pdf, .png, .html, .csv) or the answer (.json, .txt).

    Examples:

      keyhole pretrain finite --mask 1,2,4,8 --size 16

      keyhole pretrain finite --size 2..64 --samples 2000 --out length.svg

      keyhole pretrain polya --size 9 --samples 16000 --repeats 20

      keyhole pretrain mixture --mask 1,2,4 --downstream latent:0 --json
    """
    from keyhole.apps.pretrain.pretrain import Design, pretrain
    from keyhole.apps.pretrain.pretraining import Pretraining
    from keyhole.show.progress_view import view_progress

    Pretraining.require_ending(out)
    with view_progress("runs") as watch:
        return pretrain(
            model,
            counts(size),
            masks=counts(mask),
            downstream=rows_of(downstream),
            design=Design(count(samples), count(labels), repeats),
            watch=watch,
        )


def rows_of(text: str) -> str | list[list[float]]:
    """A downstream task as it is spelled: a name, or rows of numbers between semicolons.

    >>> rows_of("latent:0"), rows_of("1,0;0,1")
    ('latent:0', [[1.0, 0.0], [0.0, 1.0]])
    """
    if text.strip()[:1].isalpha():
        return text.strip()
    try:
        return [[float(part) for part in row.split(",")] for row in text.split(";")]
    except ValueError:
        raise ArgumentError(
            f"{text!r} is not a downstream task; write latent, latent:0, or rows of numbers such as 1,0;0,1."
        ) from None
