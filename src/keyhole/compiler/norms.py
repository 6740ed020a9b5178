"""The norms of a plan, from the few rows of its matrices that are not zero: a million positions cost nothing."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from keyhole.attention.matrices import matrix_norms
from keyhole.compiler.constructions.base import Construction, TheoremNorm
from keyhole.compiler.constructions.plan import HeadPlan, Plan
from keyhole.compiler.unread import count_unread_heads
from keyhole.profile import BlockNorms, HeadNorms, MatrixNorms, NormProfile


def plan_profile(plan: Plan) -> NormProfile:
    """What the theorems read off the plan's weights; equal to measuring the dense matrices."""
    reach = sum(np.linalg.norm(value_rows(plan, head), axis=0) for head in plan.heads)
    return NormProfile(
        blocks=(BlockNorms(heads=tuple(_head_norms(plan, head) for head in plan.heads)),),
        tokens=plan.context + 1,
        readout=float(np.linalg.norm(plan.readout)),
        token_radius=plan.layout.radius,
        query_radius=1.0,
        token_diameter=plan.layout.diameter(),
        path=float(np.abs(plan.readout) @ reach),
        path_inf=plan.path_inf,
        spread=0.0,  # logits do not depend on symbols
        readout_nonnegative=bool((plan.readout >= 0).all()),
    )


def named_norms(profile: NormProfile) -> dict[str, float]:
    """The norms that the theorems speak of, by name; of several heads the largest."""
    heads = profile.blocks[0].heads
    named = {
        "score_frobenius": max(head.score.frobenius for head in heads),
        "score_21": max(head.score.columns21 for head in heads),
        "score_transposed_21": max(head.score.rows21 for head in heads),
        "value_spectral": max(head.value.spectral for head in heads),
        "value_21": max(head.value.columns21 for head in heads),
        "value_frobenius": max(head.value.frobenius for head in heads),
        "readout": profile.readout,
    }
    return named | {"path": profile.path or 0.0, "path_inf": profile.path_inf or 0.0}


def theorem_norms(plan: Plan, construction: Construction) -> Mapping[str, TheoremNorm]:
    """The construction's own figure for each norm it speaks of; of a plan with distractors none speaks."""
    return {} if count_unread_heads(plan) else construction.theorem_norms(plan)


def value_rows(plan: Plan, head: HeadPlan) -> np.ndarray:
    """The rows of W_V that can differ from zero."""
    return plan.layout.value_rows(head.values, head.rest_values)


def value_radius(plan: Plan) -> float:
    """V, the largest ‖W_Vᵀx‖₂ of a token, added over the heads."""
    return float(sum(np.linalg.norm(value_rows(plan, head), axis=1).max() for head in plan.heads))


def logit_range(plan: Plan) -> float:
    """The length of the interval that holds every logit of a head, [CLS]'s 0 included."""
    ends = [np.concatenate([head.focus, np.ravel(head.rest_logits), [0.0]]) for head in plan.heads]
    return float(max(np.ptp(logits) for logits in ends))


def _head_norms(plan: Plan, head: HeadPlan) -> HeadNorms:
    """M = q x_CLSᵀ has rank one, and x_CLS is a unit vector."""
    q = plan.layout.key_entries(plan.function.positions, head.focus)
    size, absolute = float(np.linalg.norm(q)), float(np.abs(q).sum())
    score = MatrixNorms(plan.dimension, plan.dimension, size, size, size, absolute, absolute)
    return HeadNorms(score, replace(matrix_norms(value_rows(plan, head)), rows=plan.dimension), query=size)
