"""Create a variable: a formula, the head that computes it, its proof, its norms and its bound."""

from dataclasses import asdict
from functools import lru_cache

from keyhole.api.bound import bound
from keyhole.api.compile import Compiled
from keyhole.api.compile import compile as compile_function
from keyhole.api.describe import Description, describe
from keyhole.apps.live.limits import CONTEXT, FORMULA, SAMPLES, SPARSITY
from keyhole.apps.live.query import Query
from keyhole.apps.live.respond import respond
from keyhole.apps.live.screens.base import Answer, Screen, Serving
from keyhole.boolean import SparseFunction
from keyhole.boolean import read_function as read_formula
from keyhole.bounds.finite import information_floor
from keyhole.errors import ArgumentError

EXAMPLE = "x3 & x11"


def variable(query: Query, _serving: Serving) -> Answer:
    """Everything the page shows of a formula, but for its answer to an input, which is asked first and comes sooner."""
    compiled, shortest = _compiled(query)
    plan = compiled.plan
    guarantees = bound(compiled, samples=query.number("samples", 1, SAMPLES, 1e6))
    return {
        "context": plan.context,
        "shortest": shortest,
        "description": _described(plan.function).record(),
        "information_floor": information_floor(plan.context, plan.function.sparsity),
        "compiled": compiled.record(),
        "bound": guarantees.record(),
    }


def response(query: Query, _serving: Serving) -> Answer:
    """Where the heads look on one input, and what comes out."""
    return asdict(respond(_compiled(query)[0], query.places("ones", CONTEXT)))


def _compiled(query: Query) -> tuple[Compiled, int]:
    """The head for the formula at the context asked for, or at the shortest that holds it; and that shortest one."""
    function = read_formula(query.text("formula", FORMULA, EXAMPLE))
    if function.sparsity > SPARSITY:
        raise ArgumentError(
            f"The function looks at {function.sparsity} positions; the lab takes at most {SPARSITY}. At a terminal, "
            "`keyhole compile` takes more."
        )
    shortest = max(function.positions, default=0) + 1
    if shortest > CONTEXT:
        raise ArgumentError(
            f"The function looks at position {shortest - 1}; contexts of the lab have at most {CONTEXT:,} positions."
        )
    return _kept(function, max(query.whole("context", 1, CONTEXT, 16), shortest)), shortest


@lru_cache(maxsize=32)
def _described(function: SparseFunction) -> Description:
    """Describe the function; the answer is cached for the next context."""
    return describe(function)


@lru_cache(maxsize=32)
def _kept(function: SparseFunction, context: int) -> Compiled:
    """The compiled head, kept for the next bit that is flipped."""
    return compile_function(function, context)


SCREEN = Screen(
    "variable",
    "Create a variable",
    "Type a function of a few bits. The page shows the attention head that computes it, and what is proved of it.",
    {"variable": variable, "response": response},
)
