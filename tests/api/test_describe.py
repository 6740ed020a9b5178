"""A description agrees with what its function is."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole
from keyhole.api.describe import describe
from keyhole.boolean.families import read_function
from keyhole.boolean.function import from_table
from keyhole.errors import FormulaError

tables = st.integers(1, 5).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(0, 10**9), min_size=size, max_size=size, unique=True).map(tuple),
        st.lists(st.booleans(), min_size=1 << size, max_size=1 << size).map(np.array),
    )
)


@given(tables)
def test_facts_fit_together(table):
    """Weights sum to 1, influences to the sensitivity, Σ k·weight_k equals it too, and the formula reads back."""
    function = from_table(*table)
    facts = describe(function)
    assert sum(facts.fourier_weight) == pytest.approx(1, abs=1e-12)
    assert sum(facts.influences.values()) == pytest.approx(facts.sensitivity, abs=1e-12)
    assert sum(k * weight for k, weight in enumerate(facts.fourier_weight)) == pytest.approx(
        facts.sensitivity, abs=1e-12
    )
    assert read_function(facts.formula) == function
    assert facts.degree == max((k for k, weight in enumerate(facts.fourier_weight) if k and weight > 1e-12), default=0)
    assert (facts.levels is None) != (facts.table is None)
    assert facts.trivial_error == min(facts.probability, 1 - facts.probability) <= 0.5


def test_the_example():
    """The README's example, checked by hand where a hand can."""
    facts = keyhole.describe("x3 & ~x17 | maj(x1,x2,x5)", context=1000)
    assert facts.positions == (1, 2, 3, 5, 17)
    assert facts.probability == 1 - (1 - 0.25) * 0.5
    assert facts.influences == {"1": 0.375, "2": 0.375, "3": 0.25, "5": 0.375, "17": 0.25}
    assert (facts.degree, facts.leap, facts.symmetric, facts.monotone) == (5, 1, False, False)


@pytest.mark.parametrize(
    ("formula", "regime", "training"),
    [
        ("majority:5", "symmetric: .*poly", "easy .*leap 1.*T.2"),
        ("x1 & ~x2", "negated.*poly", "easy .*leap 1.*T.2"),
        ("parity:2", "symmetric: .*poly", "moderate .*leap 2.*T.2"),
        ("parity:4", "symmetric: .*poly", "hard .*leap 4.*T.4"),
        ("x0 & x1 | ~x0 & x2", "any function of s bits: .*2.O.s.", "easy .*leap 1.*T.2"),
        ("x1 | ~x1", "constant", "constant"),
    ],
)
def test_regimes(formula, regime, training):
    """The regime follows the shape of the function, the training statement its leap."""
    facts = describe(formula)
    assert pytest.approx(1) == sum(facts.fourier_weight)
    for pattern, statement in ((regime, facts.representation), (training, facts.training)):
        assert re.search(pattern, statement.says), statement


@pytest.mark.parametrize("context", [0, -3, 17])
def test_refuses_contexts_that_do_not_reach(context):
    """A context must hold every position."""
    with pytest.raises(FormulaError, match="context of length"):
        describe("x17", context=context)


def test_long_contexts_cost_nothing():
    """T = 10⁹ changes only what is said of T."""
    short, long = describe("x3 & x7", context=10), describe("x3 & x7", context=10**9)
    differs = {name for name, value in short.record().items() if long.record()[name] != value}
    assert differs == {"context", "sensitivity_per_position", "information_floor"}


def test_notebook_table_escapes_and_figure_holds_the_weights():
    """The HTML form shows the formula; the figure's rows are the weights."""
    facts = describe("x1 & x2")
    assert "x1 &amp; x2" in facts._repr_html_()
    assert [row["weight"] for row in facts.figure().rows] == list(facts.fourier_weight)
