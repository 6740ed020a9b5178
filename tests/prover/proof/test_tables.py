"""What a head computes from its tables, in doubles, is within its ball of what the scores and values define."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.attention.normalisers import Softmax
from keyhole.attention.tables import Tabulated, TabulatedHead, tabulate
from keyhole.attention.weights import ReadOut, Wiring
from keyhole.prover.extraction.drift import drifts_of
from keyhole.prover.proof.tables import HeadTable, Tables, outputs, tables_of
from keyhole.rigorous.enclosures import Ball

from helpers.exact_models import exact_outputs, holds, lifted, precisely, strained
from helpers.planted_juntas import FEW, all_sequences
from helpers.random_models import plans, random_model


def shown_by(tables, sequences):
    """Sequences as points, where every position has its own row."""
    return np.eye(tables.symbols, dtype=np.int64)[sequences]


@given(st.integers(0, 10**6), st.sampled_from([0.37, 1.0, 8.0]), st.sampled_from([1.0, 30.0]))
def test_a_mean_moves_with_the_rounding_of_masses_by_the_slack_at_most(seed, temperature, loudness):
    """The mean of the stored masses, taken exactly, is within the slack of the softmax, taken exactly."""
    rng = np.random.default_rng(seed)
    scores, values = loudness * rng.normal(size=(3, 2)), rng.choice([-1.0, 1.0, 0.7], size=(3, 2, 1))
    head = TabulatedHead(scores, values, np.array(rng.normal()), rng.normal(size=1), Softmax(temperature))
    model = Tabulated(3, (head,), np.zeros(1), Wiring(), ReadOut(np.ones(1)))
    sequences = all_sequences(3, 2)
    stored = tables_of(model, (0, 1, 2)).heads[0]
    places = np.arange(3)
    with precisely():
        masses, own = lifted(stored.mass)[places, sequences], lifted(stored.cls_mass)
        sums = (masses[:, :, None] * lifted(stored.values)[places, sequences]).sum(axis=1)
        means = (sums + own * lifted(head.cls_value)) / (masses.sum(axis=1) + own)[:, None]
        moved = exact_outputs(model, sequences) - means
    assert holds(Ball(np.zeros(1), stored.slack), moved)


@settings(max_examples=FEW)
@given(plans, st.sampled_from([0.0, 1e4]))
def test_outputs_hold_the_truth(plan, strain):
    """Of tables as given, and of weights with the drift of their tables: no output is outside its ball."""
    model = strained(random_model(replace(plan, tokens=min(plan.tokens, 4), projected=False)), strain)
    given = tabulate(model)
    sequences = all_sequences(given.tokens, given.symbols)[:40]
    positions = tuple(range(given.tokens))
    for truth, drifts in ((given, None), (model, drifts_of(model, given))):
        tables = tables_of(given, positions, drifts)
        assert holds(outputs(tables, shown_by(tables, sequences)), exact_outputs(truth, sequences))


@pytest.mark.parametrize("share", [1 / 3, 0.7, 0.9, 1.1])
def test_a_long_sum_rounds_by_its_length(share):
    """Equal terms added one by one round the same way again and again: a mean of 20 000 ones is off by 1000u."""
    rows, value = 20_000, np.array([1.0, 0.7])
    head = HeadTable(np.full((rows, 1), share), np.broadcast_to(value, (rows, 1, 2)), share, value)
    tables = Tables(rows, (head,), np.ones(rows, dtype=np.int64), tuple((place,) for place in range(rows)))
    for count in (1, 3):
        assert holds(outputs(tables, np.ones((count, rows, 1), dtype=np.int64)), lifted(value))
