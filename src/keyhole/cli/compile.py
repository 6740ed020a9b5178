"""`keyhole compile`: a function into weights, with a proof for every input."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyhole.cli.arguments import count

if TYPE_CHECKING:
    from keyhole.compiler.compiled import Compiled

EXAMPLES = """
Examples:

  keyhole compile "x3 & x17 & ~x40" --context 512 --out and.safetensors

  keyhole compile parity:8 --context 1e6 --json

  keyhole compile random:4 --context 1e4 --construction codes

  keyhole compile majority:5 --context 64 --carry float16
"""


def compile_command(
    formula: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA",
            help="A formula such as 'x3 & ~x17', or a family such as and:3, parity:4, majority:5, random:3.",
        ),
    ],
    context: Annotated[
        int, typer.Option(help="Context length T, such as 512 or 1e6.", parser=count, metavar="T", show_default=False)
    ],
    construction: Annotated[
        str, typer.Option(help="auto (the cheapest), pair, additive, codes or heads.", metavar="NAME")
    ] = "auto",
    gamma: Annotated[float, typer.Option(help="Attention off the relevant positions (pair).")] = 0.5,
    rho: Annotated[float, typer.Option(help="Leak ratio (additive, codes, heads).")] = 0.5,
    minimise: Annotated[
        str | None, typer.Option(help="Choose that mass instead: path_inf makes P_∞ least.", metavar="CHARGE")
    ] = None,
    output: Annotated[str, typer.Option(help="signs: 1 and -1; bits: 1 and 0.")] = "signs",
    carry: Annotated[
        str | None, typer.Option(help="Refuse unless this number format keeps every sign.", metavar="FORMAT")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws random codes, and the table of random:s.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the model: FILE.safetensors, or .json alone.", metavar="FILE")
    ] = None,
) -> None:
    """Turn FORMULA into exact weights of one attention layer, certified on all 2^T inputs.

    Nothing is trained and nothing sampled: the certificate is a proof, with outward rounding, about the written
    numbers. `keyhole check` repeats it from the file.
    """
    from keyhole.files.record import to_json
    from keyhole.verbs.compile import compile as compile_function

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
    text = to_json("compile/1", compiled.record())
    if json:
        typer.echo(text)
    else:
        from keyhole.cli.compile_table import show

        show(compiled)
    if out is not None:
        typer.echo(f"wrote {save_as(compiled, text, out)}", err=True)


compile_command.__doc__ = f"{compile_command.__doc__}\n{EXAMPLES}"


def save_as(compiled: "Compiled", text: str, out: Path) -> Path:
    """Write the model or its record, as the file's ending asks."""
    from keyhole.errors import OutputError

    if out.suffix.lower() == ".json":
        from keyhole.files.writing import write_file

        return write_file(out, f"{text}\n".encode())
    if out.suffix.lower() != ".safetensors":
        raise OutputError(f"{str(out)!r} ends in neither .safetensors nor .json; use one of the two.")
    from keyhole.compiler.storing import save

    return save(compiled, out)
