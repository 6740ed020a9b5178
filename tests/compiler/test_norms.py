"""Norms from a few rows are the norms of the matrices, and are as the theorems state."""

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.attention import profile
from keyhole.boolean.families import majority, parity, random_junta, read_function
from keyhole.compiler.assembly import to_model
from keyhole.compiler.constructions.additive import PositionLayout
from keyhole.compiler.constructions.pairs import PairLayout, pair_plans
from keyhole.compiler.constructions.plan import HeadPlan, Plan, TheoremNorm
from keyhole.compiler.constructions.registry import construction_of
from keyhole.compiler.distractors import Distractor, add_distractor
from keyhole.compiler.norms import logit_range, named_norms, plan_profile, value_radius

from helpers.compiled_plans import every_plan

FORMULAS = [
    "x0", "~x1", "x1 & x3", "x1 | ~x3", "x0 ^ x2", "maj(x0, x1, x4)", "table(01100010; x0, x2, x5)", "parity:4",
    "threshold:2:4", "random:4", "x0 & ~x1 & x2", "symmetric(0110; x0, x1, x2)",
]  # fmt: skip


def leaves(record, name=""):
    """Every number of a nested record with its path."""
    if isinstance(record, dict):
        for key, value in record.items():
            yield from leaves(value, f"{name}.{key}")
    elif isinstance(record, tuple | list):
        for index, value in enumerate(record):
            yield from leaves(value, f"{name}[{index}]")
    else:
        yield name, record


def assert_measured(plan):
    """The profile of the plan is that of its dense model, number by number."""
    dense, quick = (dict(leaves(asdict(found))) for found in (profile(to_model(plan)), plan_profile(plan)))
    assert dense.keys() == quick.keys()
    for name, value in dense.items():
        # sums of at most a few thousand doubles: 1e-11 is generous, and far below any entry
        same = (
            value == quick[name]
            if not isinstance(value, float)
            else abs(value - quick[name]) <= 1e-11 * (1 + abs(value))
        )
        assert same, (plan.construction, name, value, quick[name])


@pytest.mark.slow
@pytest.mark.parametrize("output", ["signs", "bits"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_equal_to_the_dense_measure(formula, output):
    """The whole profile agrees with measuring the dense model, at T = s and at T = 7."""
    function = read_function(formula)
    for context in {function.positions[-1] + 1, 7}:
        for plan in every_plan(function, context, output, 0.3):
            assert_measured(plan)


@pytest.mark.parametrize("formula", ["x1 & x3", "x0 ^ x2", "maj(x0, x1, x4)", "random:3"])
def test_equal_to_the_dense_measure_with_distractors(formula):
    """A head that nothing reads has norms too: its logits at the decoys, and its values at every position."""
    function = read_function(formula)
    for plan in every_plan(function, 9, "signs", 0.3):
        if plan.layout.orthogonal:
            distracted = add_distractor(add_distractor(plan, Distractor((5, 8), 0.05)), Distractor((7,), 0.5))
            assert_measured(distracted)


@given(
    st.floats(-3, 3),
    st.one_of(st.floats(-2, 2), st.lists(st.floats(-2, 2), min_size=5, max_size=5).map(np.array)),
    st.sampled_from([PairLayout, PositionLayout]),
)
def test_equal_to_the_dense_measure_of_any_head(focus, rest, layout):
    """Logits and values off the relevant positions count, one number for all of them or one each."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(2, 3))
    values = rng.normal(size=(2, 2, 3)) if layout is PairLayout else np.tile(shared, (2, 1, 1))
    head = HeadPlan(np.array([focus, 1.0]), values, rest, shared)
    plan = Plan(read_function("x1 & x3"), layout(7), "signs", "any", (head,), rng.normal(size=3), ("unit",) * 3, {})
    assert_measured(plan)


@pytest.mark.parametrize("output", ["signs", "bits"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_as_the_theorems_state(formula, output):
    """Each norm equals its figure, or stays below it."""
    function = read_function(formula)
    for context in (7, 50):
        for plan in every_plan(function, context, output, 0.4):
            norms = named_norms(plan_profile(plan))
            for name, figure in construction_of(plan.construction).theorem_norms(plan).items():
                assert figure.holds(norms[name]), (plan.construction, name, norms[name], figure)


def test_growth():
    """Counting functions have norms poly(s), tables 2^O(s): parity's P_∞ ≤ 4s²/(1−γ), a table's 2^s(s−1)/(1−γ)."""
    for s in (2, 4, 8, 12):
        places = tuple(range(s))
        counting = next(p for p in pair_plans(parity(places), 64, 0.5, "signs") if p.construction == "A5")
        assert counting.path_inf <= 8 * s**2
        table = pair_plans(random_junta(places, np.random.default_rng(0)), 64, 0.5, "signs")[-1]
        assert table.path_inf == pytest.approx(2 * 2**s * max(1, s - 1))
    assert pair_plans(majority(tuple(range(101))), 4096, 0.5, "signs")[0].path_inf == pytest.approx(410)


def test_norms_free_of_the_context():
    """At fixed γ only the logits know T: a million positions have the read-out and values of a hundred."""
    function = read_function("x3 & x17 & x40")
    small, large = (named_norms(plan_profile(pair_plans(function, T, 0.5, "signs")[0])) for T in (100, 10**6))
    for name in small:
        assert (small[name] == pytest.approx(large[name], rel=1e-14)) == (not name.startswith("score"))


def test_range_and_radius():
    """The logit range counts [CLS]; V is the longest value, added over heads."""
    plan = pair_plans(read_function("x0 & x1 & x2"), 100, 0.5, "bits")[0]
    assert logit_range(plan) == pytest.approx(plan.parameters["beta"])
    assert value_radius(plan) == pytest.approx(2 / 3)


def test_a_figure_can_fail():
    """An equality fails on both sides, a bound above only."""
    assert not TheoremNorm("=", 2.0).holds(1.9)
    assert not TheoremNorm("=", 2.0).holds(2.1)
    assert TheoremNorm("≤", 2.0).holds(1.9)
    assert not TheoremNorm("≤", 2.0).holds(2.1)
