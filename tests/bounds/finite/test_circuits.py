"""Circuits as a finite class: counts by enumeration, a union over steps by enumeration, and samples of one gate."""

from itertools import combinations, product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds.finite.circuits import circuit_identification_size, circuit_nats, gate_nats, step_errors
from keyhole.errors import AssumptionError


@pytest.mark.parametrize(("context", "gates", "fan_in"), [(3, 1, 2), (2, 2, 2), (3, 2, 1), (1, 3, 1), (1, 2, 2)])
def test_choices_are_counted(context, gates, fan_in):
    """Every circuit listed: sets of wires, then tables."""
    choices = [
        len(list(combinations(range(context + g), min(fan_in, context + g))))
        * len(list(product((0, 1), repeat=2 ** min(fan_in, context + g))))
        for g in range(gates)
    ]
    assert exp(circuit_nats(context, gates, fan_in)) == pytest.approx(np.prod(choices))


@given(st.integers(1, 4), st.integers(1, 60), st.floats(0.001, 0.5))
def test_steps_that_fit_pay_for_their_own_gate(gates, samples, delta):
    """1 − exp(−nats/m), nats of one gate and ln(n/δ), without errors; each error costs more."""
    plain = step_errors(10, 2, samples, [0] * gates, delta)
    assert plain == pytest.approx(
        [1 - exp(-(gate_nats(10, g, 2) + log(gates / delta)) / samples) for g in range(gates)]
    )
    worse = step_errors(10, 2, samples, [1] * gates, delta)
    assert all(one <= two for one, two in zip(plain, worse, strict=True))


def parity_chain(wires):
    """The chain y_g = y_{g−1} ^ x_wire on all inputs of 4 bits, fed with given slots or its own."""
    bits = np.array(list(product((0, 1), repeat=4)))

    def run(given_slots=None):
        slots = []
        for g, wire in enumerate(wires):
            before = np.zeros(16, dtype=int) if g == 0 else (slots if given_slots is None else given_slots)[g - 1]
            slots.append(before ^ bits[:, wire])
        return slots

    return run


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.data())
def test_a_chain_errs_at_most_the_sum_of_its_steps(wires, data):
    """On all 16 inputs: some slot of the free-running chain is wrong no more often than the steps together are."""
    read = [data.draw(st.sampled_from([wire, wire, (wire + 1) % 4])) for wire in wires]
    truth, run = parity_chain(wires)(), parity_chain(read)
    free = np.any([one != two for one, two in zip(run(), truth, strict=True)], axis=0).mean()
    steps = [np.mean(one != two) for one, two in zip(run(truth), truth, strict=True)]
    assert free <= sum(steps) + 1e-12


def test_the_promise_holds_on_samples():
    """Of 300 samples, the worst gate that fits errs more than promised in at most 1 in 10 (δ = 0.1; seen: none)."""
    rng, context, samples = np.random.default_rng(5), 6, 40
    tables = [np.array(table) for table in product((0, 1), repeat=4)]
    words = np.array(list(product((0, 1), repeat=context)))
    promised, broken = step_errors(context, 2, samples, [0], 0.1)[0], 0
    for _ in range(300):
        rows = words[rng.integers(0, len(words), samples)]
        worst = 0.0
        for (i, j), table in product(combinations(range(context), 2), tables):
            if np.array_equal(table[rows[:, i] + 2 * rows[:, j]], rows[:, 0] ^ rows[:, 1]):
                worst = max(worst, float(np.mean(table[words[:, i] + 2 * words[:, j]] != words[:, 0] ^ words[:, 1])))
        broken += worst > promised
    assert broken <= 45  # 300 draws of at most 0.1 exceed this with probability below 0.004


def test_parities_of_uniform_bits_are_apart():
    """Of all gates of two wires over 3 uniform bits and a chain of parities: equal, or apart by 1/16 at least."""
    bits = np.array(list(product((0, 1), repeat=3)))
    wires = [*bits.T, bits[:, 0] ^ bits[:, 1], bits[:, 0] ^ bits[:, 1] ^ bits[:, 2]]
    tables = [np.array(table) for table in product((0, 1), repeat=4)]
    values = np.array([table[one + 2 * two] for one, two in combinations(wires, 2) for table in tables])
    distances = np.mean(values[:, None] != values[None], axis=2)
    assert distances[distances > 0].min() >= 1 / 16


def test_rivals_are_gone_from_the_identification_size_on():
    """|H| (1 − p)^m is at most δ/n at that size, and above it one sample before."""
    for context, gates, apart in [(10, 1, 1 / 4), (100, 9, 1 / 16), (400, 19, 1 / 16)]:
        size = circuit_identification_size(context, gates, 2, apart=apart)
        rivals = exp(gate_nats(context, gates - 1, 2))
        assert rivals * (1 - apart) ** size <= 0.01 / gates < rivals * (1 - apart) ** (size - 1)


def test_refusals():
    """No steps, or gates that never differ."""
    with pytest.raises(AssumptionError, match="the steps must be a whole number"):
        step_errors(10, 2, 5, [])
    with pytest.raises(AssumptionError, match="a probability between 0 and 1"):
        circuit_identification_size(10, 1, 2, apart=0.0)
