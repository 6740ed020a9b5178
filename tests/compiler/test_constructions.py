"""Every construction computes its function on every input."""

import numpy as np
import pytest

from keyhole.attention import evaluate, forward
from keyhole.attention.tokens import embed_tokens
from keyhole.boolean.families import conjunction, majority, parity, random_junta, read_function
from keyhole.compiler.assembly import to_model, to_tabulated
from keyhole.compiler.constructions.additive import additive_plan, coded_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.constructions.per_position import head_per_position_plan
from keyhole.compiler.proof import prove
from keyhole.errors import AssumptionError, CompileError

from helpers.compiled_plans import all_inputs, every_plan, float_allowance, functions_of, targets

SMALL = [*functions_of((1,)), *functions_of((0, 3)), *functions_of((0, 2, 3))]
GROUPS = [SMALL[start::10] for start in range(10)]


def check_everywhere(plan, bits):
    """Output within the proved error, and within 1e-9, of what is wanted on all inputs."""
    output = evaluate(to_tabulated(plan), bits)
    worst = np.abs(output - targets(plan, bits)).max()
    proof = prove(plan)
    assert worst <= 1e-9, plan.construction
    assert worst <= proof.error + float_allowance(plan), plan.construction
    assert proof.error <= 1e-9
    assert proof.margin >= (1.0 if plan.output == "signs" else 0.5) - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("output", ["signs", "bits"])
@pytest.mark.parametrize("group", GROUPS, ids=range(10))
def test_every_function_of_three_bits(group, output):
    """All functions of at most 3 bits, T = 5, all 32 inputs, each construction: right, and as close as proved."""
    bits = all_inputs(5)
    for function in group:
        for plan in every_plan(function, 5, output):
            check_everywhere(plan, bits)


@pytest.mark.slow
@pytest.mark.parametrize("output", ["signs", "bits"])
@pytest.mark.parametrize(("sparsity", "context"), [(3, 12), (4, 11), (5, 9), (6, 8), (6, 12)])
def test_random_functions_of_up_to_six_bits(sparsity, context, output):
    """Random tables and counting functions at scattered positions, all 2^T inputs, several attention masses."""
    rng = np.random.default_rng(sparsity)
    bits = all_inputs(context)
    places = tuple(sorted(rng.choice(context, size=sparsity, replace=False).tolist()))
    for function in (random_junta(places, rng), parity(places), majority(places), ~conjunction(places)):
        for mass in (0.1, 0.7) if context < 12 else (0.5,):
            for plan in every_plan(function, context, output, mass):
                check_everywhere(plan, bits)


@pytest.mark.parametrize("formula", ["x0", "~x1", "x0 & ~x2", "x0 ^ x1 ^ x2"])
def test_no_other_position_is_needed(formula):
    """At T = s, or nearly, there is no leak: still exact."""
    function = read_function(formula)
    for context in (function.positions[-1] + 1, function.positions[-1] + 2):
        for plan in every_plan(function, context):
            check_everywhere(plan, all_inputs(context))


@pytest.mark.parametrize("formula", ["x1 & x3", "x0 ^ x4", "table(0111001001110110; x0, x1, x3, x4)"])
@pytest.mark.parametrize("output", ["signs", "bits"])
def test_matrices_are_the_tables(formula, output):
    """The model's forward pass through embedding, scores and values gives what the tables give."""
    function, bits = read_function(formula), all_inputs(6)
    for plan in every_plan(function, 6, output):
        # the two differ by rounding; logits of random codes are products of d coordinates
        allowance = float_allowance(plan) * (1 + (plan.dimension if plan.codes_seed is not None else 0))
        difference = np.abs(forward(to_model(plan), bits) - evaluate(to_tabulated(plan), bits))
        assert difference.max() <= 2 * allowance


@pytest.mark.parametrize("gamma", [0.01, 0.5, 0.9])
@pytest.mark.parametrize("formula", ["x1 & x3", "x0 ^ x2 ^ x4"])
def test_attention_is_as_stated(formula, gamma):
    """Construction A puts a = (1−γ)/s on each relevant position, whatever the input."""
    function = read_function(formula)
    (plan, *_) = pair_plans(function, 6, gamma, "signs")
    model = to_model(plan)
    head = model.blocks[0].heads[0]
    rows = embed_tokens(model.embedding, all_inputs(6))
    weights = head.normaliser(head.score(rows, rows[:, -1:, :]))[:, 0, :]
    assert np.allclose(weights[:, list(function.positions)], (1 - gamma) / function.sparsity, rtol=1e-14, atol=0)


def test_uniform_attention_is_exact_too():
    """At γ = 1 − s/(T+1) the logits are 0 and the output is still exact; the read-out pays: ‖w‖ = T + 1."""
    for context, sparsity in ((5, 2), (9, 3)):
        plan = pair_plans(conjunction(tuple(range(sparsity))), context, 1 - sparsity / (context + 1), "bits")[0]
        assert abs(plan.parameters["beta"]) < 1e-14
        assert np.linalg.norm(plan.readout) == pytest.approx(context + 1)
        check_everywhere(plan, all_inputs(context))


@pytest.mark.parametrize("mass", [0.0, 1.0, -0.1, float("nan")])
def test_refuses_a_mass_that_is_none(mass):
    """γ and ρ lie strictly between 0 and 1."""
    function = conjunction((0, 1))
    with pytest.raises(AssumptionError, match="0 < leak < 1"):
        pair_plans(function, 5, mass, "signs")
    for make in (additive_plan, head_per_position_plan):
        with pytest.raises(AssumptionError, match="0 < leak < 1"):
            make(function, 5, mass, "signs")


def test_refuses_codes_that_stay_coherent(monkeypatch):
    """Codes of two coordinates are never nearly orthogonal; after twenty draws that is said."""
    monkeypatch.setattr(
        "keyhole.compiler.constructions.additive.CODE_FAILURE", 79.0
    )  # of 2sT = 80: hardly any width is asked for
    with pytest.raises(CompileError, match="20 draws of codes of width 1 were all more coherent than 1/6"):
        coded_plan(conjunction((0, 1)), 20, 0.5, "signs", 0)


def test_refuses_what_needs_too_many_units():
    """A table of 13 positions, binary weights for 11 and heads for 9 are refused with the reason."""
    rng = np.random.default_rng(0)
    with pytest.raises(CompileError, match="needs 2\\^13 units"):
        pair_plans(random_junta(tuple(range(13)), rng), 20, 0.5, "signs")
    for make in (additive_plan, lambda *arguments: coded_plan(*arguments, 0)):
        with pytest.raises(CompileError, match="need 2\\^11 levels"):
            make(random_junta(tuple(range(11)), rng), 20, 0.5, "signs")
    with pytest.raises(CompileError, match="needs 2\\^9 patterns"):
        head_per_position_plan(random_junta(tuple(range(9)), rng), 20, 0.5, "signs")
