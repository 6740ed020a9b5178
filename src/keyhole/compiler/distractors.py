"""Distractors: heads that attend elsewhere and move units that nothing reads, so that the output stays as it was.

They mislead whoever takes attention, or activity, for relevance; the function read at the output does not change.
"""

from dataclasses import replace
from math import log

import numpy as np

from keyhole.compiler.constructions.plan import HeadPlan, Plan
from keyhole.errors import AssumptionError, CompileError


def with_distractor(plan: Plan, decoys: tuple[int, ...], leak: float) -> Plan:
    """The plan with one more head, on decoy positions, and one more unit, which gathers their ones and is not read.

    Statement  The head puts attention (1 − leak)/|decoys| on each decoy; the output is the same on every input.
    Proof      β = log((T+1−n)(1−leak)/(n leak)) on n decoys and 0 elsewhere. The head's values are 0 in the units that
               are read, the other heads' values are 0 in the new unit, and the new unit's read-out weight is 0.
    Source     Ours.
    """
    _check(plan, decoys, leak)
    others = _others(plan)
    n = len(decoys)
    beta = log((plan.context + 1 - n) * (1 - leak) / (n * leak))
    values = np.zeros((2, plan.width + 1))
    values[1, -1] = 1.0
    distractor = HeadPlan(
        focus=np.zeros(plan.function.sparsity),
        values=np.tile(values, (plan.function.sparsity, 1, 1)),
        rest_logits=np.where(np.isin(others, decoys), beta, 0.0),
        rest_values=values,
    )
    return replace(
        plan,
        construction=_named(plan.construction, _count(plan) + 1),
        heads=(*(_widened(head, len(others)) for head in plan.heads), distractor),
        readout=np.append(plan.readout, 0.0),
        units=(*plan.units, f"read by nothing: ones at {', '.join(f'x{place}' for place in decoys)}"),
    )


def live(plan: Plan) -> Plan:
    """The plan without what cannot reach the output: units of read-out weight 0, and heads that write to no other.

    Statement  Both plans have the same output on every input, in exact arithmetic.
    Proof      f = Σ_j w_j ReLU(Σ_h head_h[j]): a unit with w_j = 0 adds nothing, and a head whose values are 0 in
               every unit with w_j ≠ 0 adds 0 to each of their pre-activations.
    Source     Ours.
    """
    read = np.flatnonzero(plan.readout)
    heads = tuple(
        replace(head, values=head.values[:, :, read], rest_values=head.rest_values[:, read])
        for head in plan.heads
        if head.values[:, :, read].any() or head.rest_values[:, read].any()
    )
    if len(read) == plan.width and len(heads) == len(plan.heads):
        return plan
    return replace(plan, heads=heads, readout=plan.readout[read], units=tuple(plan.units[j] for j in read))


def without_distractors(plan: Plan) -> Plan:
    """The plan as it was before any distractor was added: live parts, one logit for all others, its own name."""
    if not _count(plan):
        return plan
    kept = live(plan)
    heads = tuple(
        replace(head, rest_logits=float(rest[0]) if len(rest) and (rest == rest[0]).all() else rest)
        for head, rest in ((head, np.atleast_1d(head.rest_logits)) for head in kept.heads)
    )
    return replace(kept, heads=heads, construction=plan.construction.partition(" with ")[0])


def _check(plan: Plan, decoys: tuple[int, ...], leak: float) -> None:
    if not 0 < leak < 1:
        raise AssumptionError(f"A distractor's leak is its attention off the decoys, so 0 < leak < 1; got {leak}.")
    if plan.codes_seed is not None:
        raise CompileError("Distractors were asked for random codes; use one coordinate per position or per pair.")
    if not decoys or len(set(decoys)) < len(decoys):
        raise AssumptionError(f"Decoys are distinct positions, at least one; got {decoys}.")
    wrong = [place for place in decoys if place in plan.function.positions or not 0 <= place < plan.context]
    if wrong:
        raise AssumptionError(
            f"Position {wrong[0]} was to be a decoy, but decoys are irrelevant positions of a context of length "
            f"{plan.context}; choose another."
        )


def _others(plan: Plan) -> np.ndarray:
    return np.delete(np.arange(plan.context), list(plan.function.positions))


def _count(plan: Plan) -> int:
    """How many distractors the plan has: heads without a unit that is read."""
    return len(plan.heads) - len(live(plan).heads)


def _widened(head: HeadPlan, others: int) -> HeadPlan:
    """The head with 0 in one more unit, and a logit for each other position, as its neighbours have."""
    return HeadPlan(
        focus=head.focus,
        values=np.concatenate([head.values, np.zeros((*head.values.shape[:2], 1))], axis=2),
        rest_logits=np.array(np.broadcast_to(np.asarray(head.rest_logits, dtype=np.float64), (others,))),
        rest_values=np.concatenate([head.rest_values, np.zeros((2, 1))], axis=1),
    )


def _named(construction: str, count: int) -> str:
    return f"{construction.partition(' with ')[0]} with {count} distractor{'s' * (count > 1)}"
