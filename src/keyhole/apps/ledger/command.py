"""`keyhole reproduce` and `keyhole claims`: the ledger run, and the ledger read."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import names


class Scale(StrEnum):
    """How much is computed."""

    quick = "quick"
    paper = "paper"


def reproduce_command(
    scale: Annotated[
        Scale, typer.Option(help="quick: a laptop's minutes. paper: more contexts, more draws.")
    ] = Scale.quick,
    only: Annotated[
        str, typer.Option(help="Claims to measure, by id, with commas; keyhole claims lists them.", metavar="ID,…")
    ] = "",
    seed: Annotated[int, typer.Option(help="Seeds every random draw.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Processes; 0 means one per core.", min=0)] = 0,
    folder: Path | None = None,
) -> object:
    """Measure the claims; write the page of verdicts.

    The page, the findings and the figures are in the folder of --out: report, if not given. What was measured before is
    not measured again.

    Examples:

      keyhole reproduce

      keyhole reproduce --only softmax-smoothness,floor --out two-claims

      keyhole reproduce --scale paper
    """
    from keyhole.apps.ledger.reproduction import reproduce
    from keyhole.show.progress_view import view_progress

    chosen = names(only) if only else ()

    def tell(line: str) -> None:
        typer.echo(f"keyhole: {line}", err=True)

    with view_progress("measuring claims") as watch:
        return reproduce(
            chosen,
            scale=scale.value,
            seed=seed,
            folder=folder or "report",
            workers=workers or None,
            watch=watch,
            warn=tell,
        )


def claims_command() -> object:
    """List the claims with their predictions.

    Nothing is run. What is not covered yet is listed too.

    Examples:

      keyhole claims

      keyhole claims --json
    """
    from keyhole.apps.ledger.reproduction import list_claims

    return list_claims()
