"""A line below κ times the spread stays below it for every κ that its ball allows."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keyhole.prover.proof.after_attention import Norm
from keyhole.prover.proof.relaxation import Box, spread_below
from keyhole.rigorous.enclosures import Ball, exact

from helpers.exact_models import rational


@given(st.integers(0, 10**6), st.floats(-3, 3), st.floats(0, 0.5))
def test_below_for_every_kappa(seed, kappa, radius):
    """At both ends and the middle of κ's ball, the line is below κ · √(variance + ε) at random points of the box."""
    rng = np.random.default_rng(seed)
    norm = Norm(np.ones(4), np.zeros(4), 1e-3)

    def centred(count):
        rows = rng.normal(size=(count, 4))
        return rows - rows.mean(axis=1, keepdims=True)

    def spread(rows):
        return np.sqrt((rows**2).mean(axis=1) + norm.eps)

    points, start = centred(40), centred(1)
    low, high = points.min(axis=0)[None], points.max(axis=0)[None]
    box = Box(low, high, spread(points).min()[None], spread(points).max()[None])
    coefficient, constant = spread_below(norm, Ball(np.array([kappa]), np.array([radius])), box, start, spread(start))
    line = points @ coefficient.mid[0] + constant.mid[0] - constant.rad[0] - np.abs(points) @ coefficient.rad[0]
    for share in (-1, 0, 1):
        true = (kappa + share * radius) * spread(points)
        assert (line <= true + 1e-12 * (1 + np.abs(true))).all()  # the rounding of this test's own sums


@given(st.integers(0, 10**6), st.sampled_from([5e-324, 1e-322, 1e-320, 1e-300]), st.integers(-600, -500))
def test_below_where_squares_underflow(seed, eps, exponent):
    """A tangent is no longer than one for an ε and rows whose squares underflow: d‖t‖² + t₀²/ε ≤ 1, in fractions."""
    rng = np.random.default_rng(seed)
    rows = np.ldexp(rng.normal(size=(1, 4)), exponent)
    norm, spread = Norm(np.ones(4), np.zeros(4), eps), np.sqrt([eps + 4.0**exponent])
    box = Box(-np.abs(rows), np.abs(rows), spread, spread)
    tangent, constant = spread_below(norm, exact(np.ones(1)), box, rows, spread)
    square = 4 * sum(x * x for x in rational(tangent.mid[0])) + rational(constant.mid)[0] ** 2 / Fraction(eps)
    assert square <= 1
