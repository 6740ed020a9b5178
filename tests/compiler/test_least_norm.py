"""The least path norm: reached by a head that is proved, bounded below by prices that every unit obeys."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import keyhole
from keyhole.boolean.families import parity, read_function
from keyhole.compiler.constructions.least_norm import (
    MAX_BITS,
    _proved,
    least_norm,
    least_plan,
    signs_of_patterns,
    unit_class,
)
from keyhole.compiler.proof import prove
from keyhole.errors import AssumptionError, CompileError

from helpers.compiled_plans import functions_of

RNG = np.random.default_rng(0)


def best_unit(sparsity, attention, prices):
    """The largest ⟨y, g⟩ over the whole class, by a mixed-integer programme that knows no list of units.

    Variables c, e⁺, e⁻, |c|, h_b (the unit's output on pattern b) and z_b (whether it is on).
    """
    n, s = 1 << sparsity, sparsity
    chi = signs_of_patterns(s)
    size = 1 + 2 * s + 1 + 2 * n
    c, up, down, absolute = 0, slice(1, 1 + s), slice(1 + s, 1 + 2 * s), 1 + 2 * s
    h, z = 2 + 2 * s, 2 + 2 * s + n
    rows, low, high = [], [], []

    def add(entries, least, most):
        row = np.zeros(size)
        for at, value in entries:
            row[at] = row[at] + value
        rows.append(row)
        low.append(least)
        high.append(most)

    add([(absolute, 1), (up, 1), (down, 1)], -np.inf, 1)
    add([(absolute, 1), (c, -1)], 0, np.inf)
    add([(absolute, 1), (c, 1)], 0, np.inf)
    for b in range(n):
        pre = [(c, 1), (up, chi[b]), (down, -chi[b])]
        add([(h + b, 1), *((at, -value) for at, value in pre)], 0, np.inf)  # h ≥ pre
        add([(h + b, 1), *((at, -value) for at, value in pre), (z + b, 1)], -np.inf, 1)  # h ≤ pre + 1 − z
        add([(h + b, 1), (z + b, -1)], -np.inf, 0)  # h ≤ z
    edge = 1 / s if attention == "equal" else 1.0
    lower, upper = np.zeros(size), np.full(size, edge)
    lower[c], upper[c], upper[absolute], upper[h:] = -1, 1, 1, 1
    cost, whole = np.zeros(size), np.zeros(size)
    cost[h : h + n], whole[z:] = -prices, 1
    return -milp(
        cost, constraints=LinearConstraint(rows, low, high), bounds=Bounds(lower, upper), integrality=whole
    ).fun


@pytest.mark.parametrize("attention", ["equal", "any"])
@pytest.mark.parametrize("sparsity", [1, 2, 3])
def test_no_unit_of_the_class_is_missing(sparsity, attention):
    """For any prices the best of the listed units is the best of all, as a search that knows no list finds."""
    known = unit_class(sparsity, attention)
    for _ in range(6):
        prices = RNG.normal(size=1 << sparsity)
        listed = (known.outputs @ prices / known.denominator).max(initial=0.0)
        assert listed == pytest.approx(best_unit(sparsity, attention, prices), abs=1e-6)


@pytest.mark.parametrize("attention", ["equal", "any"])
def test_no_random_unit_beats_the_list(attention):
    """Nor does any of many random units of four bits, at random prices or at those of a parity."""
    chi, known = signs_of_patterns(4), unit_class(4, attention)
    tilt = RNG.dirichlet(np.ones(5), size=4000) * RNG.choice([-1, 1], size=(4000, 5))
    if attention == "equal":
        tilt[:, 1:] = np.clip(tilt[:, 1:], -0.25, 0.25)
    units = np.maximum(tilt[:, :1] + tilt[:, 1:] @ chi.T, 0)
    for prices in [*RNG.normal(size=(20, 16)), chi.prod(axis=1)]:
        assert np.abs(units @ prices).max() <= np.abs(known.outputs @ prices).max() / known.denominator + 1e-12


@pytest.mark.parametrize(
    ("formula", "signs", "margin"),
    [("parity:3", 16, 16), ("parity:4", 16, 16), ("majority:3", 8, 4), ("x0 & x1 & x2", 5, 5), ("x0 ^ x1", 4, 4)],
)
def test_known_values(formula, signs, margin):
    """Norm and bound meet, with equal attention and with any."""
    table = read_function(formula).table
    for attention in ("equal", "any"):
        for demand, value in (("signs", signs), ("margin", margin)):
            found = least_norm(table, attention, demand)
            assert found.norm == pytest.approx(value, abs=1e-9)
            assert value * (1 - 1e-9) <= found.lower <= value


def test_parity_of_four_compiled():
    """P_∞ ≤ 16/(1 − γ), where Construction A has 41/(1 − γ); exact everywhere, and no R = 0 layer has below 16."""
    for gamma in (0.01, 0.5):
        made = keyhole.compile("parity:4", 1000, construction="least", leak=gamma)
        assert made.norms["path_inf"] <= 16 / (1 - gamma) * (1 + 1e-12)
        assert made.proof.error < 1e-11
    assert keyhole.norms("parity:4").functions[0].any_bound == 16


@pytest.mark.slow
@pytest.mark.parametrize("output", ["signs", "bits"])
def test_every_function_of_two_bits_and_some_of_three(output):
    """The plan is exact, has the norm of the programme, and never less than the lower bound nor more than A's."""
    some = functions_of((0, 2, 5))
    for function in [*functions_of((1, 4)), *(some[i] for i in RNG.choice(len(some), 8, replace=False))]:
        plan, found = least_plan(function, 7, 0.5, output), least_norm(function.table, "equal", output)
        assert prove(plan).error < 1e-11
        assert found.lower <= found.norm * (1 + 1e-12)
        assert plan.path_inf == pytest.approx(2 * found.norm, rel=1e-9)
        built = keyhole.compile(function, 7, construction="pair", output=output).norms["path_inf"]
        assert plan.path_inf <= built * (1 + 1e-9)


def test_equal_attention_is_the_smaller_class():
    """What is proved of any attention is proved of equal attention; for some functions the two differ."""
    gaps = [row.least_bound - row.any_bound for row in keyhole.norms().functions if row.least_bound is not None]
    assert min(gaps) >= -1e-9
    assert max(gaps) > 0.1


def test_prices_prove_only_what_they_bear():
    """Prices a tenth too high everywhere prove the same; one price too high proves less, never more."""
    known, target = unit_class(4, "any"), np.where(parity((0, 1, 2, 3)).table, 1.0, -1.0)
    assert _proved(known, target, target, "signs") == 16
    assert _proved(known, target, 1.1 * target, "signs") == 16
    for b in range(16):
        assert _proved(known, target, np.where(np.arange(16) == b, 2, 1) * target, "signs") < 16


def test_fourteen_classes():
    """Functions of at most three bits fall into 14 classes up to symmetry; in each norm and bound meet."""
    rows = keyhole.norms().functions
    assert len(rows) == 14
    assert [row.sparsity for row in rows].count(3) == 10
    for row in rows[1:]:
        assert row.any_bound <= row.least_bound <= row.least * (1 + 1e-12) <= row.built * (1 + 1e-9)
        assert row.least == pytest.approx(row.least_bound, rel=1e-6)
        assert row.margin_bound <= row.any_bound * (1 + 1e-12)


def test_refusals():
    """Too many bits, a mass that is none, and an output that is none are refused."""
    with pytest.raises(CompileError, match=f"at most {MAX_BITS}"):
        least_plan(parity(tuple(range(5))), 9, 0.5, "signs")
    with pytest.raises(CompileError, match="functions of 1 to 4 bits"):
        least_norm(np.zeros(32, dtype=bool))
    with pytest.raises(AssumptionError, match="0 < leak < 1"):
        least_plan(parity((0, 1)), 9, 0.0, "signs")
    with pytest.raises(keyhole.errors.ArgumentError, match="is not an output"):
        keyhole.norms("x0", output="yes")


def test_file(tmp_path):
    """A file of it is as claimed."""
    path = keyhole.compile("majority:3", 20, construction="least").save(tmp_path / "least.safetensors")
    assert keyhole.check(path).holds


def test_units_with_constants_need_less_than_the_optimum_over_one_minus_gamma():
    """OR of two at γ = ½: 6 without constants; a constant unit of norm 1 and one of norm ½ times 4 have 5."""
    gamma, chi = 0.5, signs_of_patterns(2)
    assert least_norm(np.array([0, 1, 1, 1], dtype=bool)).lower / (1 - gamma) == pytest.approx(6.0)
    head = (1 - gamma) * -chi.mean(axis=1)  # of values ∓1 on the two relevant positions, 0 elsewhere
    outputs = 1.0 * np.maximum(1.0, 0) - 4.0 * np.maximum(head, 0)
    assert outputs.tolist() == [-1.0, 1.0, 1.0, 1.0]
    assert 1.0 * 1.0 + 4.0 * 1.0 == 5.0  # Σ|w_j| V_j, V = 1 of the constant and of the head's values
