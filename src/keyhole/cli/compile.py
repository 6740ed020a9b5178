"""`keyhole compile`: a function into weights, with a proof for every input."""

from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from keyhole.cli.arguments import complete_constructions, complete_functions, count

EXAMPLES = """
Examples:

  keyhole compile "x3 & x17 & ~x40" --context 512 --out and.safetensors

  keyhole compile parity:8 --context 1e6 --json

  keyhole compile random:4 --context 1e4 --construction codes

  keyhole compile and:9 --context 1000 --construction veto --output bits

  keyhole compile "x3 ^ x9" --context 64 --out parity.py

  keyhole compile "x3 & x17" --context 64 --out head.html

  keyhole compile "a = x3 & x17; maj(x1, x2, a) ^ a" --context 64 --layers

  keyhole compile chain:parity:64 --context 4096 --steps --fan-in 2
"""


def compile_command(
    formula: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA",
            help="A formula such as 'x3 & ~x17', or a family such as and:3, parity:4, majority:5, random:3.",
            autocompletion=complete_functions,
        ),
    ],
    context: Annotated[int, typer.Option(help="Context length T, such as 512 or 1e6.", parser=count, metavar="T")],
    construction: Annotated[
        str,
        typer.Option(
            help="auto (the cheapest), pair, additive, codes, heads, veto or least.",
            metavar="NAME",
            autocompletion=complete_constructions,
        ),
    ] = "auto",
    leak: Annotated[float, typer.Option(help="Attention off the relevant positions, or its ratio to one's.")] = 0.5,
    minimise: Annotated[
        str | None,
        typer.Option(
            help="Choose the leak so that a bound is smallest: path_inf (any distribution of inputs), product "
            "(independent positions) or cover.",
            metavar="CHARGE",
        ),
    ] = None,
    output: Annotated[str, typer.Option(help="signs: 1 and -1; bits: 1 and 0.")] = "signs",
    seed: Annotated[int, typer.Option(help="Draws random codes, and the table of random:s.", min=0)] = 0,
    layers: Annotated[
        bool, typer.Option("--layers", help="Compile a circuit: a layer for each level of its gates.")
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Compile a circuit: one causal layer that writes a gate a step.")
    ] = False,
    fan_in: Annotated[
        int | None, typer.Option(help="Most wires of a gate, with --layers or --steps; 3 by default.", metavar="S")
    ] = None,
    out: Path | None = None,
) -> object:
    """Turn FORMULA into exact weights of one attention layer, certified on all 2^T inputs.

    Nothing is trained and nothing sampled: the certificate is a proof, with outward rounding, about the written
    numbers. `keyhole check` repeats it from the file.

    --out writes the weights (.safetensors, or .py: a torch module), a page that proves them (.html), the proof as lines
    that `keyhole check` repeats (.cert), the answer (.json, .txt) or a picture of the attention (.svg, .png).

    With --layers or --steps FORMULA is a circuit: lines such as 'a = x3 & x17; a ^ x40', a family, or a chain such as
    chain:parity:16. It is cut into gates of at most --fan-in wires, each proved by itself.
    """
    from keyhole.api.compile import Compiled
    from keyhole.api.compile import compile as compile_function
    from keyhole.errors import ArgumentError

    if layers or steps:
        from keyhole.api.compile_circuit import CompiledCircuit, compile_circuit

        ordinary = {"construction": "auto", "leak": 0.5, "minimise": None, "output": "signs"}
        given = {"construction": construction, "leak": leak, "minimise": minimise, "output": output}
        changed = [name for name, value in given.items() if value != ordinary[name]]
        if changed or (layers and steps):
            option = changed[0] if changed else "steps"
            raise ArgumentError(
                f"--{option} does not go with --{'layers' if layers else 'steps'}; leave one of them out."
            )
        CompiledCircuit.require_ending(out)
        return compile_circuit(
            formula, context, "layers" if layers else "steps", fan_in=3 if fan_in is None else fan_in, seed=seed
        )
    if "=" in formula:
        raise ArgumentError("Named gates make a circuit, which has layers or steps; add --layers or --steps.")
    if fan_in is not None:
        raise ArgumentError("--fan-in is for circuits; add --layers or --steps.")
    Compiled.require_ending(out)
    return compile_function(
        formula, context, construction=construction, leak=leak, output=output, seed=seed, minimise=minimise
    )


compile_command.__doc__ = f"{cleandoc(compile_command.__doc__ or '')}\n{EXAMPLES}"
