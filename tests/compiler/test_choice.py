"""The cheapest construction is chosen by its figures, and the sentence names them."""

from math import sqrt

import numpy as np
import pytest

from keyhole.boolean.families import conjunction, majority, parity, random_junta, read_function
from keyhole.boolean.function import constant
from keyhole.compiler.choice import Wish, candidates, cheapest, choose, path_inf
from keyhole.compiler.norms import plan_profile
from keyhole.errors import AssumptionError, CompileError, FormulaError


@pytest.mark.parametrize("formula", ["x3 & x17", "parity:5", "majority:9", "random:4", "x1 | ~x4"])
def test_nothing_is_cheaper(formula):
    """No plan of the competing constructions has a smaller P_∞, or the same with fewer units."""
    wish = Wish(read_function(formula), 50)
    chosen = choose(wish)
    made = []
    for name in ("pair", "additive", "heads"):
        try:
            made += candidates(wish, name, 0.5, 0.5)
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
    assert choose(Wish(conjunction((0, 1, 2)), 1000)).plan.construction == "A2"
    assert choose(Wish(majority(tuple(range(9))), 1000)).plan.construction == "B1"


@pytest.mark.parametrize(
    ("name", "construction"), [("pair", "A1"), ("additive", "B1"), ("heads", "B′"), ("codes", "B1 with codes")]
)
def test_by_name(name, construction):
    """A construction asked for by name is the one taken."""
    assert choose(Wish(parity((0, 3, 4)), 20, "signs", name)).plan.construction == construction


def test_path_inf_asks_for_little_mass():
    """P_∞ = c/(1 − γ) falls with γ, so the search ends at its end and says so."""
    found = cheapest(Wish(conjunction((0, 1, 2)), 100, "bits"), path_inf)
    assert found.plan.parameters["gamma"] == pytest.approx(1e-3, rel=0.01)
    assert found.plan.path_inf == pytest.approx(2 / (1 - 1e-3), rel=1e-4)
    assert "end of the range" in found.why


def test_a_charge_with_logits_has_its_least_inside():
    """The cover route's C charges ‖w‖ and ‖M‖_F: the γ found is that of a fine grid."""

    def cover(profile):  # (S33) without its logarithm, which γ does not touch
        head = profile.blocks[0].heads[0]
        inner = head.value.spectral ** (2 / 3) + (sqrt(2) * head.value.columns21) ** (2 / 3)
        inner += (head.value.spectral * head.score.frobenius) ** (2 / 3)
        return profile.readout**2 * inner**3

    wish = Wish(conjunction((0, 1, 2)), 100, "bits", "pair")
    found = cheapest(wish, cover).plan.parameters["gamma"]
    grid = np.linspace(0.01, 0.99, 99)
    prices = [cover(plan_profile(choose(wish, gamma, gamma).plan)) for gamma in grid]
    assert abs(found - grid[int(np.argmin(prices))]) <= 0.01  # one step of the grid
    assert 0.02 < found < 0.98


def test_refusals():
    """A constant, a short context, a wrong name, a wrong output, a wrong mass, and too large a table."""
    function = conjunction((0, 9))
    with pytest.raises(CompileError, match="constant"):
        Wish(constant(value=True), 5)
    with pytest.raises(FormulaError, match="ends at position 4"):
        Wish(function, 5)
    with pytest.raises(CompileError, match="no construction 'best'"):
        Wish(function, 50, "signs", "best")
    with pytest.raises(CompileError, match="no output 'words'"):
        Wish(function, 50, "words")
    with pytest.raises(AssumptionError, match="0 < γ < 1"):
        choose(Wish(function, 50), gamma=1.5)
    with pytest.raises(AssumptionError, match="0 < ρ < 1"):
        choose(Wish(function, 50), rho=0.0)
    with pytest.raises(CompileError, match="needs 2\\^13 units"):
        choose(Wish(random_junta(tuple(range(13)), np.random.default_rng(0)), 50))
