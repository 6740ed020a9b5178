"""The norms of a plan, from the few rows of its matrices that are not zero: a million positions cost nothing."""

from dataclasses import replace
from math import hypot, sqrt

import numpy as np

from keyhole.attention import matrix_norms
from keyhole.compiler.constructions.plan import HeadPlan, Plan
from keyhole.norm_profile import BlockNorms, HeadNorms, MatrixNorms, NormProfile


def plan_profile(plan: Plan) -> NormProfile:
    """Measure the norms that the theorems take; equal to those of the dense matrices."""
    reach = sum(np.linalg.norm(_rows_by_length(plan, head), axis=0) for head in plan.heads)
    return NormProfile(
        blocks=(BlockNorms(heads=tuple(_head_norms(plan, head) for head in plan.heads)),),
        tokens=plan.context + 1,
        readout=float(np.linalg.norm(plan.readout)),
        token_radius=plan.layout.radius,
        query_radius=1.0,
        token_diameter=plan.layout.diameter(),
        path=float(np.abs(plan.readout) @ reach),
        path_inf=plan.path_inf,
        spread=plan.spread,
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


def value_radius(plan: Plan) -> float:
    """V, the largest ‖W_Vᵀx‖₂ of a token, added over the heads."""
    rows = [np.concatenate([_own_rows(plan, head), _shared_rows(plan, head)]) for head in plan.heads]
    return float(sum(np.linalg.norm(values, axis=1).max() for values in rows))


def logit_range(plan: Plan) -> float:
    """The length of the interval that holds every logit of a head, [CLS]'s 0 included."""
    ends = [np.concatenate([np.ravel(head.focus), np.ravel(head.rest_logits), [0.0]]) for head in plan.heads]
    return float(max(np.ptp(logits) for logits in ends))


def _head_norms(plan: Plan, head: HeadPlan) -> HeadNorms:
    """M = q x_CLSᵀ has rank one, and x_CLS is a unit vector.

    Logits off the relevant positions count once for every coordinate of q that holds them.
    """
    q, rest = plan.layout.key_entries(plan.function.positions, head), np.ravel(head.rest_logits)
    size, absolute = float(np.linalg.norm(q)), float(np.abs(q).sum())
    if plan.layout.orthogonal and rest.any():  # of codes: what other positions get follows from q
        copies = 1 if isinstance(head.rest_logits, np.ndarray) else _others(plan)
        count = copies * (2 if plan.layout.names_position else 1)
        size = hypot(size, sqrt(count) * float(np.linalg.norm(rest)))
        absolute += count * float(np.abs(rest).sum())
    score = MatrixNorms(plan.dimension, plan.dimension, size, size, size, absolute, absolute)
    shared, value = _shared_rows(plan, head), matrix_norms(_rows_by_length(plan, head))
    if len(shared):
        own, others = matrix_norms(_own_rows(plan, head)), matrix_norms(shared)
        rows21 = own.rows21 + _others(plan) * others.rows21
        value = replace(value, rows21=rows21, entries11=own.entries11 + _others(plan) * others.entries11)
    return HeadNorms(score, replace(value, rows=plan.dimension), query=size)


def _rows_by_length(plan: Plan, head: HeadPlan) -> np.ndarray:
    """Few rows that give W_V's spectral norm and the length of each of its columns.

    Statement  n copies of a row r can be replaced by one row √n r.
    Proof      Both add n r rᵀ to W_VᵀW_V, which decides those norms.
    """
    own, shared = _own_rows(plan, head), _shared_rows(plan, head)
    return np.concatenate([own, sqrt(_others(plan)) * shared]) if len(shared) else own


def _own_rows(plan: Plan, head: HeadPlan) -> np.ndarray:
    """The rows of W_V that can differ from zero, those apart that every other position has alike."""
    rows = plan.layout.value_rows(head)
    return rows if head.cls_values is None else np.concatenate([rows, head.cls_values[None]])


def _shared_rows(plan: Plan, head: HeadPlan) -> np.ndarray:
    """The rows other than zero that W_V has once for every position off the relevant ones."""
    copied = plan.layout.names_position and _others(plan) > 0
    return head.rest_values[head.rest_values.any(axis=1)] if copied else np.zeros((0, plan.width))


def _others(plan: Plan) -> int:
    return plan.context - plan.function.sparsity
