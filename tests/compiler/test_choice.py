"""The cheapest construction is chosen by its figures, and the sentence names them."""

from math import sqrt

import numpy as np
import pytest

from keyhole.boolean.families import conjunction, majority, parity, random_junta, read_function
from keyhole.boolean.function import constant
from keyhole.compiler.choice import cheapest, choose, path_inf
from keyhole.compiler.constructions.registry import find_construction
from keyhole.compiler.norms import plan_profile
from keyhole.errors import AssumptionError, CompileError, FormulaError


@pytest.mark.parametrize("formula", ["x3 & x17", "parity:5", "majority:9", "random:4", "x1 | ~x4"])
def test_nothing_is_cheaper(formula):
    """No plan of the competing constructions has a smaller P_∞, or the same with fewer units."""
    function = read_function(formula)
    chosen = choose(function, 50)
    made = []
    for name in ("pair", "additive", "heads"):
        try:
            made += find_construction(name).plans(function, 50, 0.5, "signs")
        except CompileError:
            continue
    best = min((plan.path_inf, plan.width) for plan in made)
    assert (chosen.plan.path_inf, chosen.plan.width) == best
    assert chosen.plan.construction in chosen.why
    assert all(plan.construction in chosen.why for plan in made)
    assert f"{chosen.plan.path_inf:.4g}" in chosen.why
    assert chosen.why.count(".") - chosen.why.count(".", 0, -1) == 1


def test_both_kinds_can_win():
    """A conjunction goes to pairs, a majority of nine to the additive head."""
    assert choose(conjunction((0, 1, 2)), 1000).plan.construction == "A2"
    assert choose(majority(tuple(range(9))), 1000).plan.construction == "B1"


@pytest.mark.parametrize(
    ("name", "construction"), [("pair", "A1"), ("additive", "B1"), ("heads", "B′"), ("codes", "B1 with codes")]
)
def test_by_name(name, construction):
    """A construction asked for by name is the one taken."""
    assert choose(parity((0, 3, 4)), 20, name).plan.construction == construction


def test_path_inf_asks_for_little_mass():
    """P_∞ = c/(1 − γ) falls with γ, so the search ends at its end and says so."""
    found = cheapest(path_inf, conjunction((0, 1, 2)), 100, output="bits")
    assert found.plan.parameters["gamma"] == pytest.approx(1e-3, rel=0.01)
    assert found.plan.path_inf == pytest.approx(2 / (1 - 1e-3), rel=1e-4)
    assert "end of the range" in found.why


def test_a_charge_with_logits_has_its_least_inside():
    """The cover route's C charges ‖w‖ and ‖M‖_F: the γ found is that of a fine grid."""

    def cover(profile):  # the cover's capacity without its logarithm, which γ does not touch
        head = profile.blocks[0].heads[0]
        inner = head.value.spectral ** (2 / 3) + (sqrt(2) * head.value.columns21) ** (2 / 3)
        inner += (head.value.spectral * head.score.frobenius) ** (2 / 3)
        return profile.readout**2 * inner**3

    function = conjunction((0, 1, 2))
    found = cheapest(cover, function, 100, "pair", output="bits").plan.parameters["gamma"]
    grid = np.linspace(0.01, 0.99, 99)
    plans = [choose(function, 100, "pair", output="bits", leak=gamma).plan for gamma in grid]
    prices = [cover(plan_profile(plan)) for plan in plans]
    assert abs(found - grid[int(np.argmin(prices))]) <= 0.01  # one step of the grid
    assert 0.02 < found < 0.98


def test_a_charge_chooses_the_construction_too():
    """Where units are charged, a parity of two bits is made of three, by A5, not of four at a smaller P_∞, by A1."""

    def charge(profile):
        return profile.blocks[0].heads[0].value.columns + profile.path_inf / 1e6

    function = read_function("x0 ^ x5")
    choice = cheapest(charge, function, 100)
    assert (choice.plan.construction, choice.plan.width) == ("A5", 3)
    assert choose(function, 100).plan.construction == "A1"
    for name in ("pair", "additive", "heads"):
        plans = find_construction(name).plans(function, 100, 0.5, "signs")
        assert min(charge(plan_profile(plan)) for plan in plans) >= charge(plan_profile(choice.plan))


def test_refusals():
    """A constant, a short context, a wrong name, a wrong output, a wrong mass, and too large a table."""
    function = conjunction((0, 9))
    with pytest.raises(CompileError, match="constant"):
        choose(constant(value=True), 5)
    with pytest.raises(FormulaError, match="ends at position 4"):
        choose(function, 5)
    with pytest.raises(CompileError, match="construction 'best'"):
        choose(function, 50, "best")
    with pytest.raises(CompileError, match="output 'words'"):
        choose(function, 50, output="words")
    with pytest.raises(AssumptionError, match="0 < leak < 1"):
        choose(function, 50, leak=1.5)
    with pytest.raises(AssumptionError, match="0 < leak < 1"):
        choose(function, 50, leak=0.0)
    with pytest.raises(CompileError, match="needs 2\\^13 units"):
        choose(random_junta(tuple(range(13)), np.random.default_rng(0)), 50)
