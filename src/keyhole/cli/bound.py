"""`keyhole bound`: what norms guarantee, with every step of the derivation."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count, counts
from keyhole.errors import ArgumentError

SOURCE = (
    "A model that keyhole compile wrote, a JSON of norms (see --template), and:3, signed-and:3, parity:3, junta:3, or "
    "a checkpoint: a folder, a file of weights, minilm, rxnmapper."
)
OUT = "Write the answer to a file: .txt, .json, .html for a page; .svg, .png or .csv for the growth of --vary."
VARY = "Growth: the word context and a list, such as 100,1000 or 1e2..1e8 (doublings)."


def bound_command(
    source: Annotated[str, typer.Argument(help=SOURCE, show_default=False)] = "",
    *,
    samples: Annotated[str, typer.Option(help="Number of training samples, m, such as 1e6.", metavar="M")] = "",
    context: Annotated[str, typer.Option(help="Number of positions, T; [CLS] is one more.", metavar="T")] = "",
    delta: Annotated[float, typer.Option(help="Chance that the bound fails.")] = 0.01,
    gap: Annotated[float | None, typer.Option(help="Also: the samples needed for this gap.")] = None,
    measured: Annotated[
        bool,
        typer.Option("--measured", help="The norms were read off a trained model: pay for having looked."),
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print every derivation and the rivals.")] = False,
    vary: Annotated[tuple[str, str] | None, typer.Option(help=VARY, metavar="context LIST")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    template: Annotated[bool, typer.Option("--template", help="Print a JSON of norms to edit.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help=OUT),
    ] = None,
) -> None:
    """Say what the norms of SOURCE guarantee after M samples, by every theorem that applies.

    Examples:

      keyhole bound and:3 --samples 1e6 --context 1000 --explain

      keyhole bound --template > norms.json

      keyhole bound norms.json --samples 1e6 --gap 0.1

      keyhole bound minilm --samples 1e9 --context 128

      keyhole bound and:3 --samples 1e6 --context 1000 --vary context 1e2..1e8
    """
    from keyhole.api.bound import DRAWN, Bound, norms_template
    from keyhole.api.bound import bound as ask
    from keyhole.api.checkpoint_bound import checkpoint_bound, is_checkpoint
    from keyhole.cli.printing import print_document

    if template:
        typer.echo(norms_template())
        return
    if not source or not samples:
        raise ArgumentError("A bound needs a SOURCE of norms and --samples; `keyhole bound --help` has an example.")
    if vary is not None and vary[0] != "context":
        raise ArgumentError(f"Only the context can be varied; got {vary[0]!r}. Write --vary context 1e2..1e8.")
    if out is not None:
        Bound.require_ending(out)
    answer = (checkpoint_bound if is_checkpoint(source) else ask)(
        source,
        float(count(samples)),
        count(context) if context else None,
        delta=delta,
        gap=gap,
        measured=measured,
        contexts=counts(vary[1]) if vary else (),
    )
    if out is not None:
        typer.echo(f"wrote {answer.save(out, explained=explain)}", err=True)
        if out.suffix.lower() not in DRAWN:
            return
    if as_json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.explained() if explain else answer.document())
