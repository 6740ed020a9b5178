"""Bent laws: level outside two contexts, the law itself between them."""

import numpy as np
import pytest

from keyhole.sweeps.laws.growth_laws import BENDING, LINEAR, LOG, BentLaw, bent_laws, check_law

CONTEXTS = np.array([25.0, 50, 100, 200, 400, 800])


def test_every_bend_keeps_the_interface_of_a_law():
    """Rise, coefficients and value of every bend agree, so that what is fitted is what is named."""
    bends = bent_laws(CONTEXTS)
    assert len(bends) == len(BENDING) * 4 * 2
    for bend in bends:
        check_law(bend, CONTEXTS)


def test_a_bend_is_level_outside_and_the_law_inside():
    """Up to its bend a law that stops is the law; beyond it, it keeps its value; a late one the other way round."""
    stopped, late = BentLaw(LOG, 25, 200, 200), BentLaw(LINEAR, 200, 800, 200)
    given = {"a": 3.0, "b": 2.0}
    assert stopped.value(100, given) == pytest.approx(3 + 2 * np.log(100))
    assert stopped.value(800, given) == pytest.approx(3 + 2 * np.log(200))
    assert late.value(50, given) == pytest.approx(403)
    assert late.value(800, given) == pytest.approx(1603)
    rise = stopped.ln_rise(CONTEXTS, (25, 800), np.array(0.7))
    assert rise[3:] == pytest.approx(0.7)
    assert late.ln_rise(CONTEXTS, (25, 800), np.array(0.7))[:4] == pytest.approx(0)


def test_a_bend_says_where_it_is():
    """Formulas tell a law that stops from one that begins."""
    assert BentLaw(LOG, 25, 200, 200).formula == "a + b ln T up to T = 200"
    assert BentLaw(LOG, 200, 800, 200).formula == "a + b ln T from T = 200"
