"""One input through a compiled layer: where each head looks, and what comes out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyhole.api.compile import Compiled
from keyhole.attention import dense, evaluate
from keyhole.errors import ArgumentError


@dataclass(frozen=True)
class Response:
    """The output of a compiled layer on one input."""

    function: str
    context: int
    ones: tuple[int, ...]  # the positions that hold a 1; all others hold a 0
    relevant: tuple[int, ...]
    output: float
    threshold: float  # outputs above it mean 1
    answer: bool  # of the layer
    truth: bool  # of the function
    attention: tuple[tuple[float, ...], ...]  # a row per head: the share of every position; [CLS] has the rest
    cls_attention: tuple[float, ...]  # the share of [CLS], by head


def respond(compiled: Compiled, ones: Sequence[int]) -> Response:
    """The attention and the output of a compiled layer on the input that holds a 1 at these positions and 0 elsewhere.

    >>> from keyhole.api.compile import compile
    >>> answer = respond(compile("x3 & x5", 8), [3, 5])
    >>> answer.answer, answer.truth
    (True, True)
    """
    plan = compiled.plan
    places = sorted({int(place) for place in ones})
    if places and not 0 <= places[0] <= places[-1] < plan.context:
        raise ArgumentError(
            f"Position {places[0] if places[0] < 0 else places[-1]} was to hold a 1; positions go from 0 to "
            f"{plan.context - 1}."
        )
    bits = np.zeros(plan.context, dtype=np.int64)
    bits[places] = 1
    model = dense(compiled.tabulated)
    shares = []
    for head in model.heads:
        scores = np.asarray(head.scores)[np.arange(plan.context), bits]
        shares.append(np.asarray(head.normaliser(np.append(scores, head.cls_score))))
    output, threshold = float(np.asarray(evaluate(model, bits))), 0.0 if plan.output == "signs" else 0.5
    return Response(
        function=str(plan.function),
        context=plan.context,
        ones=tuple(places),
        relevant=plan.function.positions,
        output=output,
        threshold=threshold,
        answer=output > threshold,
        truth=bool(plan.function(bits)),
        attention=tuple(tuple(float(share) for share in row[:-1]) for row in shares),
        cls_attention=tuple(float(row[-1]) for row in shares),
    )
