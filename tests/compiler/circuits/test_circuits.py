"""Compiled circuits are right on every input, certificates agree with enumeration, and each constant matters."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.attention import forward, table_profile
from keyhole.boolean import read_circuit
from keyhole.compiler.circuits import (
    circuit_plan,
    layer_norms,
    prove_circuit,
    proved_formats,
    slot_tables,
    to_dense,
    write_steps,
)
from keyhole.compiler.circuits import plan as plan_module
from keyhole.compiler.circuits.formats import keeps_bits
from keyhole.compiler.circuits.norms import path_norms
from keyhole.compiler.circuits.plan import BEND, focus_score, silence
from keyhole.compiler.circuits.proof import leaks
from keyhole.compiler.precision.rounding import FLOAT64, FORMATS
from keyhole.errors import CompileError

from helpers.circuits import random_circuit, small_circuits, words

seeds = st.integers(0, 2**32 - 1)
MAJORITY = "a = x3 & x5; b = maj(x1, x2, a); a ^ b"


def compiled(text, context, mode, fan_in=3):
    """A plan of some lines."""
    return circuit_plan(read_circuit(text, fan_in), context, mode)


def right(circuit, context, bits):
    """In layers and in steps every slot shows its gate on all these inputs, and both are proved, with slack 1/4."""
    wanted = circuit(bits)
    layers, steps = (circuit_plan(circuit, context, mode) for mode in ("layers", "steps"))
    shown = to_dense(layers).fill_slots(bits)
    slack = min(prove_circuit(layers).slack, prove_circuit(steps).slack)
    return (
        np.abs(shown - (2.0 * wanted - 1)).max() < 1e-9
        and np.array_equal(write_steps(steps, bits), wanted)
        and slack >= 0.25
    )


@given(seeds, st.integers(1, 12), st.integers(2, 4))
def test_random_circuits(seed, gates, fan_in):
    """Random tables on random wires of a context of 6, on all 64 inputs."""
    assert right(random_circuit(np.random.default_rng(seed), gates, 6, fan_in), 6, words(6))


@pytest.mark.parametrize("gates", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_small_circuit(gates):
    """Every circuit of one or two gates of two wires on 5 bits, on every input."""
    assert all(right(circuit, 5, words(5)) for circuit in small_circuits(gates, 5))


@pytest.mark.long
def test_every_circuit_of_three_gates():
    """Every third of the connected circuits of three gates of two wires on 5 bits, up to renaming bits."""
    circuits = list(small_circuits(3, 5))[::3]
    assert len(circuits) > 3000
    assert all(right(circuit, 5, words(5)) for circuit in circuits)


@pytest.mark.long
def test_five_hundred_random_circuits():
    """500 circuits of up to 12 gates on 10 bits, every one of the 1,024 inputs of each."""
    rng = np.random.default_rng(20)
    for _ in range(500):
        circuit = random_circuit(rng, int(rng.integers(1, 13)), 10, int(rng.integers(2, 5)))
        assert right(circuit, 10, words(10)), str(circuit)


@pytest.mark.parametrize("mode", ["layers", "steps"])
def test_long_contexts_in_seconds(mode):
    """Parity of 64 bits at T = 4,096 is proved; random inputs agree."""
    circuit = read_circuit("parity:64", 4)
    plan = circuit_plan(circuit, 4096, mode)
    assert prove_circuit(plan).slack >= 0.25
    if mode == "steps":
        bits = np.random.default_rng(3).integers(0, 2, (20, 4096))
        assert np.array_equal(write_steps(plan, bits)[:, -1], bits[:, :64].sum(axis=1) % 2)


@given(seeds, st.integers(1, 6), st.integers(0, 3), st.sampled_from([0.3, 0.6, 0.9, 1.1]), st.data())
def test_no_edit_escapes(seed, gates, kind, factor, data):
    """Whatever numbers are changed, what is still proved is right on every input, in steps and in layers."""
    circuit = random_circuit(np.random.default_rng(seed), gates, 5, 3)
    ends = {}
    for mode in ("steps", "layers"):
        plan = circuit_plan(circuit, 5, mode)
        row = data.draw(st.integers(0, len(plan.offsets) - 1))
        edits = (
            {"focus": plan.focus * factor},
            {"offsets": plan.offsets + (factor - 0.5) * (np.arange(len(plan.offsets)) == row)},
            {"weights": np.rint(plan.weights * np.where(np.arange(len(plan.offsets)) == row, 3 * factor, 1))},
            {"silence": plan.silence * factor},
        )
        changed = replace(plan, **edits[kind])
        try:
            prove_circuit(changed)
        except CompileError:
            continue
        ends[mode] = changed
    if "steps" in ends:
        assert np.array_equal(write_steps(ends["steps"], words(5)), circuit(words(5)))
    if "layers" in ends:
        shown = to_dense(ends["layers"]).fill_slots(words(5))
        assert np.abs(shown - (2.0 * circuit(words(5)) - 1)).max() < 1e-9


@given(seeds, st.integers(1, 8), st.integers(2, 4), st.integers(0, 200))
def test_the_leak_is_that_of_the_softmax(seed, gates, fan_in, more):
    """1 − attention on the wire, from the scores themselves; at most 1/(8s)."""
    plan = circuit_plan(random_circuit(np.random.default_rng(seed), gates, 5, fan_in), 5 + more, "steps")
    stated = leaks(plan)
    for gate, slot in enumerate(plan.slots):
        scores = np.zeros(plan.context + gate + 1)
        for head, wire in enumerate(slot.positions):
            mass = np.exp(np.where(np.arange(len(scores)) == wire, plan.focus[gate, head], scores))
            assert stated[gate, head] == pytest.approx(1 - mass[wire] / mass.sum(), rel=1e-9, abs=1e-15)
            assert stated[gate, head] <= 1 / (8 * plan.heads)


def test_constants_are_those_of_the_theorem(monkeypatch):
    """β = ln(8 s (T + n)), bends at 2c − s + 1/2, B = 2s: another number breaks slack, proof or silence."""
    assert focus_score(2, 4159) == pytest.approx(np.log(16 * 4159), rel=1e-15)
    plan = compiled("parity:4", 10**6, "layers", fan_in=4)
    assert prove_circuit(plan).slack == pytest.approx(0.5 - 8 / 33, abs=1e-5)  # equality for long contexts
    assert prove_circuit(plan).silence == pytest.approx(2 * 4 - BEND - silence(4), abs=1e-9) == -0.5
    monkeypatch.setattr(plan_module, "BEND", 0.6)
    assert prove_circuit(compiled("parity:4", 10**6, "layers", fan_in=4)).slack < 0.25


@given(seeds, st.integers(1, 5), st.integers(2, 4))
def test_norms_are_those_of_the_matrices(seed, gates, fan_in):
    """Of scores, of units' rows, and P_∞ of each slot from its tables."""
    circuit = random_circuit(np.random.default_rng(seed), gates, 5, fan_in)
    plan = circuit_plan(circuit, 7, "layers")
    dense = to_dense(plan)
    for norms in layer_norms(plan):
        scores = [
            q @ k.T / np.sqrt(q.shape[1]) for q, k in zip(dense.query[norms.layer], dense.key[norms.layer], strict=True)
        ]
        assert norms.score_frobenius == pytest.approx(max(map(np.linalg.norm, scores)))
        assert norms.score_spectral == pytest.approx(max(np.linalg.norm(score, 2) for score in scores))
        assert norms.unit == pytest.approx(np.linalg.norm(dense.inner[norms.layer], axis=0).max())
        assert norms.units == int(dense.inner[norms.layer].any(axis=0).sum())
    steps = circuit_plan(circuit, 7, "steps")
    paths = [table_profile(slot_tables(steps, gate)).path_inf for gate in range(gates)]
    assert paths == pytest.approx(path_norms(steps))


def test_the_model_reads_the_last_slot():
    """`forward` of the numpy model gives the output gate, 1 or −1."""
    plan = compiled(MAJORITY, 8, "layers")
    dense = to_dense(plan)
    read = forward(dense.model, dense.words(words(8))[:, :-1])
    assert read == pytest.approx(2.0 * plan.circuit(words(8))[:, -1] - 1, abs=1e-9)


def simulated(plan, bits, storage, number):
    """What every slot shows on one input: stored numbers rounded, every sum a running one in numpy's own type."""
    levels, values = plan.circuit.levels, [number(2 * bit - 1) for bit in bits] + [number(0)] * len(plan.slots)
    for gate in sorted(range(len(plan.slots)), key=lambda gate: (levels[gate] if plan.mode == "layers" else 0, gate)):
        seen = plan.tokens if plan.mode == "layers" else plan.context + gate + 1
        shown = np.array(values[:seen])  # whether a gate of its own level is filled yet changes the leak alone
        read = np.zeros(plan.heads, dtype=number)
        for head, wire in enumerate(plan.slots[gate].positions):
            scores = np.zeros(seen, dtype=number)
            scores[wire] = storage.round(plan.focus[gate, head])
            mass = np.exp(scores - scores.max())
            read[head] = np.cumsum(mass * shown, dtype=number)[-1] / np.cumsum(mass, dtype=number)[-1]
        total, far = number(2 * plan.starts[gate] - 1), plan.silence
        for row in range(plan.ramps(gate).start, plan.ramps(gate).stop):
            for more, sign in ((0.0, 1), (1.0, -1)):
                terms = [*(plan.signs[row].astype(number) * read), number(storage.round(far))]
                bias = number(storage.round(-(plan.offsets[row] + more + far)))
                unit = max(number(0), np.cumsum(np.array([*terms, bias]), dtype=number)[-1])
                total = number(total + number(2 * sign * plan.weights[row]) * unit)
        values[plan.context + gate] = total if plan.mode == "layers" else number(2 * (total > 0) - 1)
    return values[plan.context :]


@given(seeds, st.integers(1, 5), st.sampled_from(["layers", "steps"]), st.integers(0, 60), st.data())
def test_formats_that_are_proved_keep_every_bit(seed, gates, mode, more, data):
    """Simulated in float32 and float16, on random inputs: in layers each slot is within 1/(32s) of 1 or −1."""
    circuit = random_circuit(np.random.default_rng(seed), gates, 5, 3)
    plan = circuit_plan(circuit, 5 + more, mode)
    formats = {"float32": np.float32, "bfloat16 stored, float32 summed": np.float32, "float16": np.float16}
    proved = proved_formats(plan)
    assert {"float64", "float32"} <= set(proved)
    bits = np.array(data.draw(st.lists(st.integers(0, 1), min_size=plan.context, max_size=plan.context)))
    for name in set(proved) & set(formats):
        shown = np.array(simulated(plan, bits, FORMATS[name][0], formats[name]), dtype=np.float64)
        assert np.abs(shown - (2.0 * circuit(bits) - 1)).max() <= 1 / (32 * plan.heads)


@pytest.mark.parametrize(("mode", "most"), [("steps", 1 / 8), ("layers", (1 / 4 - 1 / 64) / (65 / 64) / 2)])
def test_the_leak_that_formats_allow(mode, most):
    """Two heads at (1 + η)2λ + η each stay below 1/2; η = 1/64 in layers and 0 in steps."""
    plan = compiled("x0 ^ x1", 3, mode, fan_in=2)
    assert keeps_bits(plan, np.full((1, 2), most - 1e-6), FLOAT64, FLOAT64)
    assert not keeps_bits(plan, np.full((1, 2), most + 1e-6), FLOAT64, FLOAT64)


def test_layers_take_more_digits_than_steps():
    """Sums of 5 terms up to 15.5, 8 of them, are bounded by 0.3 in float16: enough for a symbol, not for η = 1/64."""
    assert "float16" in proved_formats(compiled("x0 ^ x1", 3, "steps", fan_in=2))
    assert "float16" not in proved_formats(compiled("x0 ^ x1", 3, "layers", fan_in=2))


def test_few_digits_are_not_proved_at_length():
    """bfloat16 sums of 4,000 terms keep nothing; nothing is said of them."""
    for mode in ("layers", "steps"):
        assert "bfloat16" not in proved_formats(compiled("parity:8", 4096, mode))


def test_large_circuits_are_refused_in_a_sentence():
    """Too many tokens, or matrices that would not fit."""
    with pytest.raises(CompileError, match="10,000,001 tokens were asked for"):
        compiled("x0 & x1", 10**7, "layers")
    with pytest.raises(CompileError, match="Use a shorter context"):
        to_dense(compiled("x0 & x1", 20_000, "layers"))


def test_a_deep_chain_in_time():
    """2,000 steps are planned and proved in a moment; the proof looks at each kind of gate once."""
    proof = prove_circuit(compiled("chain:parity:2001", 2001, "steps", fan_in=2))
    assert (proof.gates, proof.patterns) == (2000, 4)
