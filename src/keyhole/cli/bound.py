"""`keyhole bound`: what norms guarantee, with every step of the derivation."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count, counts, file_place
from keyhole.errors import ArgumentError

SOURCE = (
    "A run of `keyhole learn`, by the beginning of its name, or the word runs for every trained run of the store; a "
    "model that keyhole compile wrote; a JSON of norms (see --template); and:3, signed-and:3, parity:3, junta:3; or "
    "any function, such as majority:5 or 'x1 & x2'."
)
LAW = "How inputs are drawn: any; uniform; or 0.2, say, the least probability of a symbol, symbols being independent."
OUT = "Write the answer to a file: .txt, .json, .html for a page; .svg, .pdf, .png or .csv for the growth of --vary."
VARY = "Growth: the word context and a list, such as 100,1000 or 1e2..1e8 (doublings)."


def bound_command(
    source: Annotated[str, typer.Argument(help=SOURCE, show_default=False)] = "",
    *,
    samples: Annotated[
        str, typer.Option(help="Number of training samples, m, such as 1e6; a run has its own.", metavar="M")
    ] = "",
    context: Annotated[str, typer.Option(help="Number of positions, T; [CLS] is one more.", metavar="T")] = "",
    delta: Annotated[float, typer.Option(help="Probability with which the bound may fail.")] = 0.01,
    gap: Annotated[float | None, typer.Option(help="Also: the samples needed for this gap.")] = None,
    measured: Annotated[
        bool,
        typer.Option(
            "--measured",
            help="The norms were measured after training, which costs a little more. Always so for a run.",
        ),
    ] = False,
    accepted: Annotated[
        float | None, typer.Option(help="Probability with which a drawn training set was kept.", metavar="P")
    ] = None,
    store: Annotated[
        Path | None, typer.Option(help="Folder of the runs; KEYHOLE_HOME or .keyhole if not given.", metavar="DIR")
    ] = None,
    law: Annotated[str, typer.Option(help=LAW, metavar="LAW")] = "any",
    explain: Annotated[bool, typer.Option("--explain", help="Print every derivation and the rivals.")] = False,
    vary: Annotated[tuple[str, str] | None, typer.Option(help=VARY, metavar="context LIST")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    template: Annotated[bool, typer.Option("--template", help="Print a JSON of norms to edit.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help=OUT, metavar="FILE", parser=file_place),
    ] = None,
) -> None:
    """Say what the norms of SOURCE guarantee after M samples, by every theorem that applies, the smallest gap first.

    A trained run has its own number of samples and law of inputs, and its norms are always paid for as measured.

    Examples:

      keyhole bound and:3 --samples 1e6 --context 1000 --explain

      keyhole bound and:3 --samples 1e6 --context 1000 --law uniform

      keyhole bound majority:5 --samples 1e6 --context 100

      keyhole bound 3f0a91c2

      keyhole bound runs

      keyhole bound --template > norms.json

      keyhole bound norms.json --samples 1e6 --gap 0.1

      keyhole bound and:3 --samples 1e6 --context 1000 --vary context 1e2..1e8
    """
    from keyhole.api.bound import DRAWN, Bound, norms_template
    from keyhole.api.bound import bound as ask
    from keyhole.api.stored_run import names_run
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    if template:
        typer.echo(norms_template())
        return
    if source == "runs":
        _bound_runs(store, delta=delta, accepted=accepted, as_json=as_json, out=out)
        return
    if not source or not (samples or names_run(source)):
        lacking = "a number of samples (--samples)" if source else "a SOURCE of norms and --samples"
        raise ArgumentError(f"A bound needs {lacking}; `keyhole bound --help` has an example.")
    if vary is not None and vary[0] != "context":
        raise ArgumentError(f"Only the context can be varied; got {vary[0]!r}. Write --vary context 1e2..1e8.")
    if out is not None:
        Bound.require_ending(out)
    with view_progress("bounding"):
        answer = ask(
            source,
            float(count(samples)) if samples else None,
            count(context) if context else None,
            delta=delta,
            gap=gap,
            measured=measured,
            contexts=counts(vary[1]) if vary else (),
            law=law_of(law),
            accepted=accepted,
            store=store,
            tell=lambda said: typer.echo(said, err=True),
        )
    if out is not None:
        typer.echo(f"wrote {answer.save(out, explained=explain)}", err=True)
        if out.suffix.lower() not in DRAWN:
            return
    if as_json:
        typer.echo(answer.to_json())
    else:
        print_document(answer.explained() if explain else answer.document())


def _bound_runs(store: Path | None, *, delta: float, accepted: float | None, as_json: bool, out: Path | None) -> None:
    """Print the best bound of every trained run of the store."""
    from keyhole.api.bound_runs import RunBounds, bound_runs
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    if out is not None:
        RunBounds.require_ending(out)
    with view_progress("bounding runs") as watch:
        bounds = bound_runs(store, delta=delta, accepted=accepted, watch=watch)
    if out is not None:
        typer.echo(f"wrote {bounds.save(out)}", err=True)
    elif as_json:
        typer.echo(bounds.to_json())
    else:
        print_document(bounds.document())


def law_of(text: str) -> str | float | None:
    """The law of inputs that a word or a number names: nothing for any."""
    if text in {"any", "uniform"}:
        return None if text == "any" else text
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(
            f"--law is any, uniform, or the least probability of a symbol, such as 0.2; got {text!r}."
        ) from None
