"""`keyhole exchangeable`: whether sequences could come from a latent variable."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli.arguments import count
from keyhole.decimals import at_most

if TYPE_CHECKING:
    from keyhole.api.exchangeable import Exchangeability
    from keyhole.latent.exchangeability.permutations import PermutationTest

EXAMPLES = """
Examples:

  keyhole exchangeable tokens.npy

  keyhole exchangeable words.csv --test order --permutations 9999

  keyhole exchangeable positions.npy --test extendible --json
"""


def exchangeable_command(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A .npy array or .csv table, a row per sequence: letters (whole numbers, words), or reals.",
        ),
    ],
    test: Annotated[
        str, typer.Option(help="order (does it matter?), extendible (can a latent explain them?), or both.")
    ] = "both",
    permutations: Annotated[
        str, typer.Option(help="Reorderings to compare with, such as 999 or 1e4.", metavar="B")
    ] = "999",
    level: Annotated[
        float,
        typer.Option(help="Most chance of rejecting sequences that are independent and have a latent; shared."),
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Draws the reorderings and the halves.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Test whether DATA, a row per sequence, is exchangeable and could have a latent variable.

    Exits with 1 if that is rejected, with 0 if not. Sequences must be independent of each other; then the level holds
    for every latent variable and any number of sequences. Not to reject proves nothing.
    """
    from rich.console import Console
    from rich.progress import Progress

    from keyhole.api.exchangeable import exchangeable
    from keyhole.files.record import to_json

    reorderings, screen = count(permutations), Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("reordering", total=reorderings * (0 if test == "extendible" else 2))
        found = exchangeable(
            data,
            test=test,
            permutations=reorderings,
            level=level,
            seed=seed,
            watch=lambda done: progress.advance(task, done),
        )
    if json:
        typer.echo(to_json("exchangeable/1", found.record()))
    else:
        show(found)
    if found.rejected:
        raise typer.Exit(1)


exchangeable_command.__doc__ = f"{exchangeable_command.__doc__}\n{EXAMPLES}"


def show(found: "Exchangeability") -> None:
    """The answer, then a line per test."""
    from keyhole.cli.facts import show_facts

    many = f"{found.letters} " if found.letters is not None else ""
    data = f"{found.sequences} sequences of {found.length} tokens; {many}{found.kind}"
    rows = [("answer", str(found)), ("data", data)]
    rows += [
        (entry.name, f"p = {at_most(entry.p_value, 4)}, {counted(entry, found.length)}; null: {entry.null}")
        for entry in found.tests
    ]
    if found.sequences < 4:
        rows.append(("extendible", "not asked: it needs at least four sequences"))
    shared = f"{found.level:g} shared by {len(found.tests)} tests" if len(found.tests) > 1 else f"{found.level:g}"
    reordered = f"{found.tests[0].permutations} permutations, " if found.tests[0].permutations else ""
    rows.append(("level", f"{shared}; {reordered}seed {found.seed}"))
    show_facts(rows)


def counted(entry: "PermutationTest", length: int) -> str:
    """What a test found, in words."""
    from keyhole.latent.exchangeability.extendibility import ExtendibilityTest

    if not isinstance(entry, ExtendibilityTest):
        return f"statistic {entry.statistic:.4g}"
    if entry.ceiling == 1:
        return "half of the sequences show nothing to look along"
    return (
        f"{entry.statistic:.0f} of {entry.sequences} sequences have {entry.least} to {entry.most} of their {length} "
        f"tokens on one side, and a latent variable gives each a chance of at most {at_most(entry.ceiling, places=3)}"
    )
