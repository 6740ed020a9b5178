"""The error that training margins promise: ramp loss and gap at the margin that makes their sum least."""

from dataclasses import replace

import numpy as np
import pytest

from keyhole.api.margin_bound import SHARES, margin_bound
from keyhole.bounds import PRODUCT_LISTS, guarantee, margin_loss, tabulated_profile


def layer(path, **more):
    """A layer without units, on uniform bits."""
    return tabulated_profile(path_inf=path, context=100, least_probability=0.5, odd_units=True, **more)


def test_equal_margins_leave_the_gap_alone():
    """All margins 2: the ramp loss is 0, and P_∞ = 4 counts as 2 at a margin of 1, one-sided, at the δ given."""
    found = margin_bound(layer(4.0), np.full(10**5, 2.0), 0.01)
    gap = guarantee(PRODUCT_LISTS, layer(2.0), 1e5, loss=margin_loss(1.0), two_sided=False, measured=True).value
    assert (found.margin, found.ramp) == (2.0, 0.0)
    assert found.error == found.gap == pytest.approx(gap)
    assert not found.vacuous


def test_a_few_small_margins_are_given_up():
    """One margin in 200 is .01: γ = 1 with their ramp loss promises less error than γ = .01 without any."""
    margins = np.where(np.arange(10**5) % 200, 1.0, 0.01)
    found = margin_bound(layer(1.0), margins, 0.01)
    assert found.margin == 1.0
    assert found.ramp == pytest.approx(0.99 / 200)
    assert found.error == pytest.approx(found.ramp + found.gap)
    for share in SHARES:
        gamma = float(np.quantile(margins, share))
        gap = guarantee(PRODUCT_LISTS, layer(1 / gamma), 1e5, loss=margin_loss(1.0), two_sided=False, measured=True)
        assert found.error <= float(np.clip(1 - margins / gamma, 0, 1).mean()) + gap.value + 1e-12


def test_without_margins_there_is_no_promise():
    """A layer that errs on more than a tenth of its training set gets none; on less it gets one."""
    assert margin_bound(layer(1.0), np.full(100, -1.0), 0.01) is None
    for wrong, some in [(9, True), (11, False)]:
        margins = np.where(np.arange(100) < wrong, -1.0, 1.0)
        assert (margin_bound(layer(1.0), margins, 0.01) is not None) is some


def test_without_a_path_norm_there_is_no_promise():
    """The promise divides P_∞ by a margin: norms that have none, of a LayerNorm after attention, say, get no promise.

    So do normalisers other than softmax; the same norms with both get one.
    """
    norms, margins = layer(1.0), np.full(10**5, 1.0)
    assert margin_bound(norms, margins, 0.01) is not None
    assert margin_bound(replace(norms, path_inf=None), margins, 0.01) is None
    other = replace(norms, normaliser="sparsemax", normaliser_constant=None)
    assert margin_bound(other, margins, 0.01) is None


def test_the_promise_is_rounded_outwards_and_says_when_it_is_vacuous():
    """Error, ramp loss and gap are rounded up, the margin down."""
    few = margin_bound(layer(4.0), np.full(30, 1.23456), 0.01)
    assert few.vacuous
    assert "VACUOUS" in few.sentence
    assert "γ = 1.23," in few.sentence
    many = margin_bound(layer(4.0), np.full(10**6, 1.23456), 0.01)
    assert "VACUOUS" not in many.sentence
    shown = float(many.sentence.split("error on new inputs ≤ ")[1].split()[0])
    assert many.error <= shown < many.error * 1.02
