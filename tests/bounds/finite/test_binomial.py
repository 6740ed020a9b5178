"""Tails of the binomial, exactly."""

from decimal import Decimal, localcontext
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from keyhole.bounds.finite.binomial import clopper_pearson, error_ceiling, held_out_ceiling, log_lower_tail
from keyhole.errors import AssumptionError

counts = st.integers(1, 2000).flatmap(lambda m: st.tuples(st.integers(0, m), st.just(m)))


@given(counts, st.floats(1e-6, 1 - 1e-6))
def test_the_tail_agrees_with_the_oracle(count, p):
    """P(Bin(m, p) ≤ k) against scipy, above its smallest float; lgamma rounds 15,000 by about 1e-12."""
    k, m = count
    oracle = stats.binom.cdf(k, m, p)
    found = log_lower_tail(k, m, p)
    assert exp(found) == pytest.approx(oracle, rel=1e-8) if oracle > 1e-250 else found < -570


@given(counts, st.floats(1e-6, 0.5))
def test_the_interval_agrees_with_the_incomplete_beta(count, delta):
    """Clopper–Pearson ends are beta quantiles."""
    k, m = count
    low, high = clopper_pearson(k, m, delta)
    assert low == pytest.approx(stats.beta.ppf(delta / 2, k, m - k + 1) if k else 0.0, rel=1e-6, abs=1e-12)
    assert high == pytest.approx(stats.beta.ppf(1 - delta / 2, k + 1, m - k) if k < m else 1.0, rel=1e-6)


@given(counts, st.floats(0.01, 40))
def test_the_ceiling_is_where_the_tail_is_the_chance(count, nats):
    """The tail passes e^(−nats) at the ceiling, found to 1e-12, and k = 0 has a closed form."""
    k, m = count
    p = error_ceiling(k, m, nats)
    assert log_lower_tail(k, m, p - 1e-12) >= -nats - 1e-9
    assert k == m or log_lower_tail(k, m, p + 1e-12) <= -nats + 1e-9
    assert error_ceiling(0, m, nats) == pytest.approx(1 - exp(-nats / m))


def test_the_interval_covers():
    """Exact coverage at m = 30: for every p on a grid, the interval holds p with probability ≥ 1 − δ."""
    m, delta = 30, 0.1
    ends = [clopper_pearson(k, m, delta) for k in range(m + 1)]
    for p in [i / 200 for i in range(1, 200)]:
        held = sum(stats.binom.pmf(k, m, p) for k, (low, high) in enumerate(ends) if low <= p <= high)
        assert held >= 1 - delta - 1e-9


def test_the_held_out_yardstick():
    """No error on a held-out half of 500 gives .018 at δ = .01."""
    assert round(held_out_ceiling(0, 250, 0.01), 3) == 0.018
    assert held_out_ceiling(3, 250, 0.01) == pytest.approx(clopper_pearson(3, 250, 0.02)[1])
    assert held_out_ceiling(0, 10, 0.01) == pytest.approx(1 - exp(log(0.01) / 10))


def test_refusals():
    """More errors than trials, no trials, a chance outside its range."""
    with pytest.raises(AssumptionError, match="5 errors in 4 trials"):
        error_ceiling(5, 4, 1.0)
    with pytest.raises(AssumptionError, match="number of trials must be a whole number ≥ 1"):
        error_ceiling(0, 0, 1.0)
    with pytest.raises(AssumptionError, match="0 < δ < 1"):
        clopper_pearson(1, 4, 0.0)
    with pytest.raises(AssumptionError, match="nats ≥ 0"):
        error_ceiling(1, 4, float("nan"))


@pytest.mark.parametrize(("m", "nats"), [(1, 30.0), (1, 1.0), (3, 40.0), (200, 25.14), (10**6, 1e-9)])
def test_the_ceiling_of_no_error_is_rounded_upwards(m, nats):
    """m ln(1 − p) is −nats or less at the ceiling of 0 errors, in 60 digits, and hardly less."""
    with localcontext() as context:
        context.prec = 60
        tail = (
            m * (1 - Decimal(error_ceiling(0, m, nats))).ln() if error_ceiling(0, m, nats) < 1 else Decimal("-Infinity")
        )
        assert tail <= -Decimal(nats)
    assert error_ceiling(0, m, nats) == pytest.approx(1 - exp(-nats / m), rel=1e-6)
