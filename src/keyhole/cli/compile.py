"""`keyhole compile`: a function into weights, with a proof for every input."""

from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import count, file_place, folder_place, refuse_ignored
from keyhole.errors import ArgumentError

EXAMPLES = """
Examples:

  keyhole compile "x3 & x17 & ~x40" --context 512 --out and.safetensors

  keyhole compile parity:8 --context 1e6 --json

  keyhole compile random:4 --context 1e4 --construction codes

  keyhole compile majority:5 --context 64 --carry float32

  keyhole compile and:9 --context 1000 --construction veto --output bits

  keyhole compile "x3 ^ x9" --context 64 --out parity.py --pictures pictures

  keyhole compile --suite 100 --context 64 --out suite
"""


def compile_command(
    formula: Annotated[
        str | None,
        typer.Argument(
            metavar="FORMULA",
            show_default=False,
            help="A formula such as 'x3 & ~x17', or a family such as and:3, parity:4, majority:5, random:3.",
        ),
    ] = None,
    context: Annotated[
        int | None,
        typer.Option(help="Context length T, such as 512 or 1e6.", parser=count, metavar="T", show_default=False),
    ] = None,
    construction: Annotated[
        str, typer.Option(help="auto (the cheapest), pair, additive, codes, heads, veto or least.", metavar="NAME")
    ] = "auto",
    gamma: Annotated[float, typer.Option(help="Attention off the relevant positions (pair, veto).")] = 0.5,
    rho: Annotated[float, typer.Option(help="Leak ratio (additive, codes, heads).")] = 0.5,
    minimise: Annotated[
        str | None,
        typer.Option(
            help="Choose gamma and rho so that a bound is smallest: path_inf (any distribution of inputs), product "
            "(independent positions) or cover.",
            metavar="CHARGE",
        ),
    ] = None,
    output: Annotated[str, typer.Option(help="signs: 1 and -1; bits: 1 and 0.")] = "signs",
    carry: Annotated[
        str | None, typer.Option(help="Refuse unless this number format keeps every sign.", metavar="FORMAT")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws random codes, and the table of random:s.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write a file: .safetensors, .py (a torch module), .json, .txt or .html; with --suite a folder.",
            metavar="FILE",
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            help="Draw attention, weights and response into this folder (SVG).", metavar="DIR", parser=folder_place
        ),
    ] = None,
    suite: Annotated[
        int | None,
        typer.Option(help="Instead of one FORMULA, this many certified models with an answer key.", metavar="N"),
    ] = None,
    modules: Annotated[
        bool, typer.Option("--modules", help="With --suite: write every model as a torch module (.py) too.")
    ] = False,
) -> None:
    """Turn FORMULA into exact weights of one attention layer, certified on all 2^T inputs.

    Nothing is trained and nothing sampled: the certificate is a proof, with outward rounding, about the written
    numbers. `keyhole check` repeats it from the file.
    """
    if context is None:
        raise ArgumentError("A context was not given; say how many positions there are, as in --context 512.")
    if suite is not None:
        ignored = {
            "FORMULA": formula is not None,
            "--construction": construction != "auto",
            "--gamma": gamma != 0.5,
            "--rho": rho != 0.5,
            "--minimise": minimise is not None,
            "--output": output != "signs",
            "--carry": carry is not None,
            "--pictures": pictures is not None,
        }
        refuse_ignored(ignored, "the models of a suite have their own; leave out one or the other")
        save_suite(suite, context, out, seed, json=json, modules=modules)
        return
    refuse_ignored({"--modules": modules}, "it is about a suite; add --suite")
    if formula is None:
        raise ArgumentError("Nothing to compile was given; name a FORMULA, or ask for a --suite.")
    from keyhole.api.compile import Compiled
    from keyhole.api.compile import compile as compile_function
    from keyhole.cli.printing import print_document
    from keyhole.show.progress_view import view_progress

    if out is not None:
        Compiled.require_ending(out)
        file_place(str(out))
    with view_progress("compiling"):
        compiled = compile_function(
            formula,
            context,
            construction=construction,
            gamma=gamma,
            rho=rho,
            output=output,
            seed=seed,
            minimise=minimise,
            carry=carry,
        )
    if json:
        typer.echo(compiled.to_json())
    else:
        print_document(compiled.document())
    if out is not None:
        typer.echo(f"wrote {compiled.save(out)}", err=True)
    for path in () if pictures is None else compiled.pictures(pictures):
        typer.echo(f"wrote {path}", err=True)


compile_command.__doc__ = f"{cleandoc(compile_command.__doc__ or '')}\n{EXAMPLES}"


def save_suite(count: int, context: int, out: Path | None, seed: int, *, json: bool, modules: bool = False) -> None:
    """Write a suite into the folder asked for."""
    if out is None:
        raise ArgumentError("A suite needs a folder to go to; name one, as in --out suite.")
    folder_place(str(out))
    from keyhole.apps.tables.suites import make_suite
    from keyhole.show.progress_view import view_progress

    with view_progress("making models") as watch:
        made = make_suite(count, context, seed, watch=watch)
        key = made.save(out, modules=modules, watch=watch)
    if json:
        typer.echo(made.to_json())
    models = "1 model" if count == 1 else f"{count} models"
    typer.echo(f"wrote {models} and the answers: {key}", err=json)
