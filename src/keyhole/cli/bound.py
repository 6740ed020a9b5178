"""`keyhole bound`: what norms guarantee, with every step of the derivation."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count, counts
from keyhole.errors import ArgumentError

SOURCE = (
    "A model that keyhole compile wrote, a JSON of norms (see --template), or and:3, signed-and:3, parity:3, junta:3."
)
OUT = "Write the answer to a file: .html for a page; .svg, .png or .csv for the growth that --vary asks for."
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

      keyhole bound and:3 --samples 1e6 --context 1000 --vary context 1e2..1e8
    """
    if template:
        from keyhole.files.norms import template as norms_template

        typer.echo(norms_template())
        return
    from keyhole.api.bound import bound as ask
    from keyhole.files.atomic import write_file
    from keyhole.files.record import to_json
    from keyhole.show.folding import columns, folded

    if not source or not samples:
        raise ArgumentError("A bound needs a SOURCE of norms and --samples; `keyhole bound --help` has an example.")
    if vary is not None and vary[0] != "context":
        raise ArgumentError(f"Only the context can be varied; got {vary[0]!r}. Write --vary context 1e2..1e8.")
    answer = ask(
        source,
        float(count(samples)),
        count(context) if context else None,
        delta=delta,
        gap=gap,
        measured=measured,
        contexts=counts(vary[1]) if vary else (),
    )
    if out is not None and out.suffix.lower() in (".svg", ".png", ".csv"):
        from keyhole.show.site import save_figure

        path = save_figure(answer.figure(), out)
        typer.echo(folded(str(answer), columns()))
        typer.echo(f"wrote {path}", err=True)
        return
    if out is not None and out.suffix == ".html":
        text = f"<!doctype html><meta charset='utf-8'><title>keyhole bound</title>{answer.html()}"
    elif as_json:
        text = to_json("bound/1", {"source": source, **answer.record()})
    else:
        text = folded(answer.explain() if explain else str(answer), columns())
    if out is None:
        typer.echo(text)
    else:
        path = write_file(out, (text + "\n").encode())
        typer.echo(f"wrote {path}", err=True)
