"""The parts of a plan that nothing reads: what the proof leaves out."""

from dataclasses import replace

import numpy as np

from keyhole.compiler.constructions.plan import Plan


def remove_unread(plan: Plan) -> Plan:
    """The plan without what cannot reach the output: units of read-out weight 0, and heads that write to no other.

    Statement  Both plans have the same output on every input, in exact arithmetic.
    Proof      f = Σ_j w_j ReLU(Σ_h head_h[j]): a unit with w_j = 0 adds nothing, and a head whose values are 0 in
               every unit with w_j ≠ 0 adds 0 to each of their pre-activations.
    Source     Ours.
    """
    read = np.flatnonzero(plan.readout)
    heads = tuple(
        replace(
            head,
            values=head.values[:, :, read],
            rest_values=head.rest_values[:, read],
            cls_values=None if head.cls_values is None else head.cls_values[read],
        )
        for head in plan.heads
        if head.values[:, :, read].any() or head.rest_values[:, read].any() or head.own_values[read].any()
    )
    if len(read) == plan.width and len(heads) == len(plan.heads):
        return plan
    return replace(plan, heads=heads, readout=plan.readout[read], units=tuple(plan.units[j] for j in read))


def count_unread_heads(plan: Plan) -> int:
    """How many distractors the plan has: heads without a unit that is read."""
    return len(plan.heads) - len(remove_unread(plan).heads)
