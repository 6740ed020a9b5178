"""Theorem T slot by slot: each slot's gap is the theorem's own, at its share of δ."""

from math import log, sqrt

import pytest

from keyhole.bounds.theorems.circuits import slot_gaps
from keyhole.norm_profile import BlockNorms, NormProfile


def slot(tokens, path_inf):
    """A profile as tables give it: P_∞, no spread."""
    return NormProfile(
        blocks=(BlockNorms((), biased=True),),
        tokens=tokens,
        readout=0.0,
        token_radius=0.0,
        query_radius=0.0,
        path_inf=path_inf,
        spread=0.0,
    )


def test_the_closed_form_of_every_slot():
    """2 (2 P_∞ √(2 ln(2(T + g) + 2)/m))/γ + √(ln(n/δ)/(2m)); the alphabet has two symbols."""
    gaps = slot_gaps([slot(101, 13.0), slot(102, 25.0), slot(103, 25.0)], 1e6, margin=0.5, delta=0.03)
    for gap, context, path in zip(gaps, (100, 101, 102), (13.0, 25.0, 25.0), strict=True):
        complexity = 2 * path * sqrt(2 * log(2 * context + 2) / 1e6)
        assert gap == pytest.approx(2 * complexity / 0.5 + sqrt(log(3 / 0.03) / 2e6), rel=1e-12)
