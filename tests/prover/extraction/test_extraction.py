"""The junta a model computes is read off exactly, by influences that equal flipping one token and evaluating again."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.attention.evaluation import Evaluator, evaluate
from keyhole.attention.normalisers import Sparsemax
from keyhole.attention.tables import tabulate
from keyhole.boolean.junta import Junta, biased_bits, uniform_law
from keyhole.compiler.assembly import to_tabulated
from keyhole.errors import AssumptionError
from keyhole.prover.extraction.extraction import CANDIDATES, certifiable, contrast, extract, influences, majority_table

from helpers.compiled_plans import every_plan
from helpers.planted import families, junta_of, planted, random_symbol_junta
from helpers.random_models import Plan, plans, random_model


@pytest.mark.slow
@pytest.mark.parametrize("positions", [(2, 31), (0, 17, 39)])
def test_exact_on_compiled_models(positions):
    """Every family under every construction comes back as itself."""
    for function in families(positions).values():
        for plan in every_plan(function, 40):
            found = extract(Evaluator(certifiable(to_tabulated(plan)).tables))
            assert found.junta is not None, (plan.construction, str(function), found.reason)
            assert found.junta.function() == function
            assert found.agreement == 1.0


@pytest.mark.parametrize("sparsity", [1, 3, 6])
def test_exact_on_planted_models(sparsity):
    """Every family, with noise on all other tokens that moves r by a few hundredths and never past a half."""
    positions = tuple(np.sort(np.random.default_rng(sparsity).choice(120, sparsity, replace=False)).tolist())
    for name, function in families(positions).items():
        found = extract(Evaluator(planted(junta_of(function), 120, noise=0.1)))
        assert found.junta is not None, (name, found.reason)
        assert found.junta.function() == function


@pytest.mark.parametrize(("symbols", "sparsity"), [(3, 2), (3, 3), (4, 2), (5, 1)])
def test_exact_over_larger_alphabets(symbols, sparsity):
    """A table over A symbols comes back entry by entry."""
    wanted = random_symbol_junta(tuple(range(1, 7 * sparsity, 7)), symbols)
    found = extract(Evaluator(planted(wanted, 30, noise=0.05, focus=8.0))).junta
    assert found is not None
    assert (found.positions, found.symbols) == (wanted.positions, symbols)
    assert np.array_equal(found.table, wanted.table)


def test_exact_under_a_bias():
    """A 3-AND under P(1) = .794, where labels are balanced."""
    found = extract(Evaluator(planted(junta_of("x3 & x9 & x20"), 50, noise=0.05)), law=biased_bits(0.794)).junta
    assert found is not None
    assert str(found.function()) == "x3 & x9 & x20"


@settings(max_examples=25)
@given(plan=plans)
def test_influences_are_flips(plan):
    """Each equals the mean move of the output when the other symbol is written there and the model evaluated anew."""
    model = certifiable(tabulate(random_model(replace(plan, symbols=2)))).tables
    law = uniform_law(2)
    rows = law.draw(7, model.tokens, np.random.default_rng(1))
    asked = np.arange(model.tokens)
    found = influences(Evaluator(model), rows, asked, np.random.default_rng(2))
    for place in asked:
        flipped = rows.copy()
        flipped[:, place] ^= 1
        moved = np.mean(np.abs(np.asarray(evaluate(model, flipped)) - np.asarray(evaluate(model, rows))))
        # both sums have at most 10 terms of size ≤ 1 relative to their mass: 1e-9 is far above rounding
        assert found[place] == pytest.approx(moved, rel=1e-9, abs=1e-9)


def test_a_token_with_all_the_mass_hides_no_other():
    """One symbol with e^50 of the mass: when it is flipped away the others decide, and their sums are not lost."""
    model = planted(junta_of("x1 & x2"), 6)
    head = model.heads[0]
    scores = head.scores.copy()
    scores[4, 1] = 50.0
    model = replace(model, heads=(replace(head, scores=scores),))
    rows = np.ones((4, 6), dtype=np.int8)
    found = influences(Evaluator(model), rows, np.arange(6), np.random.default_rng(0))
    flipped = rows.copy()
    flipped[:, 4] = 0
    moved = np.abs(np.asarray(evaluate(model, flipped)) - np.asarray(evaluate(model, rows))).mean()
    assert moved > 0.5
    assert found[4] == pytest.approx(moved, rel=1e-9)


@settings(max_examples=25)
@given(plan=plans, data=st.data())
def test_tables_are_votes(plan, data):
    """Every cell is the majority, over the backgrounds, of the model's answers with the cell written in."""
    model = certifiable(tabulate(random_model(plan))).tables
    size = data.draw(st.integers(0, min(2, model.tokens)))
    positions = tuple(range(model.tokens))[:size]
    rows = uniform_law(model.symbols).draw(5, model.tokens, np.random.default_rng(3))
    found = majority_table(Evaluator(model), rows, positions)
    for cell, answer in zip(Junta(positions, model.symbols, found).cells(), found, strict=True):
        written = rows.copy()
        written[:, list(positions)] = cell
        assert answer == (np.mean(np.asarray(evaluate(model, written)) > 0) > 0.5)


def test_contrast_is_no_verdict():
    """Tokens of large contrast that the read-out ignores fill the first candidates; the function is found among all."""
    tokens = CANDIDATES + 40
    model = planted(junta_of(f"x{tokens - 1} & x{tokens - 2}"), tokens, focus=7.0)
    head = model.heads[0]
    rng = np.random.default_rng(0)
    values = np.concatenate([head.values, np.zeros((tokens, 2, 1))], axis=2)
    values[: tokens - 2, :, 1] = 1e4 * rng.normal(size=(tokens - 2, 2))
    inner = model.wiring.feedforward.inner
    blind = replace(inner, weight=np.concatenate([inner.weight, np.zeros_like(inner.weight)]))
    wiring = replace(model.wiring, feedforward=replace(model.wiring.feedforward, inner=blind))
    model = replace(model, wiring=wiring, heads=(replace(head, values=values, cls_value=np.zeros(2)),))
    assert set(np.argsort(-contrast(Evaluator(model), uniform_law(2)))[:CANDIDATES]).isdisjoint(
        {tokens - 1, tokens - 2}
    )
    found = extract(Evaluator(model)).junta
    assert found is not None
    assert found.positions == (tokens - 2, tokens - 1)


def test_what_is_no_junta_is_said_to_be_none():
    """A majority of 31 positions agrees with no function of six."""
    model = planted(junta_of("x0"), 31)
    head = model.heads[0]
    votes = np.tile(np.array([[0.0], [2.0 * 33 / 31]]), (31, 1, 1))  # N/Z = 1 at half of the votes, r = 1.03…
    model = replace(
        model,
        heads=(replace(head, scores=np.zeros((31, 2)), values=votes),),
        wiring=replace(model.wiring, feedforward=None),
        readout=replace(model.readout, bias=np.asarray(-1.0)),
    )
    found = extract(Evaluator(model))
    assert found.junta is None
    assert "at most 6" in found.reason
    assert 0.5 < found.agreement < 0.998


def test_a_law_of_another_alphabet_is_refused():
    """Three symbols for a model of bits."""
    with pytest.raises(AssumptionError, match="draws 3 symbols, and the model reads 2"):
        extract(Evaluator(planted(junta_of("x0"), 4)), law=uniform_law(3))


def test_out_of_scope():
    """Two layers; a head without softmax; a context too long; scores too far apart: a sentence each."""
    with pytest.raises(AssumptionError, match="A model of 2 layers was to be certified"):
        certifiable(random_model(Plan(depth=2)))
    model = planted(junta_of("x0"), 4)
    head = model.heads[0]
    with pytest.raises(AssumptionError, match="otherwise than by softmax"):
        certifiable(replace(model, heads=(replace(head, normaliser=Sparsemax()),)))
    with pytest.raises(AssumptionError, match="20001 positions"):
        certifiable(replace(planted(junta_of("x0"), 20_001), positions=None))
    long = planted(junta_of("x0"), 40)
    steps = np.stack([np.full(40, -1e6), 1000.0 * np.arange(40)], axis=1)
    with pytest.raises(AssumptionError, match="leave the range of doubles, with too many steps between them"):
        certifiable(replace(long, heads=(replace(long.heads[0], scores=steps),)))
