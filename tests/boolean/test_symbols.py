"""Laws of symbols: what is drawn follows the chances, and a constant's error is computed, not drawn."""

import numpy as np
import pytest

from keyhole.boolean.junta import SymbolLaw, biased_bits, uniform_law
from keyhole.errors import AssumptionError

from helpers.planted import every_sequence, junta_of, random_symbol_junta


@pytest.mark.parametrize("law", [uniform_law(2), biased_bits(0.794), uniform_law(5), SymbolLaw((0.5, 0.2, 0.3))])
def test_frequencies(law):
    """Each symbol's share of 200,000 within five standard errors of its chance, in every half of the positions."""
    drawn = law.draw(20_000, 10, np.random.default_rng(0))
    for symbol, chance in enumerate(law.chances):
        for half in (drawn[:, :5], drawn[:, 5:]):
            assert abs(np.mean(half == symbol) - chance) < 5 * (chance * (1 - chance) / half.size) ** 0.5


@pytest.mark.parametrize("law", [uniform_law(3), SymbolLaw((0.5, 0.2, 0.3))])
def test_trivial_error(law):
    """The weight of the rarer answer, summed over every input."""
    junta = random_symbol_junta((0, 2), 3)
    rows = every_sequence(3, 3)
    weights = np.array(law.chances)[rows].prod(axis=1)
    true = weights[junta(rows)].sum()
    assert law.trivial_error(junta) == pytest.approx(min(true, 1 - true), rel=1e-12)


def test_three_and():
    """1/8 for uniform bits, one half under p = 2^(−1/3)."""
    junta = junta_of("x0 & x4 & x5")
    assert uniform_law(2).trivial_error(junta) == 0.125
    assert biased_bits(2 ** (-1 / 3)).trivial_error(junta) == pytest.approx(0.5)


def test_refusals():
    """One symbol; a chance of nothing; chances that are not all; a bias of one."""
    for chances in ((1.0,), (0.0, 1.0)):
        with pytest.raises(AssumptionError, match="needs 2 to 64 chances above 0"):
            SymbolLaw(chances)
    with pytest.raises(AssumptionError, match=r"add up to 0\.9"):
        SymbolLaw((0.4, 0.5))
    with pytest.raises(AssumptionError, match="between 0 and 1; got 1"):
        biased_bits(1.0)
