"""`keyhole exchangeable`: could sequences come from a latent variable?"""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count

DATA = "A .npy array or .csv table, a row per sequence: letters (whole numbers, words), or reals."
TEST = "order (does it matter?), extendible (can a latent explain them?), or both."
PERMUTATIONS = "Reorderings to compare with, such as 9999 or 1e4; 999 if not given, fewer for large tables."
LEVEL = "Largest probability of rejecting independent sequences that have a latent, for all tests together."


def exchangeable_command(
    data: Annotated[Path, typer.Argument(metavar="DATA", show_default=False, help=DATA)],
    *,
    test: Annotated[str, typer.Option(help=TEST)] = "both",
    permutations: Annotated[str | None, typer.Option(help=PERMUTATIONS, metavar="B", show_default=False)] = None,
    level: Annotated[float, typer.Option(help=LEVEL)] = 0.05,
    seed: Annotated[int, typer.Option(help="Draws the reorderings and the halves.", min=0)] = 0,
) -> object:
    """Test whether DATA, a row per sequence, is exchangeable and could have a latent variable.

    Exits with 1 if that is rejected, with 0 if not. Sequences must be independent of each other; then the level holds
    for every latent variable and any number of sequences. Rows that repeat beyond chance count once. Not to reject
    proves nothing. `keyhole checkpoint order` tests a model instead.

    Examples:

      keyhole exchangeable tokens.npy

      keyhole exchangeable words.csv --test order --permutations 9999

      keyhole exchangeable positions.npy --test extendible --json
    """
    from keyhole.api.exchangeable import exchangeable
    from keyhole.show.progress_view import view_progress

    with view_progress("reordering") as watch:
        return exchangeable(
            data,
            test=test,
            permutations=None if permutations is None else count(permutations),
            level=level,
            seed=seed,
            watch=watch,
        )
