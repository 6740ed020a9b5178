"""Distractors change what attention shows and nothing that is read; what was proved without them still holds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.attention.evaluation import evaluate
from keyhole.attention.forward_pass import forward
from keyhole.attention.tables import dense, tabulate
from keyhole.boolean.families import read_function
from keyhole.compiler.assembly import to_model, to_tabulated
from keyhole.compiler.constructions.additive import coded_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.constructions.plan import remove_unread
from keyhole.compiler.distractors import Distractor, add_distractor
from keyhole.compiler.proof import prove, shares
from keyhole.errors import AssumptionError, CompileError

from helpers.compiled_plans import CONTEXT, FORMULAS, all_inputs, all_plans, targets

EXACT = 1e-12  # as in the tests of the residual block
PLAN = pair_plans(read_function("x1 & ~x4"), CONTEXT, 0.5, "signs")[0]


@pytest.mark.parametrize("formula", FORMULAS)
def test_output_is_unchanged_on_every_input(formula):
    """With two distractors the tables and the model still read the function on all 2^T inputs."""
    bits = all_inputs(CONTEXT)
    for plan in all_plans(formula):
        if plan.codes_seed is None:
            spare = [t for t in range(CONTEXT) if t not in plan.function.positions]
            distracted = add_distractor(
                add_distractor(plan, Distractor((spare[0],), 0.1)), Distractor(tuple(spare[:2]), 0.7)
            )
            for read in (evaluate(to_tabulated(distracted), bits), forward(to_model(distracted), bits)):
                assert np.abs(read - targets(plan, bits)).max() < EXACT


@pytest.mark.parametrize("formula", FORMULAS)
def test_model_and_tables_are_one(formula):
    """Tabulating the distracted model gives the distracted tables, in units that nothing reads too."""
    for plan in all_plans(formula):
        if plan.codes_seed is None:
            spare = next(t for t in range(CONTEXT) if t not in plan.function.positions)
            distracted = add_distractor(plan, Distractor((spare,), 0.1))
            stated = dense(to_tabulated(distracted))
            for ours, made in zip(stated.heads, tabulate(to_model(distracted)).heads, strict=True):
                assert ours.scores == pytest.approx(made.scores, abs=1e-15)
                assert ours.values == pytest.approx(made.values, abs=1e-15)


@given(st.floats(0.01, 0.99), st.sets(st.sampled_from([0, 2, 3, 5]), min_size=1))
def test_decoys_get_what_was_asked(leak, decoys):
    """Attention (1 − leak)/n on each of n decoys."""
    head = add_distractor(PLAN, Distractor(tuple(decoys), leak)).heads[-1]
    raw = np.exp(np.append(PLAN.logits(head)[:, 0], 0.0))
    assert raw[sorted(decoys)] / raw.sum() == pytest.approx((1 - leak) / len(decoys), rel=1e-12)


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_proof_is_that_of_the_plan_without(formula):
    """The proof speaks of what is read: same method, and margin and leak to within rounding."""
    for plan in all_plans(formula):
        if plan.codes_seed is None:
            spare = next(t for t in range(CONTEXT) if t not in plan.function.positions)
            bare, with_one = prove(plan), prove(add_distractor(plan, Distractor((spare,), 0.3)))
            assert with_one.method == bare.method
            # the same exact numbers, enclosed through sums of a few more terms
            assert with_one.margin == pytest.approx(bare.margin, abs=1e-12)
            assert with_one.leak == pytest.approx(bare.leak, abs=1e-12)


def test_live_part_is_the_plan_without():
    """Leaving out what nothing reads gives the plan back, number by number; a plan without distractors is itself."""
    kept = remove_unread(add_distractor(PLAN, Distractor((0, 2), 0.2)))
    assert kept.units == PLAN.units
    assert np.array_equal(kept.readout, PLAN.readout)
    assert np.array_equal(kept.heads[0].values, PLAN.heads[0].values)
    assert np.array_equal(kept.logits(kept.heads[0]), PLAN.logits(PLAN.heads[0]))
    assert remove_unread(PLAN) is PLAN


def test_a_distractor_that_writes_is_not_left_out():
    """A head with one value in a unit that is read stays, and the proof then refuses or sees it."""
    distracted = add_distractor(PLAN, Distractor((0,), 0.2))
    *heads, last = distracted.heads
    values = last.rest_values.copy()
    values[1, 0] = 0.5
    edited = replace(
        distracted, heads=(*heads, replace(last, rest_values=values, values=np.tile(values, (len(last.focus), 1, 1))))
    )
    assert len(remove_unread(edited).heads) == 2
    with pytest.raises(CompileError, match="not pairs of opposite ramps"):
        prove(edited)


def test_a_unit_that_is_read_is_not_left_out():
    """A read-out weight on the distractor's unit brings it back, and the proof refuses."""
    distracted = add_distractor(PLAN, Distractor((0,), 0.2))
    edited = replace(distracted, readout=np.append(PLAN.readout, 0.3))
    assert len(remove_unread(edited).heads) == 2
    with pytest.raises(CompileError, match="not pairs of opposite ramps"):
        prove(edited)


def test_names_count_distractors():
    """The construction says how many there are."""
    one = add_distractor(PLAN, Distractor((0,), 0.2))
    assert one.construction == "A2 with 1 distractor"
    assert add_distractor(one, Distractor((2,), 0.2)).construction == "A2 with 2 distractors"


def test_leak_of_the_proof_is_of_heads_that_are_read():
    """A distractor's own leak of 0.9 does not enter the stated one."""
    distracted = add_distractor(PLAN, Distractor((0,), 0.9))
    assert prove(distracted).leak == pytest.approx(0.5, abs=1e-12)
    assert float(shares(distracted.heads[-1], distracted).rest.high) > 0.5


@pytest.mark.parametrize(
    ("decoys", "leak", "says"),
    [
        ((0,), 0.0, "0 < leak < 1"),
        ((0,), float("nan"), "0 < leak < 1"),
        ((), 0.5, "at least one"),
        ((0, 0), 0.5, "distinct"),
        ((1,), 0.5, "Position 1 "),
        ((CONTEXT,), 0.5, "context of length 6"),
    ],
)
def test_refuses_what_is_no_distractor(decoys, leak, says):
    """Decoys are distinct irrelevant positions, and a leak is a share."""
    with pytest.raises(AssumptionError, match=says):
        add_distractor(PLAN, Distractor(decoys, leak))


def test_refuses_random_codes():
    """A decoy's logit cannot be raised alone among random codes."""
    with pytest.raises(CompileError, match="random codes"):
        add_distractor(coded_plan(read_function("x1 & x4"), CONTEXT, 0.5, "signs", 0), Distractor((0,), 0.5))
