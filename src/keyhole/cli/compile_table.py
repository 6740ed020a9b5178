"""A compiled function on a terminal: what was made, what was proved, the norms beside the theorem's figures."""

from keyhole.cli.printing import print_document
from keyhole.compiler.compiled import Compiled
from keyhole.decimals import at_least, at_most
from keyhole.show.document import Facts
from keyhole.show.folding import shorten


def show(compiled: Compiled) -> None:
    """Print what was made and shown, as wide as the terminal or 80 columns."""
    print_document((Facts(facts(compiled)),))


def facts(compiled: Compiled) -> list[tuple[str, str]]:
    """What was made and what was shown of it, as words."""
    plan, proof = compiled.plan, compiled.proof
    rows = [
        ("function", shorten(str(plan.function))),
        ("context", f"T = {plan.context}"),
        ("construction", shorten(compiled.why, 400)),
        ("size", f"{_count(len(plan.heads), 'head')}, {_count(plan.width, 'unit')}, dimension {plan.dimension}"),
        ("certificate", f"margin {at_least(proof.margin, 9)} on all 2^{plan.context} inputs: proved"),
        ("", f"by {proof.method}; output off by at most {at_most(proof.error, 2)}"),
        ("leak", f"at most {at_most(proof.leak, 9)} of the attention lies off the relevant positions"),
        (
            "logit scale",
            f"{compiled.logit_scale:.6g}; at least {compiled.logit_floor:.6g} is needed at these output norms",
        ),
    ]
    theorem = compiled.theorem
    for name, value in compiled.norms.items():
        figure = f"   theorem: {theorem[name].relation} {theorem[name].value:.6g}" if name in theorem else ""
        rows.append((name, f"{value:<12.6g}{figure}".rstrip()))
    return rows + [(name.replace(" stored, ", " / ").removesuffix(" summed"), str(verdict))
                   for name, verdict in compiled.formats.items()]  # fmt: skip


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
