"""The veto computes conjunctions exactly at P_∞ = 1 (disjunctions at 2), for every number of literals and context."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyhole
from keyhole.attention import evaluate, forward
from keyhole.boolean.families import conjunction, disjunction, read_function
from keyhole.compiler.assembly import to_model, to_tabulated
from keyhole.compiler.choice import choose, path_inf, product_law
from keyhole.compiler.constructions.additive import PositionLayout
from keyhole.compiler.constructions.plan import check_plan
from keyhole.compiler.constructions.registry import find_construction
from keyhole.compiler.constructions.veto import veto_plans
from keyhole.compiler.export.attention_figure import attention_figure
from keyhole.compiler.norms import plan_profile
from keyhole.compiler.proof import prove
from keyhole.errors import AssumptionError, CompileError

from helpers.compiled_plans import all_inputs, targets

FORMULAS = ("x3", "~x3", "x1 & ~x4", "x0 & x2 & x5", "x0 | x2 | ~x5", "~x0 & ~x1 & ~x2 & ~x3 & ~x4 & ~x5")


@pytest.mark.parametrize("output", ["signs", "bits"])
@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("gamma", [0.01, 0.5, 0.9])
def test_exact_on_every_input(formula, output, gamma):
    """Tables and dense matrices give the function on all 2^T inputs, and the proof says so."""
    function = read_function(formula)
    for context in {6, function.positions[-1] + 1}:
        bits = all_inputs(context)
        for plan in veto_plans(function, context, gamma, output):
            assert prove(plan).error < 1e-12
            assert evaluate(to_tabulated(plan), bits) == pytest.approx(targets(plan, bits), abs=1e-12)
            assert forward(to_model(plan), bits) == pytest.approx(targets(plan, bits), abs=1e-12)


@given(st.integers(1, 40), st.integers(0, 10**6), st.floats(0.001, 0.999))
def test_norm_and_spread(sparsity, more, gamma):
    """P_∞ is 1 for a conjunction in bits and 3 in signs, whatever s, T and γ; e^R = s − 1 + sγ/(1 − γ)."""
    function, context = conjunction(tuple(range(sparsity))), sparsity + more
    for output, norm in (("bits", 1.0), ("signs", 3.0)):
        plan = veto_plans(function, context, gamma, output)[0]
        assert plan.path_inf == norm
        assert plan.spread == pytest.approx(abs(log(sparsity - 1 + sparsity * gamma / (1 - gamma))), abs=1e-9)
        assert prove(plan).margin > 0.49


@given(st.integers(2, 9), st.integers(0, 40))
def test_a_disjunction_costs_one_more(sparsity, more):
    """A disjunction in bits is 1 less a conjunction: P_∞ = 2, whatever s and T."""
    plan = veto_plans(disjunction(tuple(range(sparsity))), sparsity + more, 0.5, "bits")[0]
    assert plan.path_inf == 2.0
    assert prove(plan).margin > 0.49


def test_a_head_that_looks_at_nothing_has_a_spread_of_log_t():
    """Where every token has logit 0 but violated literals, one of these must outweigh the T others: R = log T."""
    T, s = 1000, 3
    plan = veto_plans(conjunction((1, 5, 9)), T, (T + 1 - s) / (T + 1), "bits")[0]
    assert plan.parameters["beta"] == pytest.approx(0, abs=1e-12)
    assert plan.spread == pytest.approx(log(T), rel=1e-12)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_the_spread_is_needed(factor):
    """At 0.9 of e^R a violated literal is outvoted and the proof fails to give the error 0; at 1.1 it does not."""
    plan = veto_plans(conjunction((1, 5, 9)), 20, 0.5, "bits")[0]
    (head,) = plan.heads
    focus = head.focus + np.where(head.focus == head.focus.max(), log(factor), 0.0)
    error = prove(replace(plan, heads=(replace(head, focus=focus),))).error
    assert (error > 0.01) == (factor < 1)


@pytest.mark.parametrize("formula", ["x0 ^ x1", "maj(x0, x1, x2)", "x0 & (x1 | x2)"])
def test_other_functions_are_refused_with_the_reason(formula):
    """No other function is 1 where a unit reads its largest value alone."""
    with pytest.raises(CompileError, match="neither a conjunction nor a disjunction"):
        veto_plans(read_function(formula), 9, 0.5, "bits")
    with pytest.raises(AssumptionError, match="0 < leak < 1"):
        veto_plans(conjunction((0, 1)), 9, 1.0, "bits")


def test_taken_where_the_law_is_a_product():
    """For any law Theorem T charges the spread and takes A2; for a product law P_∞ alone counts, and the veto wins."""
    function = conjunction((1, 5, 9))
    assert choose(function, 1000).plan.construction == "A2"
    assert choose(function, 1000, charge=path_inf).plan.construction == "A2"
    chosen = choose(function, 1000, charge=product_law)
    assert chosen.plan.construction == "V1"
    assert "P_∞ = 3 at R = 1.609" in chosen.why
    assert keyhole.compile("x1 & x5 & x9", 1000, minimise="product").plan.construction == "V1"
    assert keyhole.compile("x1 | x5", 50, minimise="product", output="bits").plan.construction == "V2"


def test_file_bound_and_figure(tmp_path):
    """A file of it is as claimed, is bounded with its spread, and is drawn on two inputs, attention 1 on each."""
    made = keyhole.compile("x3 & ~x17", 64, construction="veto")
    path = made.save(tmp_path / "veto.safetensors")
    assert keyhole.check(path).holds
    assert plan_profile(made.plan).spread == pytest.approx(log(3))
    rows = attention_figure(made.plan).rows
    for shown in {row["shown"] for row in rows}:
        assert sum(row["attention"] for row in rows if row["shown"] == shown) == pytest.approx(1, abs=1e-12)
    assert {row["shown"] for row in rows} == {"x3=1 x17=0", "x3=0 x17=0"}


def test_logits_by_symbol_need_pairs():
    """Tokens of a symbol plus a position have no coordinate for each pair, and such a plan is refused."""
    plan = veto_plans(conjunction((0, 1)), 6, 0.5, "bits")[0]
    maker = type("Other", (type(find_construction("veto")),), {"layout": PositionLayout})()
    with pytest.raises(CompileError, match="use pairs of position and symbol"):
        check_plan(replace(plan, layout=PositionLayout(6)), maker)
