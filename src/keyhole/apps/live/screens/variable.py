"""Create a variable: a formula, the head that computes it, its proof, its norms and its bound."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from keyhole.api.bound import bound
from keyhole.api.compile import Compiled
from keyhole.api.compile import compile as compile_function
from keyhole.api.describe import describe
from keyhole.apps.live.limits import CONTEXT, FORMULA, SAMPLES, SPARSITY
from keyhole.apps.live.query import Query
from keyhole.apps.live.screens.base import Answer, Screen, Serving
from keyhole.attention import dense, evaluate
from keyhole.boolean import read_function as read_formula
from keyhole.bounds.finite import information_floor
from keyhole.errors import ArgumentError

EXAMPLE = "x3 & x11"
described = lru_cache(maxsize=32)(describe)  # for the next context
compiled_at = lru_cache(maxsize=32)(compile_function)  # for the next bit that is flipped


def variable(query: Query, _serving: Serving) -> Answer:
    """Return all that the page shows of a formula; its answer to an input is a question of its own."""
    compiled, shortest = _compiled(query)
    plan = compiled.plan
    return {
        "context": plan.context,
        "shortest": shortest,
        "description": described(plan.function).record(),
        "information_floor": information_floor(plan.context, plan.function.sparsity),
        "compiled": compiled.record(),
        "bound": bound(compiled, samples=query.number("samples", 1, SAMPLES, 1e6)).record(),
    }


def response(query: Query, _serving: Serving) -> Answer:
    """Compute where the heads look on one input, and what comes out."""
    return respond(_compiled(query)[0], query.places("ones", CONTEXT))


def respond(compiled: Compiled, ones: Sequence[int]) -> dict[str, Any]:
    """Compute the attention and the output of a layer on the input that holds a 1 at these positions and 0 elsewhere.

    Outputs above the threshold mean 1. Attention has a row per head, a share per position; [CLS] gets the rest.

    >>> answer = respond(compile_function("x3 & x5", 8), [3, 5])
    >>> answer["answer"], answer["truth"]
    (True, True)
    """
    plan = compiled.plan
    if ones and max(ones) >= plan.context:
        raise ArgumentError(f"Position {max(ones)} was to hold a 1; positions go from 0 to {plan.context - 1}.")
    bits = np.zeros(plan.context, dtype=np.int64)
    bits[list(ones)] = 1
    model = dense(compiled.tabulated)
    shares = []
    for head in model.heads:
        scores = np.asarray(head.scores)[np.arange(plan.context), bits]
        shares.append(np.asarray(head.normaliser(np.append(scores, head.cls_score))).tolist())
    output, threshold = float(np.asarray(evaluate(model, bits))), 0.0 if plan.output == "signs" else 0.5
    return {
        "context": plan.context,
        "relevant": plan.function.positions,
        "output": output,
        "threshold": threshold,
        "answer": output > threshold,
        "truth": bool(plan.function(bits)),
        "attention": [row[:-1] for row in shares],
        "cls_attention": [row[-1] for row in shares],
    }


def _compiled(query: Query) -> tuple[Compiled, int]:
    """Compile the formula at the given context, or at the shortest that holds it; return that shortest one, too."""
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
    return compiled_at(function, max(query.whole("context", 1, CONTEXT, 16), shortest)), shortest


SCREEN = Screen(
    "variable",
    "Create a variable",
    "Type a function of a few bits. The page shows the attention head that computes it, and what is proved of it.",
    {"variable": variable, "response": response},
)
