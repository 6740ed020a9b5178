"""The ledger on a terminal: progress while it runs, then a verdict per claim."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from keyhole.claims.finding import Claim, Finding
from keyhole.cli.waiting import counted
from keyhole.progress import Watch

TONES = {"holds": "green", "holds with a caveat": "yellow", "fails here": "red"}


@contextmanager
def watched() -> Iterator[Watch]:
    """A progress bar with the time left, on stderr; nothing where stderr is no terminal."""
    with counted("looking") as told:
        yield lambda step: told(step.done, step.of or 0, step.what)


def show(findings: Sequence[Finding]) -> None:
    """A row per finding: evidence first, then what is proved."""
    table = Table(box=None, pad_edge=False)
    table.add_column("claim", overflow="fold")
    table.add_column("kind")
    table.add_column("verdict")
    table.add_column("seconds", justify="right")
    for finding in sorted(findings, key=lambda one: one.claim.proved):
        verdict = finding.outcome.verdict
        shown = f"[{TONES[verdict]}]{verdict}[/]" if verdict in TONES else verdict
        table.add_row(finding.claim.id, finding.claim.kind, shown, f"{finding.seconds:.1f}")
    Console().print(table)


def show_claims(claims: Sequence[Claim], not_covered: Sequence[tuple[str, str]]) -> None:
    """Each claim with its prediction, then what no claim covers."""
    console = Console(highlight=False)
    for claim in claims:
        console.print(claim.id, style="bold", markup=False)
        for text in (
            f"{claim.title} ({claim.kind})",
            f"predicts: {claim.prediction}",
            f"could fail: {claim.could_fail}",
        ):
            console.print(Padding(Text(text), (0, 0, 0, 4)))
        console.print()
    console.print("not covered yet", style="bold")
    for name, why in not_covered:
        console.print(Padding(Text(f"{name}: {why}"), (0, 0, 0, 4)))
