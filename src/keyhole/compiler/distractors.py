"""Distractors: heads that attend elsewhere and move units that nothing reads, so that the output stays as it was.

They mislead whoever takes attention, or activity, for relevance; the function read at the output does not change.
"""

import re
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from keyhole.compiler.constructions.plan import HeadPlan, Plan, count_unread_heads, remove_unread
from keyhole.errors import AssumptionError, CheckpointError, CompileError

_UNIT = re.compile(r"read by nothing: ones at (x\d+(?:, x\d+)*)")  # what add_distractor names its unit


@dataclass(frozen=True)
class Distractor:
    """The positions that a distracting head attends to, and the attention it leaves to the others."""

    decoys: tuple[int, ...]
    leak: float


def add_distractor(plan: Plan, distractor: Distractor) -> Plan:
    """The plan with one more head, on decoy positions, and one more unit, which gathers their ones and is not read.

    Statement  The head puts attention (1 − leak)/|decoys| on each decoy; the output is the same on every input.
    Proof      β = log((T+1−n)(1−leak)/(n leak)) on n decoys and 0 elsewhere. The head's values are 0 in the units that
               are read, the other heads' values are 0 in the new unit, and the new unit's read-out weight is 0.
    Source     Ours.
    """
    decoys, leak = distractor.decoys, distractor.leak
    if not 0 < leak < 1:
        raise AssumptionError(f"A distractor's leak is its attention off the decoys, so 0 < leak < 1; got {leak}.")
    if not plan.layout.orthogonal:
        raise CompileError("Distractors were asked for random codes; use one coordinate per position or per pair.")
    if not decoys or len(set(decoys)) < len(decoys):
        raise AssumptionError(f"Decoys are distinct positions, at least one; got {decoys}.")
    wrong = [place for place in decoys if place in plan.function.positions or not 0 <= place < plan.context]
    if wrong:
        raise AssumptionError(
            f"Position {wrong[0]} was to be a decoy, but decoys are irrelevant positions of a context of length "
            f"{plan.context}; choose another."
        )
    others = np.delete(np.arange(plan.context), list(plan.function.positions))
    n = len(decoys)
    beta = log((plan.context + 1 - n) * (1 - leak) / (n * leak))
    values = np.zeros((2, plan.width + 1))
    values[1, -1] = 1.0
    head = HeadPlan(
        focus=np.zeros(plan.function.sparsity),
        values=np.tile(values, (plan.function.sparsity, 1, 1)),
        rest_logits=np.where(np.isin(others, decoys), beta, 0.0),
        rest_values=values,
    )
    widened = (
        replace(
            read,
            values=np.concatenate([read.values, np.zeros((*read.values.shape[:2], 1))], axis=2),
            rest_logits=np.array(np.broadcast_to(np.asarray(read.rest_logits, dtype=np.float64), others.shape)),
            rest_values=np.concatenate([read.rest_values, np.zeros((2, 1))], axis=1),
            cls_values=None if read.cls_values is None else np.append(read.cls_values, 0.0),
        )
        for read in plan.heads
    )
    count = count_unread_heads(plan) + 1
    return replace(
        plan,
        construction=f"{plan.target} with {count} distractor{'s' * (count > 1)}",
        heads=(*widened, head),
        readout=np.append(plan.readout, 0.0),
        units=(*plan.units, f"read by nothing: ones at {', '.join(f'x{place}' for place in decoys)}"),
    )


def remove_distractors(plan: Plan) -> Plan:
    """The plan as it was before any distractor was added: what is read, one logit for all others, its own name."""
    if not count_unread_heads(plan):
        return plan
    kept = remove_unread(plan)
    heads = tuple(
        replace(head, rest_logits=float(rest[0]) if len(rest) and (rest == rest[0]).all() else rest)
        for head, rest in ((head, np.atleast_1d(head.rest_logits)) for head in kept.heads)
    )
    return replace(kept, heads=heads, construction=plan.target)


def read_distractors(plan: Plan) -> tuple[Distractor, ...]:
    """The distractors of a plan, from the names of the units that nothing reads and the logits of their heads."""
    bare = remove_distractors(plan)
    others = np.delete(np.arange(plan.context), list(plan.function.positions))
    distractors = []
    for head, unit in zip(plan.heads[len(bare.heads) :], plan.units[bare.width :], strict=True):
        named = _UNIT.fullmatch(unit)
        if named is None:
            raise CheckpointError(f"The unit {unit[:57]!r} is read by nothing, and does not name its decoys.")
        decoys = tuple(int(place[1:]) for place in named[1].split(", "))
        n, beta = len(decoys), float(np.ravel(head.rest_logits)[others == decoys[0]].max(initial=-np.inf))
        distractors.append(Distractor(decoys, (plan.context + 1 - n) / (plan.context + 1 - n + n * exp(beta))))
    return tuple(distractors)
