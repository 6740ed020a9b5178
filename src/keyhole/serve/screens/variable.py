"""Create a variable: a formula, the head that computes it, its proof, its norms and its bound."""

from keyhole.api.bound import bound
from keyhole.api.compile import Compiled, compile
from keyhole.api.describe import describe
from keyhole.api.respond import respond
from keyhole.errors import ArgumentError
from keyhole.serve.limits import CONTEXT, FORMULA, SAMPLES, SPARSITY
from keyhole.serve.query import Query
from keyhole.serve.screens.base import Answer, Screen
from keyhole.serve.settings import Serving

EXAMPLE = "x3 & x11"


def variable(query: Query, _serving: Serving) -> Answer:
    """Everything the page shows of a formula, but for its answer to an input."""
    formula = _formula(query)
    described = describe(formula)
    if described.sparsity > SPARSITY:
        raise ArgumentError(
            f"The function looks at {described.sparsity} positions; the lab takes at most {SPARSITY}. The command "
            "`keyhole compile` takes more."
        )
    shortest = max(described.positions, default=0) + 1
    context = max(query.whole("context", 1, CONTEXT, 16), shortest)
    compiled = compile(formula, context)
    guarantees = bound(compiled, samples=query.number("samples", 1, SAMPLES, 1e6))
    return {
        "context": context,
        "shortest": shortest,
        "description": describe(formula, context=context).record(),
        "compiled": compiled.record(),
        "bound": {**guarantees.record(), "summary": guarantees.summary},
    }


def response(query: Query, _serving: Serving) -> Answer:
    """Where the heads look on one input, and what comes out."""
    return respond(_compiled(query), query.places("ones", CONTEXT)).record()


def _formula(query: Query) -> str:
    return query.text("formula", FORMULA, EXAMPLE)


def _compiled(query: Query) -> Compiled:
    formula = _formula(query)
    described = describe(formula)
    if described.sparsity > SPARSITY:
        raise ArgumentError(f"The function looks at {described.sparsity} positions; the lab takes at most {SPARSITY}.")
    shortest = max(described.positions, default=0) + 1
    return compile(formula, max(query.whole("context", 1, CONTEXT, 16), shortest))


SCREEN = Screen(
    "variable",
    "Create a variable",
    "Type a function of a few bits. The page shows the attention head that computes it, and what is proved of it.",
    {"variable": variable, "response": response},
)
