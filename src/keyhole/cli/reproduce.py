"""`keyhole reproduce` and `keyhole claims`: the ledger run, and the ledger read."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Scale(StrEnum):
    """How much is computed."""

    quick = "quick"
    paper = "paper"


def reproduce_command(
    scale: Annotated[
        Scale, typer.Option(help="quick: a laptop's minutes. paper: more contexts, more draws.")
    ] = Scale.quick,
    only: Annotated[
        str, typer.Option(help="Claims to look at, by id, with commas; keyhole claims lists them.", metavar="ID,…")
    ] = "",
    out: Annotated[Path, typer.Option(help="Folder of the page, the findings and the figures.", metavar="DIR")] = Path(
        "report"
    ),
    seed: Annotated[int, typer.Option(help="Seeds every random draw.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Processes; 0 means one per core.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON object.")] = False,
) -> None:
    """Look at every claim and write a page with a verdict for each; what is done already is not done again.

    Examples:

      keyhole reproduce

      keyhole reproduce --only softmax-smoothness,floor --out two-claims

      keyhole reproduce --scale paper
    """
    from keyhole.claims.findings import reproduce
    from keyhole.cli.reproduce_table import show, watched
    from keyhole.show.report import findings_json

    chosen = tuple(name.strip() for name in only.split(",") if name.strip())

    def told(line: str) -> None:
        typer.echo(f"keyhole: {line}", err=True)

    with watched() as watch:
        found = reproduce(
            chosen, scale=scale.value, seed=seed, folder=out, workers=workers or None, watch=watch, tell=told
        )
    if json:
        typer.echo(findings_json(found.kept))
    else:
        show(found.findings)
        typer.echo(f"\npage: {found.page}")


def claims_command(
    json: Annotated[bool, typer.Option("--json", help="Print the ledger as one JSON object.")] = False,
) -> None:
    """List the claims with their predictions, without running anything, and what is not covered yet.

    Examples:

      keyhole claims

      keyhole claims --json
    """
    from dataclasses import asdict

    from keyhole.claims.ledger import NOT_COVERED, experiments
    from keyhole.cli.reproduce_table import show_claims
    from keyhole.files.record import to_json

    if json:
        claims = [asdict(experiment.claim) for experiment in experiments()]
        typer.echo(to_json("claims/1", {"claims": claims, "not_covered": [list(row) for row in NOT_COVERED]}))
    else:
        show_claims([experiment.claim for experiment in experiments()], NOT_COVERED)
