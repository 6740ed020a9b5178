"""Tables made in double precision: the true ones lie within the bound, and what may be far off is not used."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.attention.layers import Affine
from keyhole.attention.positions import LearnedPositions
from keyhole.attention.score import FactoredScore
from keyhole.attention.tables import tabulate
from keyhole.attention.tokens import AdditiveEmbedding, OneHotPairs
from keyhole.attention.weights import Block, Head, Model, ReadOut, Wiring
from keyhole.errors import AssumptionError
from keyhole.prover.extraction import exact_tables as more_bits
from keyhole.prover.extraction.drift import LIMIT, drifts_of, require_exact_enough
from keyhole.prover.extraction.extraction import certifiable
from keyhole.prover.proof.tables import Drift

from helpers.exact_models import lifted, precisely, rational, strained, tables_of_weights
from helpers.planted_juntas import FEW
from helpers.random_models import Plan, plans, random_model


def exact_tables(model, head):
    """Scores and values of a dense head without a norm, in fractions; the scores [CLS] last."""
    embedding = model.embedding
    if isinstance(embedding, AdditiveEmbedding):
        codes = embedding.positions.rows(0, embedding.tokens, embedding.table)
        codes = np.pad(codes, ((0, 0), (0, embedding.width - codes.shape[1])))
        rows = (rational(codes)[:, None] + rational(embedding.table)[None]).reshape(-1, embedding.width)
    else:
        rows = rational(embedding.rows(0, embedding.tokens).reshape(-1, embedding.width))
    rows = np.vstack([rows, rational(embedding.cls)[None]])
    scores = rows @ (rational(head.score.matrix) @ rational(embedding.cls))
    return scores, rows @ rational(head.value.weight) + rational(head.value.bias)


@given(plans)
def test_the_true_tables_lie_within_the_bound(plan):
    """Against exact fractions: no entry is farther off than is said, and random weights are far below the limit."""
    model = random_model(replace(plan, factored=False, norms=False))
    tables = tabulate(model)
    for head, table, drift in zip(model.blocks[0].heads, tables.heads, drifts_of(model, tables), strict=True):
        scores, values = exact_tables(model, head)
        given = rational(np.append(table.scores.reshape(-1), table.cls_score))
        assert max(abs(scores - given)) <= Fraction(drift.score) * Fraction(head.normaliser.temperature)
        given = rational(np.vstack([table.values.reshape(-1, table.values.shape[2]), table.cls_value[None]]))
        assert abs(values - given).max() <= Fraction(drift.value)
        assert 0 < drift.score < LIMIT / 100
        assert drift.value < LIMIT / 100 * abs(given).max()


@settings(max_examples=FEW)
@given(plans, st.sampled_from([0.0, 1e3, 1e7]))
def test_drifts_are_no_less_than_the_truth(plan, strain):
    """Norms, factored and dense scores, sums that nearly cancel: no entry is farther from 260 bits than is said."""
    model = strained(random_model(plan), strain)
    tables = tabulate(model)
    drifts = drifts_of(model, tables)
    for head, drift, (scores, values) in zip(tables.heads, drifts, tables_of_weights(model), strict=True):
        within(scores, np.vstack([head.scores, np.full((1, plan.symbols), head.cls_score)]), drift.score, head)
        own = np.broadcast_to(head.cls_value, (1, *head.values.shape[1:]))
        within(values, np.concatenate([head.values, own]), drift.value)


def within(truths, given, drift, head=None):
    """No truth is farther from what is given than the drift, in units of the head's temperature if there is one."""
    unit = 1.0 if head is None else head.normaliser.temperature
    with precisely():
        assert all(abs(truth) <= arb(drift) * arb(unit) for truth in (truths - lifted(given)).reshape(-1))


def spoilt(where):
    """A model of one head in which one step alone loses digits: the norm of a row, of [CLS]'s own, or the query."""
    plan = Plan(seed=3, tokens=3, heads=1, placement="pre", norms=where != "fold", embedding="pair")
    model = random_model(plan)
    embedding, block = model.embedding, model.blocks[0]
    if where == "rows":
        embedding = replace(embedding, table=embedding.table + 1e8)
    if where == "cls":
        embedding = replace(embedding, cls=embedding.cls + 1e8)
    if where == "fold":  # W_Qᵀz is a small difference; the map of the keys has nothing that cancels
        query = strained(model, 1e8).blocks[0].heads[0].score.query
        embedding = replace(embedding, cls=np.append(embedding.cls[:-1], embedding.cls[-2]))
        head = block.heads[0]
        block = replace(block, heads=(replace(head, score=replace(head.score, query=query)),))
    return replace(model, embedding=embedding, blocks=(block,))


@pytest.mark.parametrize("where", ["rows", "cls", "fold"])
def test_every_step_that_loses_digits_is_paid_for(where):
    """With 1e8 added before a norm, or ±1e8 in the query's map, entries are off by more than all other steps make."""
    model = spoilt(where)
    tables = tabulate(model)
    drift, (scores, values) = drifts_of(model, tables)[0], tables_of_weights(model)[0]
    head = tables.heads[0]
    within(scores, np.vstack([head.scores, np.full((1, 2), head.cls_score)]), drift.score, head)
    within(values, np.concatenate([head.values, np.broadcast_to(head.cls_value, (1, 2, 3))]), drift.value)
    assert drift.score > 1e-10


@given(plans)
def test_every_kind_of_layer_is_bounded(plan):
    """With norms and factored scores: the tables pass, and an entry moved by 1e-6 is noticed, wherever it is."""
    model = random_model(plan)
    tables = tabulate(model)
    assert max(max(drift.score, drift.value) for drift in drifts_of(model, tables)) < LIMIT
    head, rng = tables.heads[-1], np.random.default_rng(plan.seed)
    scores, values = head.scores.copy(), head.values.copy()
    scores[tuple(rng.integers(scores.shape))] += 1e-6
    values[tuple(rng.integers(values.shape))] += 1e-6
    temperature = head.normaliser.temperature
    moved = replace(tables, heads=(*tables.heads[:-1], replace(head, scores=scores, values=values)))
    drift = drifts_of(model, moved)[-1]
    assert drift.score >= 0.999e-6 / temperature
    assert drift.value >= 0.999e-6
    for own in ({"cls_score": head.cls_score + 1e-6}, {"cls_value": head.cls_value + 1e-6}):
        moved = replace(tables, heads=(*tables.heads[:-1], replace(head, **own)))
        drift = drifts_of(model, moved)[-1]
        assert max(drift.score, drift.value) >= 0.999e-6 / max(1, temperature)


@given(st.integers(1, 6), st.integers(0, 10**6), st.floats(1e-6, 2.0), st.floats(0.0, 1.0))
def test_a_drift_moves_a_mean_by_its_bound_at_most(count, seed, score, value):
    """Masses moved by e^(±ε) and values by ±ν, every sign: the mean moves by ν + ε max|v| at most."""
    rng = np.random.default_rng(seed)
    masses, values = np.exp(rng.normal(size=count)), rng.choice([-1.0, 1.0, 0.3], count)
    most = Drift(score, value).of_mean(np.abs(values).max(keepdims=True))[0]
    for signs in product([-1.0, 1.0], repeat=count):
        moved = masses * np.exp(score * np.array(signs))
        for push in (-value, value):
            mean = moved @ (values + push) / moved.sum()
            assert abs(mean - masses @ values / masses.sum()) <= most + 1e-12


def test_a_drift_is_nearly_attained():
    """Half the mass at each of ±1, moved apart: the mean moves by tanh ε, which is ε to first order."""
    for score in (1e-4, 1e-2):
        moved = np.exp([score, -score])
        mean = moved @ [1.0, -1.0] / moved.sum()
        assert mean == pytest.approx(np.tanh(score), rel=1e-9)
        assert Drift(score, 0.0).of_mean(np.ones(1))[0] == pytest.approx(mean, rel=score)


def test_one_hot_pairs():
    """Pairs that are never made as vectors have tables that are rows of the weights: no value is off."""
    model = random_model(Plan(tokens=3, width=7, norms=False, residual="none"))
    model = replace(model, embedding=OneHotPairs(3, 2, np.zeros(())))
    assert max(max(drift.score, drift.value) for drift in drifts_of(model, tabulate(model))) < LIMIT / 100


def cancelling(scale):
    """A head whose score at position 0 is 0.9/√3, the rest of a sum in which ±scale cancel."""
    tokens, places = np.zeros((2, 4)), np.zeros((6, 4))
    tokens[1, 0] = places[0, 1] = 1.0
    query, key = np.zeros((4, 3)), np.zeros((4, 3))
    query[3], key[1] = [scale, 1.0, scale], [1.0, 0.9, -1.0]
    head = Head(FactoredScore(query, key), Affine(np.eye(4)[:, :1]))
    embedding = AdditiveEmbedding(tokens, LearnedPositions(places), np.eye(4)[3])
    wiring = Wiring(join="concatenate", residual="none")
    return Model(embedding, (Block((head,), wiring),), ReadOut(np.ones(1), np.asarray(-0.3)))


@pytest.mark.parametrize("scale", [1.0, 2.0**27, 2.0**53, 2.0**140, 2.0**400])
def test_scores_that_cancel_are_right_all_the_same(scale):
    """With ±2^53 the table in doubles holds 1.0 for a score of 0.52; what is certified is right, less another's."""
    assert abs(tabulate(cancelling(2.0**53)).heads[0].scores[0, 0] - 0.9 / np.sqrt(3)) > 0.4
    (head,) = certifiable(cancelling(scale)).tables.heads
    assert head.scores[0, 0] - head.scores[5, 0] == pytest.approx(0.9 / np.sqrt(3), rel=1e-14)


@pytest.fixture
def only_doubles(monkeypatch):
    """Models too large for balls."""
    monkeypatch.setattr(more_bits, "LARGEST", 0)


@pytest.mark.usefixtures("only_doubles")
def test_scores_that_cancel_are_refused_in_large_models():
    """With ±2^53 the table holds 1.0 for a score of 0.52: refused; with ±1 the score is right, and it passes."""
    assert certifiable(cancelling(1.0)).tables.heads[0].scores[0, 0] == pytest.approx(0.9 / np.sqrt(3))
    with pytest.raises(AssumptionError, match=r"weights nearly cancel: rounding may move its scores by .* Scale"):
        certifiable(cancelling(2.0**53))


def test_the_limit_is_a_billionth():
    """Scores, or values over the largest, off by 1e-8 are refused, and off by 0.9e-9 let pass."""
    tables = tabulate(cancelling(1.0))
    head = tables.heads[0]
    tables = replace(tables, heads=(replace(head, values=head.values * 8, cls_value=head.cls_value * 8),))
    require_exact_enough([Drift(0.9e-9, 8 * 0.9e-9)], tables)
    for drift in (Drift(1e-8, 0.0), Drift(0.0, 8e-8), Drift(1.1e-9, 0.0), Drift(0.0, 8 * 1.1e-9), Drift(np.nan, 0.0)):
        with pytest.raises(AssumptionError, match="1e-09 is let pass"):
            require_exact_enough([drift], tables)


@pytest.mark.usefixtures("only_doubles")
def test_tables_off_by_a_hundred_millionth_are_not_used():
    """With ±2^27 a score may be off by 2^−26 = 1.5e-8, far less than anything seen in a run: refused all the same."""
    off = drifts_of(cancelling(2.0**27), tabulate(cancelling(2.0**27)))[0].score
    assert 5e-9 < off < 1e-6
    with pytest.raises(AssumptionError, match="weights nearly cancel"):
        certifiable(cancelling(2.0**27))


@pytest.mark.parametrize("large", [True, False])
@pytest.mark.parametrize("size", [1e12, 2.0**119])
def test_values_that_cancel_are_not_taken_from_doubles(size, large, monkeypatch):
    """The same for values: a sum of 1e12, 0.1 and −1e12 is off by more than a billionth; more bits have it as 0.1."""
    model = cancelling(1.0)
    block = model.blocks[0]
    value = Affine(np.array([[size], [0.1], [-size], [0.0]]))
    block = replace(block, heads=(replace(block.heads[0], value=value),))
    embedding = replace(model.embedding, table=np.ones((2, 4)), cls=np.eye(4)[1])
    model = Model(embedding, (block,), model.readout)
    if not large:
        (head,) = certifiable(model).tables.heads
        assert head.values[1, 1, 0] == pytest.approx(0.1, rel=1e-15)
        return
    monkeypatch.setattr(more_bits, "LARGEST", 0)
    with pytest.raises(AssumptionError, match=r"its values by .* of the largest"):
        certifiable(model)


def test_other_scores_are_refused():
    """A score that is any function has no bound of its rounding."""
    model = random_model(Plan(norms=False))
    head = model.blocks[0].heads[0]
    other = replace(head, score=lambda tokens, queries: queries @ tokens.T)
    block = replace(model.blocks[0], heads=(other, *model.blocks[0].heads[1:]))
    with pytest.raises(AssumptionError, match="not bilinear or its value map not affine"):
        certifiable(replace(model, blocks=(block,)))
