"""A compiled function as the record that a page proves: a claim, and weights with every digit."""

import json
from hashlib import sha256
from typing import Any

import numpy as np

from keyhole.boolean import Levels, decide
from keyhole.compiler.constructions.plan import Plan, every_pattern, remove_unread
from keyhole.compiler.proof import Proof
from keyhole.errors import OutputError

MAX_TABLE = 10  # relevant positions whose patterns a page goes through one by one
MAX_PRODUCTS = 2**21  # that a page computes: some seconds
MAX_CONTEXT = 2**14  # positions that a page computes one input of


def head_record(plan: Plan, proof: Proof) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the claim about a plan, and its weights as text that reads back bit for bit.

    Irrelevant tokens must be read alike, or by one head: for other plans a page has no argument.
    """
    plan = remove_unread(plan)
    function, s = plan.function, plan.function.sparsity
    counted = isinstance(function.rule, Levels) and s > MAX_TABLE
    cases = s + 1 if counted else 1 << s
    products = cases * s * plan.width * len(plan.heads)
    if (s > MAX_TABLE and not counted) or products > MAX_PRODUCTS or plan.context > MAX_CONTEXT:
        raise OutputError(
            f"A page was asked for, whose script would prove {s} relevant positions of {plan.context} "
            f"with {plan.width} units; it proves up to {MAX_TABLE} positions of {MAX_CONTEXT}. "
            "Write .safetensors for `keyhole check`."
        )
    blind = all(np.array_equal(head.rest_values[0], head.rest_values[1]) for head in plan.heads)
    if not blind and len(plan.heads) > 1:
        raise OutputError(
            f"A page was asked for of construction {plan.construction}, whose several heads read the other positions; "
            "a page cannot prove that. Use --construction pair, or write .safetensors for `keyhole check`."
        )
    weights = {
        "heads": [
            {
                "focus": _digits(head.symbol_focus),
                "values": _digits(head.values),
                "rest_logits": _digits(np.atleast_1d(head.rest_logits)),
                "rest_values": _digits(head.rest_values),
                "cls_values": _digits(head.own_values),
            }
            for head in plan.heads
        ],
        "readout": _digits(plan.readout),
    }
    claim: dict[str, Any] = {
        "context": plan.context,
        "positions": function.positions,
        "output": plan.output,
        "margin": repr(proof.margin),
        "digest": sha256(json.dumps(weights, separators=(",", ":")).encode()).hexdigest(),
    }
    if counted and isinstance(function.rule, Levels):
        return claim | {"levels": function.rule.levels, "negated": function.rule.negated}, weights
    return claim | {"table": decide(function.rule, every_pattern(s)).tolist()}, weights


def _digits(numbers: np.ndarray) -> Any:
    """Every number as the shortest text that reads back as it is, in lists of the array's shape."""
    return np.array([repr(number) for number in numbers.ravel().tolist()], dtype=object).reshape(numbers.shape).tolist()
