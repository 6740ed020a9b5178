"""Number formats round as machines do, and running sums by stretches are running sums step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.compiler.precision.rounding import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, repeated_sum

ALL = [FLOAT16, BFLOAT16, FLOAT32, FLOAT64]
numbers = st.floats(-1e5, 1e5)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_is_numpys(number):
    """float16 and float32 round as numpy's conversions do, subnormal and too large numbers included."""
    for kind, dtype in ((FLOAT16, np.float16), (FLOAT32, np.float32), (FLOAT64, np.float64)):
        with np.errstate(over="ignore"):
            assert kind.round(np.array([number]))[0] == np.array([number]).astype(dtype)[0]


@given(st.floats(-1e30, 1e30), st.sampled_from(ALL))
def test_rounding_is_nearest(number, kind):
    """|fl(x) − x| ≤ u|x| for normal numbers; rounding again changes nothing; bfloat16 keeps 8 digits."""
    rounded = kind.round(np.array([number]))
    if kind.smallest <= abs(number) < 2.0 ** (kind.most - 1):
        assert abs(rounded[0] - number) <= kind.unit * abs(number)
    assert np.array_equal(kind.round(rounded), rounded)
    assert BFLOAT16.round(np.array([257.0]))[0] == 256.0


@given(numbers, st.floats(-300, 300), st.integers(0, 400), st.sampled_from(ALL))
def test_stretches_are_steps(start, term, times, kind):
    """Adding a term n times by stretches gives exactly what n rounded additions give."""
    begin, each = kind.round(np.array([start])), kind.round(np.array([term]))
    slow = begin.copy()
    for _ in range(times):
        slow = kind.round(slow + each)
    assert np.array_equal(repeated_sum(begin, each, times, kind), slow)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
def test_many_stretches_at_once(kind):
    """Sums and terms of all sizes and signs, three thousand additions, entry by entry."""
    rng = np.random.default_rng(7)
    begin, each = (kind.round(rng.normal(size=400) * 10.0 ** rng.integers(-4, 3, 400)) for _ in range(2))
    slow = begin.copy()
    for _ in range(3000):
        slow = kind.round(slow + each)
    assert np.array_equal(repeated_sum(begin, each, 3000, kind), slow)


def test_where_running_sums_stop():
    """A running sum of ones stops at 2048 in float16, at 256 in bfloat16 and at 2^24 in float32."""
    for kind, stop in ((FLOAT16, 2048), (BFLOAT16, 256), (FLOAT32, 2**24)):
        assert repeated_sum(np.zeros(1), np.ones(1), 10**9, kind)[0] == stop
    assert repeated_sum(np.zeros(1), np.ones(1), 10**9, FLOAT64)[0] == 10**9
