"""When rounds may end, and by how much intervals are widened: the numbers that were chosen by simulation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.sweeps.thresholds.psychometric import USUAL, WidthPrior
from keyhole.sweeps.thresholds.threshold import enough_runs, widening

spreads = st.floats(0.1, 0.99)


def test_where_nothing_tells_the_width():
    """Sixty runs at least; twice as wide then, 1.25 times at 120, and not at all below, where the budget ended it."""
    assert enough_runs(USUAL) == 60
    assert [widening(USUAL, runs) for runs in (59, 60, 120)] == [1, 2, 1.25]


def test_where_other_contexts_tell_it():
    """By 30 times the square of the spread, over the runs; from 36 runs on, and later where less is told."""
    assert widening(WidthPrior(0.2, 0.4), 80) == pytest.approx(1.06)
    assert widening(WidthPrior(0.2, 0.6), 36) == pytest.approx(1.3)
    assert [enough_runs(WidthPrior(0.2, spread)) for spread in (0.3, 0.6, 0.8, 1.2)] == [36, 36, 48, 60]


@given(st.floats(0.05, 1.0), spreads, spreads, st.integers(36, 400))
def test_less_known_is_widened_more(usual, one, other, runs):
    """The more the width may differ the wider, whatever it is; more runs are widened less; never narrower."""
    first, second = (widening(WidthPrior(usual, spread), runs) for spread in sorted((one, other)))
    assert 1 < first <= second
    assert widening(WidthPrior(usual, one), runs + 1) < widening(WidthPrior(usual, one), runs)
