"""Compiling joins choice, proof, norms and formats, and refuses with a reason."""

import numpy as np
import pytest

import keyhole
from keyhole.api.compile import cover_capacity
from keyhole.attention import evaluate, forward
from keyhole.boolean.families import parity, read_function
from keyhole.errors import ArgumentError, CompileError, FormulaError

REQUIRED = {
    "function", "context", "construction", "exact", "margin", "leak", "logit_scale", "width", "dimension", "norms",
    "formats", "inputs_covered",
}  # fmt: skip


def test_a_million_positions():
    """A conjunction of three bits among a million: two units, margin 1 on all inputs, no array of length T."""
    compiled = keyhole.compile("x3 & x17 & x40", 10**6)
    record = compiled.record()
    assert record.keys() >= REQUIRED
    assert compiled.exact
    assert record["margin"] > 1 - 1e-12
    assert record["inputs_covered"] == "2^1000000"
    assert record["dimension"] == 2 * 10**6 + 1
    assert record["formats"]["float64"] == "proved"
    assert sum(array.size for head in compiled.plan.heads for array in (head.focus, head.values)) < 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "context"), [("majority:101", 4096), ("parity:64", 4096), ("random:12", 4096), ("and:1000", 4096)]
)
def test_large_functions(formula, context):
    """Many relevant positions: certified on all inputs, norms as the theorems state, right on random inputs."""
    compiled = keyhole.compile(formula, context)
    assert compiled.proof.margin > 1 - 1e-6
    for name, figure in compiled.theorem.items():
        assert figure.holds(compiled.norms[name]), name
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, size=(32, context), dtype=np.uint8).astype(bool)
    bits[:4, : compiled.plan.function.sparsity] = True
    output = evaluate(compiled.tabulated, bits)
    assert np.array_equal(output > 0, compiled.plan.function(bits))
    assert np.abs(np.abs(output) - 1).max() <= compiled.proof.error + 1e-9


@pytest.mark.slow
def test_codes_stream():
    """Random codes at T = 10⁵: dimension O(s² log T), proved, one logit per position and no matrix."""
    compiled = keyhole.compile("maj(x3, x500, x99999)", 100_000, construction="codes")
    assert compiled.proof.margin > 1 - 1e-6
    assert compiled.plan.dimension < 3000
    assert compiled.plan.parameters["rho"] <= 0.5


def test_the_model_is_there():
    """The compiled weights are a model and tables of the attention package."""
    compiled = keyhole.compile(parity((0, 2)), 5, construction="pair", output="bits")
    bits = np.array([[0, 1, 1, 0, 0], [1, 1, 1, 0, 1]], dtype=bool)
    assert forward(compiled.model, bits) == pytest.approx([1.0, 0.0], abs=1e-12)
    assert evaluate(compiled.tabulated, bits) == pytest.approx([1.0, 0.0], abs=1e-12)


def test_logit_scale_beside_its_floor():
    """The logit-range floor for a 3-AND of 0/1 output: 1.832581, 4.135167, 6.437752 at T = 10², 10³, 10⁴, below β."""
    for context, floor, scale in ((100, 1.832581, 3.486355), (1000, 4.135167, 5.807141), (10000, 6.437752, 8.111528)):
        compiled = keyhole.compile("x0 & x1 & x2", context, output="bits", construction="pair")
        assert compiled.logit_floor == pytest.approx(floor, abs=1e-6)
        assert compiled.logit_scale == pytest.approx(scale, abs=1e-6)
    for formula in ("x0 ^ x5", "maj(x0, x1, x2)", "random:4"):
        for construction in ("pair", "additive", "codes", "heads"):
            compiled = keyhole.compile(formula, 300, construction=construction)
            assert compiled.logit_floor <= compiled.logit_scale


def test_seeds():
    """The seed draws the codes, and the table of random:s; equal seeds give equal weights."""
    one, same, other = (keyhole.compile("random:3", 50, construction="codes", seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.plan.heads[0].focus, same.plan.heads[0].focus)
    assert str(one.plan.function) == str(same.plan.function) != str(other.plan.function)


def test_minimise():
    """A charge by name or as a function of the norms moves the attention mass."""
    plain = keyhole.compile("x0 & x1", 100)
    least = keyhole.compile("x0 & x1", 100, minimise="path_inf")
    assert least.norms["path_inf"] < plain.norms["path_inf"]
    assert (
        keyhole.compile("x0 & x1", 100, minimise=lambda norms: norms.readout).norms["readout"] < plain.norms["readout"]
    )
    with pytest.raises(ArgumentError, match="charge 'everything'"):
        keyhole.compile("x0 & x1", 100, minimise="everything")


def test_refusals():
    """Too large a table, too short a context, a constant."""
    with pytest.raises(CompileError, match="at most 12 positions"):
        keyhole.compile("random:13", 100)
    with pytest.raises(FormulaError, match="ends at position 9"):
        keyhole.compile("x3 & x17", 10)
    with pytest.raises(CompileError, match="constant"):
        keyhole.compile("x1 | ~x1", 10)


def test_what_doubles_cannot_carry():
    """A leak that leaves the ramps almost no room has read-outs too large for doubles, and is refused."""
    with pytest.raises(CompileError, match="double precision does not carry"):
        keyhole.compile("parity:6", 1000, construction="additive", leak=1 - 1e-13)


def test_what_memory_cannot_hold():
    """Very many relevant positions, or too many units at them, are refused before anything is made."""
    with pytest.raises(CompileError, match="at most 4096 relevant ones"):
        keyhole.compile("parity:10000", 10_000)
    with pytest.raises(CompileError, match="tables are too large"):
        keyhole.compile("parity:4000", 10_000)
    with pytest.raises(CompileError, match="tables are too large"):
        keyhole.compile("parity:4000", 10_000, construction="additive")


def test_shown():
    """The repr has the function in a line; the text has at most ten lines, and the rest on demand."""
    compiled = keyhole.compile("x3 & x17", 64)
    assert repr(compiled).startswith("Compiled('x3 & x17', context=64")
    assert "101 positions" in repr(keyhole.compile("majority:101", 200))
    assert "PROVED" in compiled._repr_html_()
    assert len(str(compiled).splitlines()) <= 10
    assert "x3 & x17" in compiled.text(verbose=True)


def test_a_function_or_its_text():
    """A SparseFunction and its formula compile to the same weights."""
    one, two = keyhole.compile(read_function("x1 ^ x2"), 9), keyhole.compile("x1 ^ x2", 9)
    assert np.array_equal(one.plan.readout, two.plan.readout)


def test_the_cover_charge_has_its_least_inside():
    """Covers pay for logits and for read-outs: the best mass is neither end, and no grid point is cheaper."""
    best = keyhole.compile("x0 & x1 & x2", 1000, minimise="cover")
    charge = cover_capacity(best.profile)
    masses = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9]
    tried = [cover_capacity(keyhole.compile("x0 & x1 & x2", 1000, leak=mass).profile) for mass in masses]
    assert charge <= min(tried) * (1 + 1e-6)  # the search stops within 1e-3 of the best log-odds
    assert 0.01 < best.plan.parameters["gamma"] < 0.9
