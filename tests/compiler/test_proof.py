"""A proof is about the stored numbers: change one and it says so."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.attention import evaluate
from keyhole.boolean.families import conjunction, majority, parity, random_junta, read_function
from keyhole.compiler.assembly import to_tabulated
from keyhole.compiler.constructions.additive import additive_plan, coded_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.constructions.per_position import head_per_position_plan
from keyhole.compiler.proof import _step, prove
from keyhole.errors import CompileError
from keyhole.rigorous.enclosures import Enclosure

from helpers.compiled_plans import all_inputs, every_plan, targets

FUNCTION = read_function("table(01100010; x0, x2, x5)")
PLANS = {plan.construction: plan for plan in every_plan(FUNCTION, 7)} | {
    plan.construction: plan for plan in every_plan(conjunction((0, 2, 5)), 7)
}


def with_head(plan, index=0, **changes):
    """The plan with parts of one head replaced."""
    heads = list(plan.heads)
    heads[index] = replace(heads[index], **changes)
    return replace(plan, heads=tuple(heads))


def edited(array, at, by):
    """A copy with one entry moved."""
    array = np.array(array)
    array[at] += by
    return array


def measured(plan):
    """The largest error seen over all inputs, evaluated in double precision."""
    bits = all_inputs(plan.context)
    return np.abs(evaluate(to_tabulated(plan), bits) - targets(plan, bits)).max()


def not_proved(plan, least):
    """Either no argument applies, or the proved error has grown to what is truly there."""
    try:
        error = prove(plan).error
    except CompileError:
        return True
    return error >= least


@pytest.mark.parametrize("name", PLANS)
def test_a_perturbed_readout_shows(name):
    """One read-out weight moved by 1% moves the proved error at least as far as the output moves."""
    plan = PLANS[name]
    for j in range(plan.width):
        moved = replace(plan, readout=edited(plan.readout, j, 0.01 * plan.readout[j]))
        assert measured(moved) > 1e-3
        assert not_proved(moved, measured(moved) - 1e-9)


@pytest.mark.parametrize("name", PLANS)
def test_a_changed_relevant_row_shows(name):
    """One value of one relevant row moved by 0.01: not proved, or proved with the error that is there."""
    plan = PLANS[name]
    for index, head in enumerate(plan.heads):
        moved = with_head(plan, index, values=edited(head.values, (1, 1, 0), 0.01))
        assert not_proved(moved, max(measured(moved) - 1e-9, 1e-9))


@pytest.mark.parametrize("name", PLANS)
def test_a_rest_value_that_is_not_zero_shows(name):
    """One value of the other positions moved by 0.01: the premise of every argument is gone, or the error is there."""
    plan = PLANS[name]
    for index, head in enumerate(plan.heads):
        moved = with_head(plan, index, rest_values=edited(head.rest_values, (1, 0), 0.01))
        assert not_proved(moved, max(measured(moved) - 1e-9, 1e-9))


@pytest.mark.parametrize("name", PLANS)
def test_a_changed_focus_shows(name):
    """The logit of one relevant position moved by 0.05: the error grows as the output does."""
    plan = PLANS[name]
    for index, head in enumerate(plan.heads):
        moved = with_head(plan, index, focus=edited(head.focus, index, 0.05))
        assert measured(moved) > 1e-6 or len(plan.heads) > 1
        assert not_proved(moved, measured(moved) - 1e-9)


@pytest.mark.parametrize("name", ["A1", "B1", "B2", "B′"])
def test_a_larger_leak_shows(name):
    """All focus logits lowered until the leak is too large for the ramps: error at least what is measured."""
    plan = PLANS[name]
    for index, head in enumerate(plan.heads):
        moved = with_head(plan, index, focus=head.focus - 0.5)
        assert not_proved(moved, measured(moved) - 1e-9)


@given(st.sampled_from(sorted(PLANS)), st.data())
def test_no_edit_escapes(name, data):
    """Whatever numbers are moved, no input is ever farther off than what was proved."""
    plan = PLANS[name]
    size = data.draw(st.sampled_from([1e-6, 1e-3, 0.1, 1.0, -0.3]))
    index = data.draw(st.integers(0, len(plan.heads) - 1))
    head, j, t = plan.heads[index], data.draw(st.integers(0, plan.width - 1)), data.draw(st.integers(0, 2))
    b = data.draw(st.integers(0, 1))
    everywhere = {
        "values": edited(head.values, (slice(None), b, j), size),
        "rest_values": edited(head.rest_values, (b, j), size),
    }
    edits = [
        with_head(plan, index, focus=edited(head.focus, t, size)),
        with_head(plan, index, focus=head.focus + size),
        with_head(plan, index, values=edited(head.values, (t, b, j), size)),
        with_head(plan, index, **everywhere),  # keeps the premise that values do not depend on the position
        replace(plan, readout=edited(plan.readout, j, size)),
        replace(plan, readout=plan.readout * (1 + size)),
    ]
    moved = data.draw(st.sampled_from(edits))
    try:
        proof = prove(moved)
    except CompileError:
        return
    assert measured(moved) <= proof.error * (1 + 1e-9) + 1e-12
    assert proof.margin <= 1.0 - measured(moved) + 1e-12


def test_a_wrong_function_is_not_proved():
    """Weights of one function never prove another."""
    for plan in PLANS.values():
        other = replace(plan, function=parity((0, 2, 5)))
        assert not_proved(other, 2 - 1e-6)


def test_steps_that_turn_round_are_enclosed():
    """With the two units of a pair exchanged a step falls instead of rising: the box still holds every output."""
    plan = head_per_position_plan(random_junta((0, 1), np.random.default_rng(3)), 5, 0.5, "signs")
    order = np.arange(plan.width).reshape(-1, 2)[:, ::-1].ravel()
    heads = tuple(
        replace(head, values=head.values[:, :, order], rest_values=head.rest_values[:, order]) for head in plan.heads
    )
    turned = replace(plan, heads=heads)
    assert measured(turned) > 0.5
    assert prove(turned).error >= measured(turned) - 1e-9


def test_lost_numbers_prove_nothing():
    """Logits so large that their exponentials are infinite leave no margin."""
    plan = PLANS["A2"]
    moved = with_head(plan, focus=np.full(3, 800.0))
    with np.errstate(all="ignore"):
        assert not prove(moved).margin > 0


def test_too_many_patterns_are_refused():
    """A parity of 64 bits is proved by counting; with one row changed nothing is shown, and that is said."""
    plan = pair_plans(parity(tuple(range(64))), 100, 0.5, "signs")[0]
    assert prove(plan).margin > 0.99
    moved = with_head(plan, values=edited(plan.heads[0].values, (5, 1, 2), 1e-3))
    with pytest.raises(CompileError, match="2\\^64 patterns"):
        prove(moved)


def test_no_argument_fits():
    """Values that depend on the position, with others that are not zero, are outside every argument."""
    plan = PLANS["B1"]
    moved = with_head(plan, values=edited(plan.heads[0].values, (0, 0, 0), 0.1))
    with pytest.raises(CompileError, match="fits none of the arguments"):
        prove(moved)
    split = replace(PLANS["B′"], readout=edited(PLANS["B′"].readout, 0, 0.1))
    with pytest.raises(CompileError, match="not pairs of opposite ramps"):
        prove(split)


@pytest.mark.parametrize("make", [additive_plan, lambda *a: coded_plan(*a, 1), head_per_position_plan])
def test_the_leak_is_what_attention_gives(make):
    """The stated leak is the attention off the relevant positions, [CLS] included, and no less."""
    plan = make(majority((0, 3, 4)), 9, 0.3, "signs")
    for head in plan.heads:
        masses = np.exp(np.concatenate([head.focus, np.broadcast_to(head.rest_logits, 6), [0.0]]))
        off = masses[3:].sum() / masses.sum()
        assert off * (1 - 1e-12) <= prove(plan).leak <= off * (1 + 1e-9)


@given(st.floats(-3, 3), st.floats(0, 3), st.floats(-3, 3), st.floats(0, 3), st.floats(0, 1), st.floats(0, 1))
def test_steps_over_a_box(low, width, gap, spread, u, d):
    """ReLU(U) − ReLU(U + D) lies in its range for every U and D of a box, rising or falling."""
    rising = Enclosure(np.array([low]), np.array([low + width]))
    box = _step(rising, Enclosure(np.array([gap]), np.array([gap + spread])))
    inside, moved = min(low + u * width, low + width), min(gap + d * spread, gap + spread)
    value = max(inside, 0.0) - max(inside + moved, 0.0)
    assert box.low[0] - 1e-15 <= value <= box.high[0] + 1e-15  # the value itself is rounded


def test_a_bump_inside_a_level_shows():
    """Units that cancel at both ends of a level's range, and not inside it, are found at their bends."""
    plan = additive_plan(majority((0, 2, 5)), 7, 0.5, "signs")
    share, scale = 1 / 3.5, 1 / plan.parameters["attention"]
    thresholds = np.array([0.1, 0.25, 0.4])  # a tent over the leak's range [0, ½] at level 0
    columns = np.stack([-share * thresholds, 1 - share * thresholds])
    head = plan.heads[0]
    values = np.concatenate([head.rest_values, columns], axis=1)
    bumped = replace(
        with_head(plan, rest_values=values, values=np.tile(values, (3, 1, 1))),
        readout=np.concatenate([plan.readout, 4 * scale * np.array([1.0, -2.0, 1.0])]),
        units=(*plan.units, "rise", "turn", "end"),
    )
    assert measured(bumped) > 0.1
    assert measured(bumped) <= prove(bumped).error + 1e-9


@pytest.mark.parametrize("formula", ["x0 & x1 & x2", "x0 ^ x1", "x0 & x1 | ~x0 & x2"])
@pytest.mark.parametrize("bluntness", [0.0, 0.3, 0.6])
def test_blunt_heads_are_bounded_from_above(formula, bluntness):
    """With attention spread over other relevant positions too, no input is further off than the proof says."""
    plan = head_per_position_plan(read_function(formula), 5, 0.5, "signs")
    plan = replace(plan, heads=tuple(replace(head, focus=bluntness * head.focus) for head in plan.heads))
    bits = all_inputs(5)
    off = np.abs(evaluate(to_tabulated(plan), bits) - targets(plan, bits)).max()
    assert off > 0.1
    assert off <= prove(plan).error + 1e-9
