"""A plan as weights: the tables that every room speaks, and the model they are tables of."""

import numpy as np

from keyhole.attention.activations import Identity, ReLU
from keyhole.attention.positions import OneHotPositions, SignCodes
from keyhole.attention.rowwise import Affine, FeedForward
from keyhole.attention.score import FactoredScore
from keyhole.attention.tabulation import Tabulated, TabulatedHead
from keyhole.attention.tokens import AdditiveEmbedding, Embedding, OneHotPairs
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring
from keyhole.compiler.additive import TOKENS, relevant_products
from keyhole.compiler.plan import HeadPlan, Plan


def to_tabulated(plan: Plan) -> Tabulated:
    """The plan's tables: relevant rows and one row for all others; a row each where random codes tell them apart."""
    coded = isinstance(plan.heads[0].rest_logits, np.ndarray)
    return Tabulated(
        tokens=plan.context,
        heads=tuple(_tables(head, plan) for head in plan.heads),
        stream=np.zeros(1),
        wiring=_wiring(plan),
        readout=ReadOut(plan.readout),
        positions=None if coded else plan.function.positions,
    )


def to_model(plan: Plan) -> Model:
    """The plan as embedding, query–key and value matrices: T rows of the plan's own dimension."""
    embedding = _embedding(plan)
    heads = tuple(
        Head(
            score=FactoredScore(query=embedding.cls[:, None], key=key_vector(plan, head)[:, None]),
            value=Affine(_value_matrix(plan, head)),
            activation=_activation(plan),
        )
        for head in plan.heads
    )
    return Model(embedding, (Block(heads, _wiring(plan)),), ReadOut(plan.readout))


def key_vector(plan: Plan, head: HeadPlan) -> np.ndarray:
    """The vector q whose product with a token is its logit: M = q x_CLSᵀ."""
    q, places = np.zeros(plan.dimension), np.array(plan.function.positions)
    if _is_pair(plan):
        q[2 * places] = q[2 * places + 1] = head.focus
    elif plan.codes_seed is None:
        q[places] = head.focus
    else:
        codes = SignCodes(plan.context, plan.dimension - TOKENS, plan.codes_seed)
        own = relevant_products(codes, plan.function.positions)
        relevant = np.concatenate([codes.rows(i, i + 1, np.zeros(())) for i in plan.function.positions])
        q[: codes.width] = np.linalg.solve(own, head.focus) @ relevant
    return q


def _embedding(plan: Plan) -> Embedding:
    if _is_pair(plan):
        return OneHotPairs(plan.context, 2, np.zeros(()))
    width = plan.dimension - TOKENS
    codes = (
        OneHotPositions(plan.context, width)
        if plan.codes_seed is None
        else SignCodes(plan.context, width, plan.codes_seed)
    )
    tokens = np.eye(TOKENS, plan.dimension, width)
    return AdditiveEmbedding(tokens[:2], codes, tokens[2])


def _value_matrix(plan: Plan, head: HeadPlan) -> np.ndarray:
    """W_V: nonzero on the relevant pairs, or on the two token coordinates."""
    matrix = np.zeros((plan.dimension, plan.width))
    if _is_pair(plan):
        places = np.array(plan.function.positions)
        matrix[2 * places], matrix[2 * places + 1] = head.values[:, 0], head.values[:, 1]
    else:
        matrix[plan.dimension - TOKENS : plan.dimension - 1] = head.rest_values
    return matrix


def _tables(head: HeadPlan, plan: Plan) -> TabulatedHead:
    rest, s = head.rest_logits, plan.function.sparsity
    rows = plan.context - s if isinstance(rest, np.ndarray) else 1
    logits = np.concatenate([head.focus, np.broadcast_to(np.asarray(rest), (rows,))])
    values = np.concatenate([head.values, np.broadcast_to(head.rest_values, (rows, 2, plan.width))])
    if isinstance(rest, np.ndarray):
        others = np.delete(np.arange(plan.context), list(plan.function.positions))
        order = np.argsort(np.concatenate([np.array(plan.function.positions), others]))
        logits, values = logits[order], values[order]
    scores = np.stack([logits, logits], axis=1)
    return TabulatedHead(scores, values, np.zeros(()), np.zeros(plan.width), activation=_activation(plan))


def _activation(plan: Plan) -> Identity | ReLU:
    """One head has its own ReLU; several are summed first."""
    return ReLU() if len(plan.heads) == 1 else Identity()


def _wiring(plan: Plan) -> Wiring:
    return Wiring() if len(plan.heads) == 1 else Wiring(feedforward=FeedForward(activation=ReLU()))


def _is_pair(plan: Plan) -> bool:
    """Construction A: one coordinate per (position, symbol) and one for [CLS]."""
    return plan.construction.startswith("A")
