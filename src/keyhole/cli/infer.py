"""`keyhole infer`: how far attention is from the exact posterior, over lengths of the context."""

from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import complete_models, counts, names

MODEL = "A latent model by its name, such as gaussian, polya or gp; an unknown name lists them all."
KINDS = (
    "Kinds of attention between commas: softmax, cme, linear, sink, prototypes; those that suit MODEL, if not given."
)
KERNEL = "Of softmax and cme where MODEL has keys: exponential, gaussian, matern, polynomial or linear."
BANDWIDTH = "Temperature γ: a number, or a rule such as 0.5*T^-1/3."
RIDGE = "Ridge λ of cme and sink: a number, or a rule such as T^3/4."


def infer_command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help=MODEL, show_default=False, autocompletion=complete_models)
    ],
    *,
    size: Annotated[str, typer.Option(help="Lengths of the context: 8,64 or 8..4096 (doublings).")] = "8..1024",
    attention: Annotated[str, typer.Option(help=KINDS, metavar="KINDS", show_default=False)] = "",
    kernel: Annotated[str | None, typer.Option(help=KERNEL, metavar="KERNEL")] = None,
    bandwidth: Annotated[str | None, typer.Option(help=BANDWIDTH, metavar="RULE")] = None,
    ridge: Annotated[str | None, typer.Option(help=RIDGE, metavar="RULE")] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Contexts drawn; if not given, a number that suits MODEL.", min=2)
    ] = None,
    out: Path | None = None,
) -> object:
    """Measure kinds of attention against the exact posterior mean of MODEL, with slopes and theory beside.

    --out writes the figure (.svg, .pdf, .png, .html, .csv) or the answer (.json, .txt).

    Examples:

      keyhole infer gaussian --size 8..4096

      keyhole infer gp --attention softmax,cme --bandwidth 0.5 --size 16..1024

      keyhole infer gp --attention cme --ridge T^3/4 --out rates.svg
    """
    from keyhole.api.infer import Inference, infer, read_settings
    from keyhole.show.progress_view import view_progress

    Inference.require_ending(out)
    with view_progress("contexts") as watch:
        return infer(
            model,
            counts(size),
            attention=names(attention) if attention else (),
            settings=read_settings(kernel, bandwidth, ridge),
            repeats=repeats,
            watch=watch,
        )
