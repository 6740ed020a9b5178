"""Random [CLS] models that listen to few positions, all their inputs, and what they answer there."""

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from keyhole.attention.evaluation import evaluate
from keyhole.attention.tables import tabulate
from keyhole.boolean.junta import Junta

from helpers.random_models import Plan, random_model

FEW = settings().max_examples // 3  # for laws whose every case bounds a whole model
LOUD = 12.0  # e^12 against a background of ten tokens: what is read is nearly a function of the loud positions

plans = st.builds(
    Plan,
    seed=st.integers(0, 10**6),
    tokens=st.integers(1, 7),
    symbols=st.just(2),
    heads=st.integers(1, 4),
    placement=st.sampled_from(["pre", "post"]),
    norms=st.booleans(),
    residual=st.sampled_from(["none", "each", "block"]),
    feedforward=st.sampled_from([True, True, False]),
    gelu=st.booleans(),
    join=st.sampled_from(["sum", "concatenate"]),
    final_norm=st.booleans(),
) | st.builds(Plan, seed=st.integers(0, 10**6), tokens=st.integers(1, 4), symbols=st.just(3), heads=st.integers(1, 3))


def planted(plan, positions, loudness=LOUD):
    """The plan's tables with the scores at some positions raised."""
    tables = tabulate(random_model(plan))
    raised = np.zeros((plan.tokens, 1))
    raised[list(positions)] = loudness
    return replace(tables, heads=tuple(replace(head, scores=head.scores + raised) for head in tables.heads))


def all_sequences(tokens, symbols):
    """Every sequence, one per row."""
    return np.array(list(product(range(symbols), repeat=tokens)), dtype=np.int64).reshape(-1, tokens)


def answers(model, positions):
    """Every sequence, f there, the index of its cell, and the junta of each cell's majority."""
    sequences = all_sequences(model.tokens, model.symbols)
    f = evaluate(model, sequences)
    weights = model.symbols ** np.arange(len(positions))
    cells = (sequences[:, list(positions)] @ weights).astype(np.int64)
    table = np.array([2 * np.sum(f[cells == cell] > 0) > np.sum(cells == cell) for cell in range(cells.max() + 1)])
    return sequences, f, cells, Junta(tuple(positions), model.symbols, table)


def least_heights(f, cells, junta):
    """The smallest sign·f of each cell."""
    signed = np.where(junta.table[cells], f, -f)
    return np.array([signed[cells == cell].min() for cell in range(len(junta.table))])
