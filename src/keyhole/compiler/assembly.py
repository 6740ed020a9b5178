"""A plan as weights: tables of logits and values, and the model they are tables of."""

import numpy as np

from keyhole.attention import (
    Affine,
    Block,
    FactoredScore,
    FeedForward,
    Head,
    Identity,
    Model,
    ReadOut,
    ReLU,
    Tabulated,
    TabulatedHead,
    Wiring,
)
from keyhole.compiler.constructions.plan import Plan


def to_tabulated(plan: Plan) -> Tabulated:
    """The plan's tables: relevant rows and one row for all others; a row each where random codes tell them apart."""
    listed = not any(isinstance(head.rest_logits, np.ndarray) for head in plan.heads)
    heads = []
    for head in plan.heads:
        if listed:
            scores = np.concatenate([head.symbol_focus, np.full((1, 2), head.rest_logits)])
            values = np.concatenate([head.values, head.rest_values[None]])
        else:
            scores = plan.logits(head)
            values = np.tile(head.rest_values, (plan.context, 1, 1))
            values[list(plan.function.positions)] = head.values
        heads.append(TabulatedHead(scores, values, np.zeros(()), head.own_values, activation=_activation(plan)))
    return Tabulated(
        tokens=plan.context,
        heads=tuple(heads),
        stream=np.zeros(1),
        wiring=_wiring(plan),
        readout=ReadOut(plan.readout),
        positions=plan.function.positions if listed else None,
    )


def to_model(plan: Plan) -> Model:
    """The plan as embedding, query–key and value matrices: T rows of the plan's own dimension."""
    embedding = plan.layout.embedding()
    heads = tuple(
        Head(
            score=FactoredScore(query=embedding.cls[:, None], key=plan.key_vector(head)[:, None]),
            value=Affine(plan.value_matrix(head)),
            activation=_activation(plan),
        )
        for head in plan.heads
    )
    return Model(embedding, (Block(heads, _wiring(plan)),), ReadOut(plan.readout))


def _activation(plan: Plan) -> Identity | ReLU:
    """One head has its own ReLU; several are summed first."""
    return ReLU() if len(plan.heads) == 1 else Identity()


def _wiring(plan: Plan) -> Wiring:
    return Wiring() if len(plan.heads) == 1 else Wiring(feedforward=FeedForward(activation=ReLU()))
