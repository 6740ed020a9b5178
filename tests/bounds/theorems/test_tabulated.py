"""Theorem T: a head with a fixed query, its price for content, its floor, and the joined claim."""

from dataclasses import replace
from itertools import product
from math import exp, floor, fsum, log, sqrt, tanh

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.bounds import LISTS, PATH, PRODUCT_LISTS, TABULATED, guarantee, tabulated_profile
from keyhole.bounds.construction_norms import pair_construction
from keyhole.bounds.theorems.tabulated import (
    contraction_price,
    log_one_position_functions,
    one_position_rate,
    series_price,
    spread_price,
    tabulated_complexity,
)
from keyhole.errors import AssumptionError

SPREADS = (0.0, 0.5, 1.0, 2.0, 4.0, 6.0)


def test_vectors_of_the_price():
    """Φ_a, Φ_b and their crossing, to the last digit."""
    by_contraction = (1, 3.4357, 6.6338, 20.3005, 157.9003, 1174.470)
    by_series = (1, 1.8557, 3.5456, 13.9589, 257.06, 5090.0)
    digits = (4, 4, 4, 4, 4, 3)
    assert tuple(map(round, map(contraction_price, SPREADS), digits)) == by_contraction
    assert tuple(map(round, map(series_price, SPREADS), (4, 4, 4, 4, 2, 1))) == by_series
    assert series_price(2.93935) < contraction_price(2.93935)
    assert series_price(2.93937) > contraction_price(2.93937)


@given(st.floats(0, 9))
def test_the_series_is_summed_to_its_end(R):
    """Φ_b against a plain sum of so many terms that the rest is below rounding."""
    x, total = np.tanh(R / 2), 0.0
    k = np.arange(int(40 / max(1e-9, 1 - x)) + 50)
    total = float((x**k * np.sqrt(k + 1)).sum())
    assert series_price(R) == pytest.approx(2 / (1 + exp(-R)) * total, rel=1e-9)


@given(st.floats(0, 20), st.floats(1e-4, 1))
def test_the_price_is_at_least_one_and_capped(R, rate):
    """1 ≤ Φ (unless the cap is lower) ≤ 2.9143 e^R, and Φ r_m ≤ 1."""
    price = spread_price(R, rate)
    assert min(1.0, 1 / rate) <= price <= 2.9143 * exp(R)
    assert price * rate <= 1 + 1e-12
    assert contraction_price(R) * exp(-R) <= (1 + sqrt(0.5)) ** 2 < 2.9143


def test_vectors_of_the_rate_and_the_bound():
    """r_m at m = 10⁵ and (T1) for a conjunction of three with the factor 2, to the last digit."""
    rates = [one_position_rate(T, 100_000) for T in (100, 1000, 10_000)]
    assert [round(r, 7) for r in rates] == [0.0103037, 0.0123304, 0.0140738]
    values = [
        tabulated_complexity(replace(pair_construction("and", T, 3), readout_nonnegative=False), 100_000).value
        for T in (100, 1000, 10_000)
    ]
    assert [round(v, 7) for v in values] == [0.0824293, 0.0986430, 0.1125904]


def test_path_norms_of_the_constructions():
    """P_∞: conjunction 4, ±1 conjunction 10, any ±1 table 32, parity 46, at s = 3, γ = ½, free of T."""
    for T in (10, 1000):
        found = [pair_construction(t, T, 3).path_inf for t in ("and", "signed-and", "junta", "parity")]
        assert found == pytest.approx([4, 10, 32, 46])


@pytest.mark.slow
@pytest.mark.parametrize(("T", "m", "published"), [(10, 20, 0.401), (100, 50, 0.381), (1000, 200, 0.239)])
def test_blind_scores_against_the_exact_supremum(T, m, published):
    """R = 0: the supremum over the class is a maximum over N_A functions; its mean is below r_m.

    The theory's figure is a mean over random samples too; 300 draws of a maximum with standard deviation
    below 0.1 have a standard error below 0.006, and three of them are allowed on each side.
    """
    rng = np.random.default_rng(2)
    found = []
    for _ in range(300):
        bits = rng.integers(0, 2, size=(m, T))
        signs = rng.choice([-1.0, 1.0], size=m)
        # e(b_t) with values ±1: the two constants, and ±(2b_t − 1)
        found.append(max(abs(signs.sum()), np.abs(signs @ (2 * bits - 1)).max()) / m)
    assert np.mean(found) <= one_position_rate(T, m)
    assert np.mean(found) == pytest.approx(published, abs=0.02)


def best_head(bits, signs, R, rng, tries=60):
    """A large correlation of signs with one head n/z, by random restarts and greedy vertex flips."""
    m, T = bits.shape
    best = 0.0
    for _ in range(tries):
        share = rng.dirichlet(np.full(T, 0.3))
        factor = np.where(rng.random((T, 2)) < 0.5, np.exp(-R), 1.0)
        weight = share * np.take_along_axis(factor[None], bits[:, :, None], axis=2)[:, :, 0]
        mixture = weight / weight.sum(1, keepdims=True)
        # values enter linearly: the best v[t, a] is the sign of its coefficient
        per_symbol = [np.abs((signs[:, None] * mixture * (bits == a)).sum(0)) for a in (0, 1)]
        best = max(best, (per_symbol[0] + per_symbol[1]).sum() / m)
    return best


@pytest.mark.parametrize("R", [0.5, 1.0, 2.0])
def test_heads_that_read_the_symbol_stay_below_the_bound(R):
    """R > 0: the largest correlation found by search, averaged over samples, is below Φ(R) r_m."""
    rng = np.random.default_rng(3)
    T, m = 6, 2000
    rate = one_position_rate(T, m)
    found = [best_head(rng.integers(0, 2, size=(m, T)), rng.choice([-1.0, 1.0], size=m), R, rng) for _ in range(6)]
    assert np.mean(found) <= spread_price(R, rate) * rate


def test_a_small_class_exhaustively():
    """Two positions, four samples, all signs: the supremum over a fine grid of heads is below the bound."""
    bits = np.array(list(product((0, 1), repeat=2)))
    R, m = 1.0, 4
    heads = []
    for share in np.linspace(0, 1, 21):
        for factors in product((exp(-R), 1.0), repeat=4):
            factor = np.array(factors).reshape(2, 2)
            weight = np.array([share, 1 - share]) * factor[np.arange(2), bits]
            mixture = weight / weight.sum(1, keepdims=True)
            heads += [
                (mixture * np.array(v).reshape(2, 2)[np.arange(2), bits]).sum(1) for v in product((-1, 1), repeat=4)
            ]
    signs = np.array(list(product((-1, 1), repeat=m)))
    simulated = (signs @ np.array(heads).T / m).max(axis=1).mean()
    rate = one_position_rate(2, m)
    assert simulated <= spread_price(R, rate) * rate


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_sampled_heads_cover(seed, R):
    """Lemma K: some draw of K positions, vertices of the right means, is within ε of the head at all points."""
    rng = np.random.default_rng(seed)
    T, m, accuracy = 6, 8, 0.7
    bits = rng.integers(0, 2, size=(m, T))
    share, v = rng.dirichlet(np.ones(T)), rng.uniform(-1, 1, (T, 2))
    r = rng.uniform(exp(-R), 1, (T, 2))
    r[np.arange(T), rng.integers(0, 2, T)] = 1.0
    weight = share * r[np.arange(T), bits]
    head = (weight * v[np.arange(T), bits]).sum(1) / weight.sum(1)
    K = floor(10 * exp(R) * log(3 * m) / accuracy**2) + 1
    size = 11 * exp(R) * log(3 * m) * log(16 * T) / accuracy**2
    assert K * log(16 * T) <= size * (1 + 1 / K)  # 11 pays for the rounding of 10
    low = exp(-R)
    for _ in range(20):
        t = rng.choice(T, size=K, p=share)
        chance = (r[t] - low) / (1 - low) if R > 1e-9 else np.ones((K, 2))
        rounded = np.where(rng.random((K, 2)) < chance, 1.0, low)
        answers = np.where(rng.random((K, 2)) < (1 + v[t]) / 2, 1.0, -1.0)
        seen = bits[:, t]
        mass = rounded[np.arange(K), seen]
        error = np.abs((mass * answers[np.arange(K), seen]).sum(1) / mass.sum(1) - head).max()
        if error <= accuracy:
            return
    pytest.fail("twenty draws, none within the accuracy")


def test_growth_is_exactly_the_root_of_log_t():
    """At fixed P_∞ and R = 0, R_m/√ln(2T+2) does not depend on T; nothing depends on dimensions."""
    ratios = [
        tabulated_complexity(pair_construction("and", T, 3), 1e6).value / sqrt(log(2 * T + 2))
        for T in (10, 10**3, 10**6, 10**9)
    ]
    assert ratios == pytest.approx([ratios[0]] * 4, rel=1e-12)


@pytest.mark.parametrize(("symbols", "functions"), [(1, 2), (2, 202), (3, 602), (4, 1402)])
def test_one_position_functions(symbols, functions):
    """(2^A − 2)T + 2 at T = 100."""
    assert log_one_position_functions(100, symbols) == log(functions)


@pytest.mark.parametrize("symbols", [64, 65, 66, 1000, 5000])
def test_large_alphabets_are_counted_too(symbols):
    """A vocabulary has more subsets than a float holds; their logarithm is that of the exact whole number."""
    assert log_one_position_functions(512, symbols) == pytest.approx(log((2**symbols - 2) * 512 + 2), rel=1e-15)
    assert log_one_position_functions(512, 10**9) == pytest.approx(10**9 * log(2) + log(512), rel=1e-15)


def test_nonnegative_readouts_drop_the_factor_two():
    """The 2 for signed weights is dropped when every read-out weight is ≥ 0; L_σ and P_∞ multiply."""
    profile = replace(pair_construction("and", 100, 3), activation_lipschitz=1.5, path_inf=3.0)
    rate = one_position_rate(100, 1e6)
    assert tabulated_complexity(profile, 1e6).value == pytest.approx(4.5 * rate)
    signed = replace(profile, readout_nonnegative=False)
    assert tabulated_complexity(signed, 1e6).value == pytest.approx(9 * rate)
    spread = replace(signed, spread=1.0)
    assert tabulated_complexity(spread, 1e6).value == pytest.approx(9 * rate * series_price(1.0))
    assert tabulated_complexity(replace(signed, spread=2000.0), 100).value == pytest.approx(9.0)  # the cap


@pytest.mark.parametrize("route", [TABULATED, LISTS, PRODUCT_LISTS, PATH])
def test_layers_without_units_pay_nothing_for_signs(route):
    """κ = 1 without units or with odd ones, measured norms too; with others it is 2, whatever signs training found."""
    profile = replace(pair_construction("parity", 100, 3), least_probability=0.5)
    plain = replace(profile, odd_units=True)
    assert route.complexity(profile, 1e6).value == pytest.approx(2 * route.complexity(plain, 1e6).value)
    lucky = replace(profile, readout_nonnegative=True)
    signed, unseen, free = (
        guarantee(route, one, 1e6, measured=True).derivation.parts[0].value for one in (profile, lucky, plain)
    )
    assert signed == unseen == pytest.approx(2 * free)


def test_one_sample_attains_the_bound_without_units():
    """On one sample a layer without units can be ±P_∞ as the sign wants, so R_1 = P_∞: no smaller κ than 1 holds."""
    for route in (TABULATED, LISTS, PRODUCT_LISTS):
        profile = tabulated_profile(path_inf=3.0, context=10, spread=1.0, least_probability=0.5, odd_units=True)
        assert route.complexity(profile, 1).value == pytest.approx(3.0)


def test_refusals():
    """Missing tables, another normaliser, no token but the constant ones."""
    profile = pair_construction("and", 100, 3)
    with pytest.raises(AssumptionError, match="has no path_inf and spread"):
        tabulated_complexity(replace(profile, path_inf=None, spread=None), 10)
    with pytest.raises(AssumptionError, match="this profile has sparsemax"):
        tabulated_complexity(replace(profile, normaliser="sparsemax"), 10)
    with pytest.raises(AssumptionError, match="\\[CLS\\] included"):
        tabulated_complexity(replace(profile, tokens=1), 10)


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0, 3.0])
def test_the_series_of_phi_b_is_not_cut_short(spread):
    """The price is at least the sum of 20,000 terms, added exactly: the tail that is not summed is paid for."""
    x = tanh(spread / 2)
    summed = 2 / (1 + exp(-spread)) * fsum(x**k * sqrt(k + 1) for k in range(20_000))
    assert summed <= series_price(spread) == pytest.approx(summed)
