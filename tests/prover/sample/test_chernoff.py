"""Chernoff's rate is never below the true one, and is useful where the leak is small."""

from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.attention.evaluation import Evaluator, evaluate
from keyhole.attention.tables import Tabulated, TabulatedHead, tabulate
from keyhole.attention.weights import ReadOut, Wiring
from keyhole.boolean.junta import Junta
from keyhole.boolean.symbols import SymbolLaw, biased_bits, uniform_law
from keyhole.prover.extraction.extraction import majority_table
from keyhole.prover.extraction.scope import certifiable
from keyhole.prover.sample import chernoff
from keyhole.prover.sample.chernoff import _chernoff, chernoff_disagreement

from helpers.planted import every_sequence, junta_of, planted, random_symbol_junta
from helpers.random_models import plans, random_model


def true_rate(model, junta, law):
    """The weight of every input on which the two disagree."""
    rows = every_sequence(model.tokens, model.symbols)
    weights = np.array(law.chances)[rows].prod(axis=1)
    return weights[(np.asarray(evaluate(model, rows)) > 0) != junta(rows)].sum()


@pytest.mark.slow
@settings(max_examples=25)
@given(plan=plans, bias=st.sampled_from([0.5, 0.8]))
def test_never_below_the_truth(plan, bias):
    """Random models of up to eight bits, their own majority tables, enumerated."""
    plan = replace(plan, tokens=min(8, plan.tokens), symbols=2, projected=False)
    model, law = certifiable(tabulate(random_model(plan))).tables, biased_bits(bias)
    positions = tuple(range(min(1, plan.tokens)))
    rows = every_sequence(plan.tokens).astype(np.int8)
    junta = Junta(positions, 2, majority_table(Evaluator(model), rows, positions))
    assert chernoff_disagreement(Evaluator(model), junta, law).rate >= true_rate(model, junta, law)


@pytest.mark.parametrize("noise", [0.3, 0.6, 1.0, 1.5])
@pytest.mark.parametrize("law", [uniform_law(3), SymbolLaw((0.2, 0.5, 0.3))])
def test_never_below_the_truth_on_planted_models(noise, law):
    """More and more leak at nine positions over three symbols, until the two disagree."""
    junta = random_symbol_junta((2, 6), 3)
    model = planted(junta, 9, noise=noise, focus=3.0)
    assert chernoff_disagreement(Evaluator(model), junta, law).rate >= true_rate(model, junta, law)


def test_tiny_or_useless():
    """At T = 200 a small leak gives a rate below 1e-100, a large one none below 1, which is said."""
    junta = junta_of("x3 & x17 & x20")
    small, large = (
        chernoff_disagreement(Evaluator(planted(junta, 200, noise=noise)), junta, uniform_law(2)) for noise in (0.3, 2)
    )
    assert small.rate < 1e-100
    assert large.rate == 1.0
    assert "vacuous" in str(large)
    assert "vacuous" not in str(small)


def share_of_ones(tokens, threshold):
    """A head that averages bits, [CLS] counting as a 0, and a read-out at a threshold."""
    values = np.tile(np.array([[0.0], [1.0]]), (tokens, 1, 1))
    head = TabulatedHead(np.zeros((tokens, 2)), values, np.zeros(()), np.zeros(1))
    return Tabulated(tokens, (head,), np.zeros(1), Wiring(), ReadOut(np.ones(1), np.asarray(-threshold)))


@pytest.mark.parametrize(("bias", "least", "answer"), [(0.9, 6, True), (0.1, 6, False), (0.9, 8, True)])
def test_both_tails_count(bias, least, answer):
    """Skewed bits, where one tail is heavy and the other impossible: P(Bin(12, p) < 6) is not below the rate."""
    model, law = share_of_ones(12, (least - 0.5) / 13), biased_bits(bias)
    junta = Junta((), 2, np.array([answer]))
    rate = chernoff_disagreement(Evaluator(model), junta, law).rate
    assert 0 < true_rate(model, junta, law) <= rate < 1


@pytest.mark.parametrize(("power", "places", "least"), [(51, (0, 41), 30), (52, (0, 41), 33), (52, (3, 11), 33)])
def test_values_that_cancel_do_not_hide_a_tail(power, places, least):
    """Two tokens of values ±2^50 and more cancel, and sums lose their small terms in between: the rate pays for it.

    The truth is counted without the two: P(Bin(40, ½) ≥ k), the threshold between k − 1 and k.
    """
    model = share_of_ones(42, (least - 0.5) / 43)
    values = model.heads[0].values.copy()
    values[places[0]], values[places[1]] = 2.0**power, -(2.0**power)
    model = replace(model, heads=(replace(model.heads[0], values=values),))
    truth = sum(comb(40, ones) for ones in range(least, 41)) / 2.0**40
    assert chernoff_disagreement(Evaluator(model), Junta((), 2, np.array([False])), uniform_law(2)).rate >= truth


@pytest.mark.parametrize("width", [1.0, 1.7, 40.0])
def test_the_sums_given_to_chernoff_are_above_the_true_ones(monkeypatch, width):
    """N − uZ at the very end of the box, in rationals, is at most the sum of the rounded terms, for random inputs."""
    rng = np.random.default_rng(3)
    values = np.round(rng.normal(size=(12, 2, 1)) * 2.0 ** rng.integers(0, 50, (12, 1, 1)))  # sums are far from exact
    model = share_of_ones(12, 0.0)
    model = replace(model, heads=(replace(model.heads[0], values=values),))
    boxes, given = [], []
    monkeypatch.setattr(chernoff, "_widest", lambda _, centre, spread, __: boxes.append((centre, spread)) or width)
    monkeypatch.setattr(chernoff, "_chernoff", lambda terms, constant, _: given.append((terms, constant)) or 0.0)
    chernoff_disagreement(Evaluator(model), Junta((2,), 2, np.array([False, True])), uniform_law(2))
    assert (len(boxes), len(given)) == (2, 4)
    free = [place for place in range(12) if place != 2]
    for cell, (centre, spread) in enumerate(boxes):
        for side, (terms, constant) in zip((1, -1), given[2 * cell : 2 * cell + 2], strict=True):
            end = Fraction(centre[0]) + side * Fraction(width * spread[0])
            for row in rng.integers(0, 2, (40, 12)):
                row[2] = cell
                total = sum(Fraction(values[place, symbol, 0]) for place, symbol in enumerate(row))
                found = sum(Fraction(terms[index, row[place], 0]) for index, place in enumerate(free))
                assert side * (total - 13 * end) <= found + Fraction(constant[0])


@pytest.mark.parametrize("scale", [1.0, 2.0**30])
def test_rounding_costs_little(scale):
    """Where nothing cancels: two tails, each from Chernoff's best e^(−n KL) to Hoeffding's e^(−2nε²), at ε = .205."""
    model = share_of_ones(100, 70.5 / 101)
    head = replace(model.heads[0], values=scale * model.heads[0].values)
    model = replace(model, heads=(head,), readout=ReadOut(np.ones(1) / scale, model.readout.bias))
    rate = chernoff_disagreement(Evaluator(model), Junta((), 2, np.array([False])), uniform_law(2)).rate
    best = np.exp(-100 * (0.705 * np.log(1.41) + 0.295 * np.log(0.59)))
    # the bisection of the box stops within 2^-14 of its width, which moves the exponent by less than 1e-2
    assert 2 * best <= rate <= 2 * np.exp(-2 * 100 * 0.205**2) * 1.01


def test_the_binomial_tail():
    """P(Bin(n, ½) ≥ n(½ + ε)): at least the tail itself, at most e^(−2nε²), which any good λ attains."""
    n, e = 100, 0.2
    terms = np.tile(np.array([0.0, 1.0])[None, :, None], (n, 1, 1))
    found = _chernoff(terms, np.array([-n * (0.5 + e)]), np.array([0.5, 0.5]))
    tail = sum(float(np.prod([(n - i) / (i + 1) for i in range(k)])) for k in range(70, n + 1)) / 2.0**n
    assert tail <= found <= np.exp(-2 * n * e**2)
