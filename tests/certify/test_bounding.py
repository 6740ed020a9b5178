"""Every lower bound is below the enumerated minimum, and each replacement on the way lowers what it replaces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.certify.bounding import bound
from keyhole.certify.relaxation import Box, supported
from keyhole.certify.tables import outputs, split, tables_of
from keyhole.certify.tail import Norm, tail_of, trace
from planted_juntas import FEW, LOUD, answers, least_heights, plans, planted
from random_models import Plan

loudness = st.sampled_from([0.0, 3.0, LOUD])


@settings(max_examples=FEW)
@given(plans, loudness, st.integers(0, 3))
def test_bounds_are_below_the_minimum(plan, loud, count):
    """Sign·f of every input of a cell is at least the cell's bound, and attained at the worst point's own value."""
    positions = tuple(range(min(count, plan.tokens)))
    model = planted(plan, positions, loud)
    _, f, cells, junta = answers(model, positions)
    tables, tail = tables_of(model, positions), tail_of(model)
    signs = np.where(junta.table, 1.0, -1.0)
    found = bound(tables, tail, split(tables, junta.cells(), positions), signs)
    lowest = least_heights(f, cells, junta)
    rounding = 1e-9 * (1 + np.abs(f).max())  # of the enumeration itself, in double precision through three norms
    assert (found.low <= lowest + rounding).all()
    assert (signs * found.output.mid >= lowest - rounding).all()
    assert np.array_equal(found.output.mid, trace(tail, outputs(tables, found.worst)).output.mid)


@pytest.mark.parametrize("seed", range(20))
def test_a_skipped_norm_takes_the_worse_end(seed):
    """Where the stream skips a norm that only the units see, its spread may be at either end of its range."""
    plan = Plan(seed=seed, tokens=5, heads=1, placement="pre", residual="each", norms=True)
    model = planted(plan, (), 0.0)
    _, f, _, junta = answers(model, ())
    tables = tables_of(model, ())
    for sign in (1.0, -1.0):
        low = bound(tables, tail_of(model), split(tables, junta.cells(), ()), np.array([sign])).low
        assert low[0] <= (sign * f).min() + 1e-9


@settings(max_examples=FEW)
@given(plans)
def test_one_completion_is_bounded_tightly(plan):
    """Where nothing is free the bound is f up to 1e-6 of the largest f: no replacement costs anything there."""
    positions = tuple(range(plan.tokens))
    model = planted(plan, positions)
    _, f, cells, junta = answers(model, positions)
    tables, tail = tables_of(model, positions), tail_of(model)
    found = bound(tables, tail, split(tables, junta.cells(), positions), np.where(junta.table, 1.0, -1.0))
    # tangents are shortened by 2^−36, and the quadratic is exact where the spread is known to rounding
    assert (least_heights(f, cells, junta) - found.low <= 1e-6 * (1 + np.abs(f).max())).all()


@given(st.integers(0, 10**6), st.floats(-3, 3), st.sampled_from([1e-5, 0.3]))
def test_a_spread_is_between_its_lines(seed, kappa, eps):
    """κ·spread ≥ ⟨coefficient, x⟩ + constant for every x in the box, with equality at the given rows for κ ≥ 0."""
    rng = np.random.default_rng(seed)
    d = 5
    low = rng.normal(size=(1, d))
    high = low + rng.exponential(size=(1, d)) * rng.choice([0.0, 1.0], size=(1, d))
    norm = Norm(np.ones(d), np.zeros(d), eps)

    def spread(x):
        return np.sqrt((x * x).sum(axis=-1) / d + eps)

    rows = rng.uniform(low, high)
    box = Box(low, high, np.zeros(1), np.full(1, np.inf))
    coefficient, constant = supported(norm, np.array([kappa]), box, rows, spread(rows))
    inside = np.concatenate([rng.uniform(low, high, size=(200, d)), rows, low, high])
    lines = inside @ coefficient.low[0] if (coefficient.rad == 0).all() else inside @ coefficient.mid[0]
    assert (lines + constant.low[0] <= kappa * spread(inside) + 1e-9).all()  # the rounding of this comparison
    if kappa >= 0:
        assert rows[0] @ coefficient.mid[0] + constant.mid[0] == pytest.approx(kappa * spread(rows)[0], abs=1e-8)
    if kappa < 0 and (low == high).all():
        assert lines[-1] + constant.mid[0] == pytest.approx(kappa * spread(low)[0], abs=1e-8)
