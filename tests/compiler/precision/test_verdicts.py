"""Lemma R bounds what rounded models do, and every verdict on a format can be checked by running it."""

from math import inf, log1p

import numpy as np
import pytest

from keyhole.boolean.families import conjunction, majority, parity, random_junta
from keyhole.compiler.constructions.additive import additive_plan, coded_plan
from keyhole.compiler.constructions.pairs import pair_plans
from keyhole.compiler.precision.rounding import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FORMATS,
    _moves,
    growth,
    inputs_to_try,
    judge_format,
    judge_formats,
    normaliser_error,
    output_error,
    position_runs,
    simulate,
)
from keyhole.compiler.proof import prove

from helpers.compiled_plans import all_inputs, every_plan, targets, vetoes


def slow_output(plan, bits, storage, accumulation):
    """One input through the rounded model, token by token: the plain meaning of a running sum."""
    keep = accumulation.round

    def one(number):
        return float(keep(np.array([number]))[0])

    hidden = np.zeros(plan.width)
    for head in plan.heads:
        rest = storage.round(np.ravel(np.asarray(head.rest_logits)))
        shown = [int(bits[t]) for t in plan.function.positions]
        focus = [storage.round(head.symbol_focus)[i, bit] for i, bit in enumerate(shown)]
        top = max(*focus, rest.max(initial=-inf), 0.0)
        numerator, mass, seen = np.zeros(plan.width), 0.0, 0
        for t in range(plan.context):
            if t in plan.function.positions:
                i = plan.function.positions.index(t)
                logit, value = focus[i], storage.round(head.values[i, int(bits[t])])
            else:
                logit = rest[seen] if isinstance(head.rest_logits, np.ndarray) else rest[0]
                value, seen = storage.round(head.rest_values[int(bits[t])]), seen + 1
            weight = one(np.exp(one(logit - top)))
            numerator, mass = keep(numerator + keep(weight * value)), one(mass + weight)
        weight = one(np.exp(one(0.0 - top)))
        numerator, mass = keep(numerator + keep(weight * storage.round(head.own_values))), one(mass + weight)
        hidden = keep(hidden + keep(numerator / mass))
    output = 0.0
    for weight, unit in zip(storage.round(plan.readout), np.maximum(hidden, 0.0), strict=True):
        output = one(output + one(weight * unit))
    return output


@pytest.mark.parametrize("name", FORMATS)
def test_the_simulation_is_the_plain_loop(name):
    """Stretches of equal tokens give exactly what going through every token gives."""
    storage, accumulation = FORMATS[name]
    rng = np.random.default_rng(5)
    for plan in [*every_plan(random_junta((2, 7, 30), rng), 40), *vetoes(conjunction((2, 7, 30)), 40)]:
        relevant, others = inputs_to_try(plan)
        chosen = rng.choice(len(relevant), size=4, replace=False)
        found = simulate(plan, relevant[chosen], others[chosen], storage, accumulation)
        for row, bit, output in zip(relevant[chosen], others[chosen], found, strict=True):
            bits = np.full(40, bit)
            bits[[2, 7, 30]] = row
            assert output == slow_output(plan, bits, storage, accumulation), plan.construction


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("output", ["signs", "bits"])
def test_no_proved_format_is_wrong(name, output):
    """Wherever a format is proved, every one of the 2^T inputs comes out on its right side; T = 9."""
    storage, accumulation = FORMATS[name]
    rng = np.random.default_rng(2)
    proved = 0
    for function in (conjunction((0, 4)), random_junta((1, 3, 8), rng)):
        for plan in every_plan(function, 9, output):
            verdict = judge_format(plan, prove(plan).margin, storage, accumulation)
            proved += verdict.outcome == "proved"
            for bits in all_inputs(9)[rng.choice(512, 12, replace=False)] if verdict.outcome == "proved" else ():
                output_there, target = slow_output(plan, bits, storage, accumulation), targets(plan, bits)
                assert (output_there > (0.0 if output == "signs" else 0.5)) == (target == 1.0)
                if output == "bits":  # there the bound is on the output itself, not up to a factor
                    assert abs(output_there - target) <= verdict.bound + prove(plan).error
    assert proved >= 2


def test_theta_vectors():
    """θ at T = 100, 1000, 10000: float32 1.2e-5, 1.2e-4, 1.2e-3; float16 .109, 41.7, none; bfloat16 3.6, none, none."""
    table = {
        FLOAT32: (1.2e-5, 1.2e-4, 1.2e-3),
        FLOAT16: (0.109, 41.7, inf),
        BFLOAT16: (3.6, inf, inf),
    }
    for kind, row in table.items():
        for context, theta in zip((100, 1000, 10_000), row, strict=True):
            assert normaliser_error(context + 1, kind) == pytest.approx(theta, rel=0.02)


def test_theta_by_hand():
    """θ = (1 + g_n)(1 + u_d)/(1 − g_{n−1}) − 1 with g_k = ku/(1 − ku)."""
    u, n = 2.0**-11, 101
    g, h = n * u / (1 - n * u), (n - 1) * u / (1 - (n - 1) * u)
    assert normaliser_error(n, FLOAT16) == pytest.approx((1 + g) * (1 + u) / (1 - h) - 1, rel=1e-14)
    assert growth(2**11, u) == inf


def test_the_bound_holds_in_one_format_after_another():
    """|Δf| ≤ Lemma R's bound on simulated inputs, 0/1 outputs, and it is not more than 10⁴ times too large."""
    rng = np.random.default_rng(8)
    for plan in [
        *pair_plans(random_junta((0, 5, 9), rng), 60, 0.5, "bits"),
        additive_plan(majority((0, 5, 9)), 60, 0.5, "bits"),
    ]:
        relevant, others = inputs_to_try(plan)
        exact = np.where(plan.function.table[relevant @ [1, 2, 4]], 1.0, 0.0)
        for storage, accumulation in ((FLOAT32, FLOAT32), (FLOAT16, FLOAT32), (BFLOAT16, FLOAT32), (FLOAT16, FLOAT16)):
            bound = output_error(plan, storage, accumulation)
            seen = np.abs(simulate(plan, relevant, others, storage, accumulation) - exact).max()
            assert seen <= bound + prove(plan).error
            assert bound <= 1e4 * max(seen, accumulation.unit)


def test_a_long_float16_sum_loses_the_normaliser_but_not_the_sign():
    """A2, s = 3, γ = ½, T = 10000, I first: Z stops, the output is 2.00 instead of 1; float32 gives 1.000.

    Every unit is divided by the same Z, so no sign changes; a ±1 output is proved to keep it.
    """
    places = (0, 1, 2)
    plan = next(p for p in pair_plans(conjunction(places), 10_000, 0.5, "bits") if p.construction == "A2")
    ones, rest = np.ones((1, 3), dtype=bool), np.ones(1, dtype=bool)
    assert simulate(plan, ones, rest, FLOAT16, FLOAT16)[0] == pytest.approx(2.0, abs=2e-3)
    assert simulate(plan, ones, rest, FLOAT32, FLOAT32)[0] == pytest.approx(1.0, abs=5e-4)
    verdict = judge_format(plan, prove(plan).margin, FLOAT16, FLOAT16)
    assert (verdict.outcome, verdict.bound) == ("tried", inf)
    assert verdict.deviation == pytest.approx(1.0, abs=2e-3)
    signs = pair_plans(conjunction(places), 10_000, 0.5, "signs")[0]
    assert judge_format(signs, prove(signs).margin, FLOAT16, FLOAT16).outcome == "proved"
    assert simulate(signs, ones, rest, FLOAT16, FLOAT16)[0] == pytest.approx(2.0, abs=4e-3)


def test_a_refutation_is_an_input():
    """B1 parity, T = 100, bfloat16: the named input, run token by token, has the wrong sign."""
    plan = additive_plan(parity((0, 1, 2)), 100, 0.5, "signs")
    verdict = judge_formats(plan, prove(plan).margin)["bfloat16"]
    assert verdict.outcome == "refuted"
    assert "relevant bits 110" in verdict.counterexample
    assert verdict.counterexample.endswith("all other bits 1")
    bits = np.ones(100, dtype=bool)
    bits[2] = False
    assert slow_output(plan, bits, BFLOAT16, BFLOAT16) > 0  # and the parity of 110 is even: −1 was wanted
    assert "refuted" in str(verdict)


def test_formats_are_stated():
    """Each verdict names storage and accumulation; float64 is proved for every construction of a small function."""
    for plan in every_plan(conjunction((0, 4)), 30):
        verdicts = judge_formats(plan, prove(plan).margin)
        assert {name: (v.storage, v.accumulation) for name, v in verdicts.items()} == {
            name: (storage.name, accumulation.name) for name, (storage, accumulation) in FORMATS.items()
        }
        assert verdicts["float64"].outcome == "proved"
        assert verdicts["float64"].bound < 1e-9
    assert output_error(plan, FLOAT64, FLOAT64) > 0


def test_long_codes_are_not_simulated():
    """With a logit per position and too many of them nothing is tried, and that is said."""
    plan = coded_plan(majority((0, 1, 2)), 5000, 0.5, "signs", 0)
    verdict = judge_format(plan, 1.0, BFLOAT16, BFLOAT16)
    assert (verdict.outcome, verdict.tried) == ("tried", 0)
    assert "too many" in str(verdict)


def test_order_of_positions():
    """Stretches of others stand between the relevant positions, in order."""
    plan = pair_plans(conjunction((2, 3, 9)), 12, 0.5, "signs")[0]
    assert position_runs(plan) == [(2, 0), (0, 1), (5, 2), (2, None)]


def test_many_positions_are_sampled():
    """A function of 40 positions is tried at neighbouring counts and at random, never at 2^40 patterns."""
    plan = pair_plans(parity(tuple(range(40))), 50, 0.5, "signs")[0]
    relevant, others = inputs_to_try(plan)
    assert 2 <= len(relevant) <= 256
    assert set(others.tolist()) == {False, True}


def test_the_bound_by_hand():
    """Lemma R for A2, s = 3, T = 5, all in float16, term by term: 0/1 output, and ±1 output up to a factor."""
    u, least, places = 2.0**-11, 2.0**-14, (0, 1, 2)
    bits, signs = (pair_plans(conjunction(places), 5, 0.5, output)[0] for output in ("bits", "signs"))
    beta, third = bits.parameters["beta"], float(np.float16(1 / 3))
    off = abs(beta - float(np.float16(beta))) / 2 + 2.0**-52 * beta - np.log1p(-2 * u)
    wrong, reach = abs(float(np.float16(2 / 3)) - 2 / 3), float(np.float16(2 / 3))
    error = reach * (2 * np.tanh(off / 2) + normaliser_error(6, FLOAT16) + 2 * 6 * least) + wrong + 2 * 7 * least
    total = 6 * error + 6 * growth(1, u) * (reach + error) + 2 * least  # w = 6 is stored exactly
    assert output_error(bits, FLOAT16, FLOAT16) == pytest.approx(total, rel=1e-8)
    same = 2.0**-52 * beta - np.log1p(-2 * u)  # the relevant logits round alike
    theta = (1 + growth(3, u)) * (1 + u) - 1 + 2 * 3 * least
    total = 2 * 2 * least
    for weight, size, exact in ((12, reach, 2 / 3), (6, third, 1 / 3)):
        error = size * (2 * np.tanh(same / 2) + theta) + abs(size - exact) + 2 * 4 * least
        total += weight * error + weight * growth(2, u) * (size + error)
    assert output_error(signs, FLOAT16, FLOAT16) == pytest.approx(total, rel=1e-8)


def test_logits_move_by_half_of_their_range():
    """A stored β that is off by e moves focus against rest by e, and softmax sees half of it on either side."""
    plan = pair_plans(conjunction((0, 1, 2)), 100, 0.5, "bits")[0]
    beta = plan.heads[0].focus[0]
    off = abs(float(BFLOAT16.round(np.array([beta]))[0]) - beta)
    assert off > 1e-3
    moves = _moves(plan, plan.heads[0], BFLOAT16, FLOAT32, homogeneous=False)
    assert moves.logits == pytest.approx(off / 2 + 2.0**-52 * beta - log1p(-2 * FLOAT32.unit), rel=1e-6)
