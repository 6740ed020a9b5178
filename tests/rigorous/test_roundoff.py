"""The constants of rounding cover what they are said to cover."""

from fractions import Fraction

import numpy as np
import pytest

from keyhole.rigorous.enclosures import GROW, UNDERFLOW, UNDERFLOW_OF_RADIUS, UNIT, gamma


def test_gamma_is_attained():
    """γ_n is no smaller than n u/(1 − n u), and 2^53 terms would have none."""
    for terms in (1, 10, 1000):
        u = Fraction(1, 2**53)
        assert Fraction(gamma(terms)) >= terms * u / (1 - terms * u)
    assert gamma(100) == pytest.approx(100 * 2.0**-53, rel=1e-8)


def test_gamma_of_other_formats():
    """The unit of another number format, with nothing added; and no bound once n u reaches 1."""
    assert gamma(3, unit=2.0**-11, enlarged=1.0) == 3 * 2.0**-11 / (1 - 3 * 2.0**-11)
    assert gamma(2**11, unit=2.0**-11, enlarged=1.0) == np.inf


def test_allowances():
    """GROW covers γ for 2^20 terms; a product loses half of the smallest number, and both allowances cover many."""
    assert gamma(2**20, enlarged=1.0) < GROW - 1
    assert Fraction(np.finfo(np.float64).eps) == 2 * Fraction(UNIT)
    smallest = Fraction(float(np.nextafter(0.0, 1.0)))
    assert smallest / 2 * 2**75 <= Fraction(UNDERFLOW) < Fraction(UNDERFLOW_OF_RADIUS)
    assert np.finfo(np.float64).smallest_normal <= UNDERFLOW_OF_RADIUS**2
