"""The norms of a plan, from the few rows of its matrices that are not zero: a million positions cost nothing."""

from dataclasses import replace
from math import sqrt

import numpy as np

from keyhole.attention.matrices import matrix_norms
from keyhole.attention.positions import SignCodes
from keyhole.compiler.constructions.additive import TOKENS, relevant_products
from keyhole.compiler.constructions.plan import HeadPlan, Plan
from keyhole.profile import BlockNorms, HeadNorms, MatrixNorms, NormProfile

PAIRS = 2048  # vectors up to which the distances of random codes are looked at


def plan_profile(plan: Plan) -> NormProfile:
    """What the theorems read off the plan's weights; equal to measuring the dense matrices."""
    pair = plan.paired
    reach = sum(np.linalg.norm(value_rows(plan, head), axis=0) for head in plan.heads)
    return NormProfile(
        blocks=(BlockNorms(heads=tuple(_head_norms(plan, head) for head in plan.heads)),),
        tokens=plan.context + 1,
        readout=float(np.linalg.norm(plan.readout)),
        token_radius=1.0 if pair else sqrt(2),
        query_radius=1.0,
        token_diameter=sqrt(2) if pair else _additive_diameter(plan),
        path=float(np.abs(plan.readout) @ reach),
        path_inf=plan.path_inf,
        spread=0.0,  # logits do not depend on symbols
        readout_nonnegative=bool((plan.readout >= 0).all()),
    )


def key_entries(plan: Plan, head: HeadPlan) -> np.ndarray:
    """The entries of the key vector q that can differ from zero."""
    if plan.paired:
        return np.repeat(head.focus, 2)
    if plan.codes_seed is None:
        return head.focus
    codes = SignCodes(plan.context, plan.dimension - TOKENS, plan.codes_seed)
    relevant = np.concatenate([codes.rows(i, i + 1, np.zeros(())) for i in plan.function.positions])
    return np.asarray(np.linalg.solve(relevant_products(codes, plan.function.positions), head.focus) @ relevant)


def value_rows(plan: Plan, head: HeadPlan) -> np.ndarray:
    """The rows of W_V that can differ from zero: of the relevant pairs, or of the two tokens."""
    return head.values.reshape(-1, plan.width) if plan.paired else head.rest_values


def value_radius(plan: Plan) -> float:
    """V, the largest ‖W_Vᵀx‖₂ of a token, added over the heads."""
    return float(sum(np.linalg.norm(value_rows(plan, head), axis=1).max() for head in plan.heads))


def logit_range(plan: Plan) -> float:
    """The length of the interval that holds every logit of a head, [CLS]'s 0 included."""
    ends = [np.concatenate([head.focus, np.ravel(head.rest_logits), [0.0]]) for head in plan.heads]
    return float(max(np.ptp(logits) for logits in ends))


def _head_norms(plan: Plan, head: HeadPlan) -> HeadNorms:
    """M = q x_CLSᵀ has rank one, and x_CLS is a unit vector."""
    q = key_entries(plan, head)
    size, absolute = float(np.linalg.norm(q)), float(np.abs(q).sum())
    score = MatrixNorms(plan.dimension, plan.dimension, size, size, size, absolute, absolute)
    return HeadNorms(score, replace(matrix_norms(value_rows(plan, head)), rows=plan.dimension), query=size)


def _additive_diameter(plan: Plan) -> float | None:
    """D_X of x_t = p_t + e_(b_t): two tokens of unlike symbols, or one of them and [CLS]."""
    if plan.context == 1:
        return sqrt(3)
    if plan.codes_seed is None:
        return 2.0
    if 2 * plan.context + 1 > PAIRS:
        return None
    codes = SignCodes(plan.context, plan.dimension - TOKENS, plan.codes_seed)
    rows = codes.rows(0, plan.context, np.zeros(()))
    return sqrt(max(3.0, 4.0 - 2.0 * float((rows @ rows.T).min())))
