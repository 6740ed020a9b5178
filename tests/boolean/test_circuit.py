"""Circuits compute what their lines say, are cut into small gates, and are refused where they are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.boolean import FIRST_GATE, Circuit, gates, majority, parity, parse, read_circuit, read_function
from keyhole.boolean.function import literal
from keyhole.errors import FormulaError

from helpers.circuits import interpreted, random_circuit, words
from helpers.strategies import functions

seeds = st.integers(0, 2**32 - 1)


@given(functions(most=6, last=7), st.integers(2, 5))
def test_a_formula_and_its_gates_are_one_function(function, fan_in):
    """Cut at any fan-in, the last gate agrees with the formula on every input, and no gate reads more wires."""
    circuit = read_circuit(str(function), fan_in)
    assert circuit.fan_in <= fan_in
    assert circuit.function() == function
    assert circuit(words(8))[:, -1].tolist() == function(words(8)).tolist()


@given(seeds, st.integers(1, 8), st.integers(2, 4))
def test_values_are_those_of_the_interpreter(seed, gates, fan_in):
    """Every gate on every input; and the settled function is the last gate."""
    circuit = random_circuit(np.random.default_rng(seed), gates, 5, fan_in)
    values = circuit(words(5))
    assert values.astype(int).tolist() == [interpreted(circuit, bits) for bits in words(5)]
    assert circuit.function()(words(5)).tolist() == values[:, -1].tolist()


@given(functions(most=6, last=7), st.integers(2, 4))
def test_a_circuit_reads_back(function, fan_in):
    """The text of a circuit names the same gates at any larger fan-in."""
    circuit = read_circuit(str(function), fan_in)
    assert read_circuit(str(circuit), fan_in) == circuit
    assert read_circuit(str(circuit), 12) == circuit


@pytest.mark.parametrize(
    ("text", "fan_in", "gates", "depth"),
    [
        ("parity:16", 2, 15, 4),
        ("parity:16", 4, 5, 2),
        ("chain:parity:16", 2, 15, 15),
        ("chain:majority:9", 3, 4, 4),
        ("and:9", 3, 4, 2),
        ("parity:64", 4, 21, 3),
        ("(x0 & x1) | (x2 & x3)", 4, 1, 1),
        ("a = x3 & x17; b = maj(x1, x2, a); a ^ b", 3, 3, 3),
        ("x1 & x2 & (x3 | x4 | x5)", 4, 2, 2),
        ("a = x1 & x2; ~a | x3 & (x1 & x2)", 3, 2, 2),  # what occurs twice is one gate
        ("a = x1 & x2; b = a ^ x3; a", 3, 3, 2),  # the output is copied behind an unread gate
    ],
)
def test_gates_and_depth(text, fan_in, gates, depth):
    """⌈(k − 1)/(s − 1)⌉ gates for associative families, ⌈log_s k⌉ deep as a tree."""
    circuit = read_circuit(text, fan_in)
    assert (len(circuit.gates), circuit.depth) == (gates, depth)


@given(st.integers(2, 13), st.integers(2, 4), st.data())
def test_counting_by_adders(size, fan_in, data):
    """Any function of a count, with more arguments than a gate reads."""
    levels = data.draw(st.lists(st.sampled_from("01"), min_size=size + 1, max_size=size + 1))
    text = f"symmetric({''.join(levels)}; {', '.join(f'x{i}' for i in range(size))})"
    assert read_circuit(text, fan_in).function() == parse(text)


@pytest.mark.parametrize("family", ["and", "or", "parity", "majority"])
def test_chains_repeat_their_gate(family):
    """y_1 = f(x_0, x_1, x_2), y_g = f(y_{g−1}, two more bits)."""
    circuit = read_circuit(f"chain:{family}:7", 3)
    assert len(circuit.gates) == 3
    rules = {gate.rule for gate in circuit.gates}
    assert rules == {read_function(f"{family}:3").rule}


def test_parities_of_any_size_are_settled():
    """The function of a parity of 500 bits is found without a table; that of 500 bits' majority is not."""
    assert read_circuit("parity:500", 2).function() == parity(tuple(range(500)))
    assert read_circuit("majority:99", 3).function() is None
    assert read_circuit("majority:15", 3).function() == majority(tuple(range(15)))


def test_many_gates_in_time():
    """A circuit of 2,000 lines is read in a moment."""
    text = "a0 = x0 ^ x1\n" + "\n".join(f"a{i} = a{i - 1} ^ x{i % 7}" for i in range(1, 2000))
    assert len(read_circuit(text, 2).gates) == 2000


@pytest.mark.parametrize(
    ("text", "fan_in", "sentence"),
    [
        ("a = b & x1; b = a & x2; b", 2, "b is defined on this line or below it"),
        ("a = a & x1; a", 2, "a is defined on this line or below it"),
        ("a = x1 & x2; c ^ a", 2, "'c' is not a function"),
        ("a = x1; a = x2; a", 2, "a is defined 2 times"),
        ("and = x1; x2", 2, "'and' has a meaning in formulas"),
        ("x3 = x1; x2", 2, "'x3' has a meaning in formulas"),
        ("x1 & x2; x3", 2, "has no name and is not the last line"),
        ("x1 & x2", 1, "Gates of fan-in 1 were asked for"),
        ("x1 & x2", 13, "a gate joins 2 to 12 wires"),
        (" ; \n", 2, "The circuit is empty"),
        ("chain:xor:4", 2, "No chain is made of 'xor'"),
        ("chain:parity:1", 2, "one of fan-in 2 has 2 to"),
        ("chain:parity:999999999", 2, "one of fan-in 2 has 2 to"),
        ("a = x1 &; a", 2, "Expected a variable"),
    ],
)
def test_what_is_not_a_circuit_is_refused(text, fan_in, sentence):
    """A sentence that names the line, the name or the number."""
    with pytest.raises(FormulaError, match=sentence):
        read_circuit(text, fan_in)


@given(
    st.lists(st.sampled_from([*"abx()&^|~;=,\n 01", "x1", "x2", "maj(", "a = ", "chain:", "parity:", "9"]), max_size=14)
)
def test_any_text_is_a_circuit_or_refused(parts):
    """No text ends in anything but a circuit of gates of at most two wires, or a FormulaError."""
    try:
        circuit = read_circuit("".join(parts), 2)
    except FormulaError:
        return
    assert circuit.fan_in <= 2
    assert read_circuit(str(circuit), 2) == circuit


def test_gates_read_gates_before_them():
    """A circuit that was built by hand is refused if it has a cycle, no gates, or too short a context."""
    loop = literal(FIRST_GATE) & literal(0)
    with pytest.raises(FormulaError, match="reads itself or a later gate"):
        Circuit((loop,), ("a",))
    with pytest.raises(FormulaError, match="A circuit of 0 gates"):
        Circuit((), ())
    with pytest.raises(FormulaError, match="ends at position 3"):
        read_circuit("x4 & x2").slots(4)


def test_too_many_gates_are_refused(monkeypatch):
    """A table that takes more gates than a circuit may have is refused in a sentence."""
    monkeypatch.setattr(gates, "MAX_GATES", 300)
    with pytest.raises(FormulaError, match="more than 300 gates; raise the fan-in"):
        read_circuit("random:12", 2)
