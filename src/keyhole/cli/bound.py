"""`keyhole bound`: what norms guarantee, with every step of the derivation."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import complete_functions, complete_runs, count, counts, lengths
from keyhole.errors import ArgumentError

FUNCTION = "A function, such as and:3, parity:3, majority:5 or 'x1 & x2': the norms are those of its compiled head."
LAW = "How inputs are drawn: any; uniform; or 0.2, say, the least probability of a symbol, symbols being independent."
VARY = (
    "Also: growth at these contexts, such as 100,1000 or 1e2..1e8; or, of a family such as and:s, a row for each "
    "sparsity: s=1..6."
)
RUN = "A run of `keyhole learn`, by the beginning of its name, or last; or all, for the best bound of every run."


def bound_command(
    function: Annotated[
        str | None,
        typer.Argument(metavar="[FUNCTION]", help=FUNCTION, show_default=False, autocompletion=complete_functions),
    ] = None,
    *,
    file: Annotated[Path | None, typer.Option(help="A model that `keyhole compile` or `prove` wrote.")] = None,
    norms: Annotated[Path | None, typer.Option(help="A JSON of norms.", metavar="FILE")] = None,
    run: Annotated[str | None, typer.Option(help=RUN, metavar="ID", autocompletion=complete_runs)] = None,
    samples: Annotated[
        int | None, typer.Option(help="Number of training samples, m, such as 1e6.", metavar="M", parser=count)
    ] = None,
    context: Annotated[
        int | None, typer.Option(help="Number of positions, T; [CLS] is one more.", metavar="T", parser=count)
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability with which the bound may fail.")] = 0.01,
    gap: Annotated[float | None, typer.Option(help="Also: the samples needed for this gap.")] = None,
    law: Annotated[str, typer.Option(help=LAW, metavar="LAW")] = "any",
    vary: Annotated[str | None, typer.Option(help=VARY, metavar="LIST")] = None,
    measured: Annotated[
        bool, typer.Option("--measured", help="The norms of --norms were measured after training, which costs more.")
    ] = False,
    store: Path | None = None,
    out: Path | None = None,
) -> object:
    """Bound the gap between training and test loss after M samples, by every theorem that applies to the norms.

    The norms are those of a FUNCTION, of --file, of --norms or of --run. A trained run has its own number of samples
    and law of inputs, and its norms are always paid for as measured.

    --out writes .txt or .json; of the growth of --vary .svg, .pdf, .png, .html or .csv.

    Examples:

      keyhole bound and:3 --samples 1e6 --context 1000

      keyhole bound majority:5 --samples 1e6 --context 100 --law uniform

      keyhole bound --run 3f0a91c2

      keyhole bound --norms norms.json --samples 1e6 --gap 0.1

      keyhole bound and:3 --samples 1e6 --context 1000 --vary 1e2..1e8

      keyhole bound random:s --samples 1e6 --context 100 --vary s=1..6
    """
    from keyhole.api.bound import Bound, bound
    from keyhole.api.bound_runs import RunBounds, bound_runs
    from keyhole.api.bound_sparsity import SparsityBounds, bound_sparsities
    from keyhole.api.norm_sources import file_norms, function_norms, json_norms, run_norms
    from keyhole.show.progress_view import view_progress

    if sum(source is not None for source in (function, file, norms, run)) != 1:
        raise ArgumentError("A bound is of one thing: give a FUNCTION, --file, --norms or --run.")
    if samples is None and run is None:
        raise ArgumentError("A bound needs a number of samples; give --samples, such as 1e6.")
    if measured and norms is None:
        raise ArgumentError("--measured is about the norms of a JSON; runs always pay for it, and functions never do.")
    if run == "all":
        RunBounds.require_ending(out)
        with view_progress("bounding runs") as watch:
            return bound_runs(store, delta=delta, watch=watch)
    if vary is not None and vary.replace(" ", "").startswith("s="):
        if function is None or samples is None or context is None:
            raise ArgumentError("--vary s=… is of a family; give its name, such as and:s, --samples and --context.")
        SparsityBounds.require_ending(out)
        sparsities = lengths(vary.partition("=")[2])
        return bound_sparsities(function, sparsities, samples, context, delta=delta, law=law_of(law))
    Bound.require_ending(out)
    with view_progress("bounding"):
        if run is not None:
            source = run_norms(run, store, tell=lambda line: typer.echo(line, err=True))
        elif file is not None:
            source = file_norms(file)
        elif norms is not None:
            source = json_norms(norms, measured=measured)
        else:
            source = function_norms(function or "", context)
        return bound(
            source,
            samples,
            context,
            delta=delta,
            gap=gap,
            contexts=counts(vary) if vary else (),
            law=law_of(law),
        )


def law_of(text: str) -> str | float | None:
    """Return the law of inputs that a word or a number names, None for any."""
    if text in {"any", "uniform"}:
        return None if text == "any" else text
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(
            f"--law is any, uniform, or the least probability of a symbol, such as 0.2; got {text!r}."
        ) from None
