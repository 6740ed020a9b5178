"""What is certified is what was given: shared rows stay shared, and exponentials are computed once."""

import numpy as np
import pytest

from keyhole.attention import evaluation
from keyhole.attention.evaluation import Evaluator, evaluate, token_terms
from keyhole.attention.tables import dense
from keyhole.boolean.junta import uniform_law
from keyhole.compiler.assembly import to_tabulated
from keyhole.prover.certificate import Terms, certificate_of
from keyhole.prover.extraction.extraction import certifiable

from helpers.compiled_plans import all_plans
from helpers.planted import junta_of, leaky, planted


@pytest.mark.parametrize(("context", "thin"), [(7, False), (8, True), (40, True)])
def test_shared_rows_stay_shared(context, thin):
    """Tables with a row for 3 positions and one for the rest are certified so, if that is half of the rows or fewer."""
    given = [to_tabulated(plan) for plan in all_plans("x1 & x4 | x6", context)]
    shared = [tables for tables in given if tables.positions is not None]
    assert {tables.positions for tables in shared} == {(1, 4, 6)}
    for tables in given:
        kept = certifiable(tables).tables
        assert kept.positions == (tables.positions if thin else None)


def test_the_terms_of_every_position():
    """Rows that are shared, written out for each position, are those of the model with a row for every position."""
    model = to_tabulated(next(iter(all_plans("x1 & x4 | x6", 40))))
    table, own = Evaluator(model).terms_by_position
    expected, expected_own = token_terms(dense(model))
    assert np.array_equal(table, expected)
    assert np.array_equal(own, expected_own)
    rows = uniform_law(2).draw(50, 40, np.random.default_rng(0))
    assert np.array_equal(Evaluator(model)(rows), evaluate(model, rows))


@pytest.mark.parametrize("repaired", [False, True])
def test_exponentials_are_computed_once(monkeypatch, repaired):
    """Reading off, comparing, sampling and judging share the terms of a model; each repaired model has its own."""
    models = []
    monkeypatch.setattr(evaluation, "token_terms", lambda model: models.append(model) or token_terms(model))
    junta = junta_of("x1 & x4")
    model = leaky(junta, 30) if repaired else planted(junta, 30, noise=0.1)
    rows = uniform_law(2).draw(80, 30, np.random.default_rng(0))
    terms = Terms(uniform_law(2), fresh=1000, repair=repaired)
    found = certificate_of(
        model, (rows, junta(rows)), held_out=(rows[:0:-1].copy() ^ 1, junta(rows[:0:-1] ^ 1)), terms=terms
    )
    assert (found.repair is not None) == repaired
    assert len({id(asked) for asked in models}) == len(models)
    assert len(models) <= (3 if repaired else 1)
