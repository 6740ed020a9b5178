"""Tables in more bits: heads hold the truth within what is said, and scores brought nearer move next to nothing."""

from dataclasses import replace
from math import exp, log

import numpy as np
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.attention.tables import tabulate
from keyhole.attention.weights import Wiring
from keyhole.boolean.junta import uniform_law
from keyhole.prover.certificate import Terms, certificate_of
from keyhole.prover.extraction.exact_tables import APART, brought_nearer, exact_tables, nearer_tables
from keyhole.prover.extraction.extraction import certifiable
from keyhole.prover.proof.tables import outputs, split, tables_of

from helpers.exact_models import at_precision, exact_outputs, holds, strained
from helpers.planted import junta_of, planted
from helpers.planted_juntas import FEW, all_sequences
from helpers.random_models import plans, random_model


def bounded(tables, drifts, sequences):
    """The outputs of all heads on sequences, as balls."""
    found = tables_of(tables, tuple(range(tables.tokens)), drifts)
    cells = tuple(map(tuple, sequences.tolist()))
    return outputs(found, split(found, cells, tuple(range(tables.tokens))).fixed)


@settings(max_examples=FEW)
@given(plans, st.sampled_from([1e6, 1e12, 1e80]), st.sampled_from([1.0, 1e3]))
def test_heads_from_more_bits_hold_the_truth(plan, strain, loud):
    """Where sums cancel to nothing in doubles, and scores spread by thousands, every output lies in its small ball."""
    model = strained(random_model(replace(plan, tokens=min(plan.tokens, 3), symbols=2)), strain, values=loud * strain)
    tables, drifts = exact_tables(model, tabulate(model))
    sequences = all_sequences(tables.tokens, 2)
    found = bounded(tables, drifts, sequences)
    with at_precision(1500):
        truths = exact_outputs(model, sequences)
        assert holds(found, truths)
        sizes = max(float(np.abs(head.values).max()) for head in tables.heads)
        assert found.rad.max() <= 1e-11 * max(sizes, 1e-9)


def mean(scores, values):
    """The output of a head, in balls."""
    masses = [score.exp() for score in scores]
    return sum(mass * value for mass, value in zip(masses, values, strict=True)) / sum(masses)


@given(st.lists(st.floats(-1e5, 1e5), min_size=1, max_size=6), st.data())
def test_scores_brought_nearer_move_a_mean_by_next_to_nothing(scores, data):
    """At most 4 e^−45 of the largest value, whichever tokens an input shows; gaps are at most 45 + ln(T + 1)."""
    tokens = len(scores) - 1
    with ctx.workprec(600):
        before = [arb(score) for score in scores]
        after = brought_nearer(before, tokens)
        shown = data.draw(st.sets(st.integers(0, tokens), min_size=1))
        values = [data.draw(st.sampled_from([-1, 1])) for _ in shown]
        moved = mean([before[i] for i in shown], values) - mean([after[i] for i in shown], values)
        assert abs(moved) <= 4 * arb(-APART).exp() + arb(2) ** -500
        ordered = sorted(float(score.mid()) for score in after)
        assert ordered[-1] == 0
        assert max(np.diff(ordered), default=0.0) <= APART + log(tokens + 1) + 1e-9


def test_what_nearer_scores_move_is_of_the_order_stated():
    """One token at 1 far above T at −1: brought to 45 + ln(T + 1), they move the mean by nearly 2 e^−45, half of it."""
    for tokens in (10, 1000):
        with ctx.workprec(600):
            scores = [arb(0)] + [arb(-1e6)] * tokens
            moved = mean(scores, [1] + [-1] * tokens) - mean(brought_nearer(scores, tokens), [1] + [-1] * tokens)
            assert 1.8 * exp(-45) < float(moved) < 2 * exp(-45)


def test_tables_with_scores_far_apart_are_proved():
    """A head that looks at one position alone, by a score of 5,000 or of 10^300: proved, and of its tables."""
    for focus in (5e3, 1e300):
        model = planted(junta_of("x1"), 4)
        scores = np.full((4, 2), -focus)
        scores[1] = [focus / 2, focus]
        head = replace(model.heads[0], scores=scores, cls_score=np.asarray(-focus))
        readout = replace(model.readout, bias=np.asarray(-0.5))
        subject = certifiable(replace(model, heads=(head,), wiring=Wiring(), readout=readout))
        assert not subject.of_weights
        found = certificate_of(
            subject.tables, drifts=subject.drifts, of_weights=subject.of_weights, terms=Terms(uniform_law(2), fresh=10)
        )
        assert not found.of_weights
        assert found.status == "PROVED"


def test_only_the_scores_of_given_tables_change():
    """Values stay what they are, and no drift of values is stated."""
    model = planted(junta_of("x1"), 4, noise=0.3)
    tables, drifts = nearer_tables(model)
    assert np.array_equal(tables.heads[0].values, model.heads[0].values)
    assert drifts[0].value < 1e-300
    assert drifts[0].score < 1e-12
