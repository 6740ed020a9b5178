"""Rivals: published numbers as they are recalled, PAC-Bayes, description lengths, covers of parameters."""

from dataclasses import replace
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import rel_entr
from scipy.stats import binom

from keyhole.attention.weights import matrix_norms
from keyhole.bounds.construction_norms import hypothetical, matrix, pair_construction
from keyhole.bounds.covers.chaining import chained, chained_sizes, dudley
from keyhole.bounds.covers.heads import scalar_model_cover
from keyhole.bounds.covers.linear import scalar_cover
from keyhole.bounds.finite.pac_bayes import best_catoni, catoni, description_gap, lotfi, mcallester
from keyhole.bounds.theorems.published_shapes import (
    deep_shape,
    head_shape,
    risk_shape,
    scalar_shape,
    zhang_log_size,
)
from keyhole.bounds.theorems.rival_bounds import counted_log_size, length_free_cover, loosened, parameters, rivals
from keyhole.errors import AssumptionError

PROFILE = hypothetical(tokens=100, value21=2.0, value=1.0, score=5.0, width=4, readout=3.0)


@pytest.mark.parametrize(
    ("case", "value"),
    [((1, 1, 4, 0.45), 797.979799), ((2, 1, 100, 0.5), 4716.844913), ((3, 1, 1000, 0.1), 401919.654)],
)
def test_vectors_of_the_classical_cover(case, value):
    """R3 in nats to the last digit, and 56 to 74 times Lemma A."""
    digits = len(str(value).split(".")[1])
    assert round(zhang_log_size(*case), digits) == value
    assert 56 <= round(value / (scalar_cover(*case[:3]).capacity / case[3] ** 2)) <= 74


def least_over_splits(scales):
    """Min Σ (A_i/ε_i)² over errors ε_i > 0 that add to 1: the cost of covers whose errors add, found by search."""

    def cost(logits):
        share = np.exp(np.append(logits, 0.0) - np.max(np.append(logits, 0.0)))
        return float(((np.array(scales) * share.sum() / share) ** 2).sum())

    return minimize(cost, np.zeros(len(scales) - 1), method="BFGS", options={"gtol": 1e-9}).fun


SUMMED = replace(
    PROFILE.blocks[0].heads[0], score=replace(PROFILE.blocks[0].heads[0].score, columns21=8.0)
)  # ‖W_V‖₂₁ = 2, ‖M‖₂₁ = 8, spectral norms 1 and 5
SUMMED_PROFILE = replace(PROFILE, blocks=(replace(PROFILE.blocks[0], heads=(SUMMED,)),))


def test_vectors_of_the_shapes():
    """R4 with ‖M‖₂₁ = 8 is 2008.238223, the cost of values 2 and scores 8 at the best split of the error."""
    assert round(head_shape(SUMMED, PROFILE, 1000), 6) == 2008.238223
    assert head_shape(SUMMED, PROFILE, 1000) == pytest.approx(least_over_splits([2, 8]) * log(1e5), rel=1e-6)


def test_the_scalar_shape_is_the_best_split_of_its_parts():
    """R5: values 2, scores 8 and read-out 1 share the error; ‖w‖ = 3 scales it; a second head shares it too."""
    found = least_over_splits([3 * 2, 3 * 8, 3 * 1]) * log(1e5)
    assert scalar_shape(SUMMED_PROFILE, 1000) == pytest.approx(found, rel=1e-6)
    two = replace(PROFILE, blocks=(replace(PROFILE.blocks[0], heads=(SUMMED, PROFILE.blocks[0].heads[0])),))
    found = least_over_splits([6, 24, 3, 6, 15, 3]) * log(1e5)
    assert scalar_shape(two, 1000) == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize(("capacity", "m", "lipschitz", "bound"), [(1.0, 1e4, 1.0, 1.0), (7.0, 500, 2.0, 3.0)])
def test_the_risk_shape_is_an_entropy_integral_and_a_tail(capacity, m, lipschitz, bound):
    """R1: the integral of √(C/m)/ε from √(C/m) to the bound, that scale itself, and a tail e^{−m t²/A²} = δ."""
    scale, delta = sqrt(capacity / m), 0.01
    integral, _ = quad(lambda accuracy: scale / accuracy, scale, bound)
    tail = brentq(lambda t: exp(-m * (t / bound) ** 2) - delta, 0, 10)
    found = risk_shape(capacity, m, delta, lipschitz, bound)
    assert found == pytest.approx(lipschitz * (integral + scale) + tail)


def test_the_deep_shape_scales_as_it_says():
    """R6: squared in ‖w‖, B_X and the largest (2,1) norm, C₂L more for each layer, and logarithmic in d m T."""
    shape = deep_shape(SUMMED_PROFILE, 1000)
    assert shape == pytest.approx(41142.3, abs=0.1)  # 5 · (3 · 8)² · ln(16 · 1000 · 100), by hand
    for name in ("readout", "token_radius"):
        tripled = replace(SUMMED_PROFILE, **{name: 3 * getattr(SUMMED_PROFILE, name)})
        assert deep_shape(tripled, 1000) == pytest.approx(9 * shape)
    steeper = replace(SUMMED_PROFILE, activation_lipschitz=2.0)
    for layers in (1, 2, 3):
        deep = replace(SUMMED_PROFILE, blocks=SUMMED_PROFILE.blocks * layers)
        assert deep_shape(deep, 1000) == pytest.approx(5 ** (layers - 1) * shape)
        assert deep_shape(replace(deep, activation_lipschitz=2.0), 1000) == pytest.approx(10**layers / 5 * shape)
    flatter = replace(SUMMED, score=replace(SUMMED.score, columns21=16.0))
    doubled = replace(steeper, activation_lipschitz=1.0, blocks=(replace(PROFILE.blocks[0], heads=(flatter,)),))
    assert deep_shape(doubled, 1000) == pytest.approx(4 * shape)
    rise = deep_shape(SUMMED_PROFILE, 7000) - shape
    assert rise == pytest.approx(deep_shape(replace(SUMMED_PROFILE, tokens=700), 1000) - shape)
    assert rise / shape == pytest.approx(0.136215, abs=1e-6)  # ln 7 / ln 1.6e6


def test_length_free_covers_have_no_t():
    """R10 and parameter counting are the same at every T; ours by Lemma B and E is not."""
    for build in (lambda p: length_free_cover(p, 1000).capacity, lambda p: counted_log_size(p, 0.1)):
        assert build(PROFILE) == build(replace(PROFILE, tokens=10**9))
    terms = {t.name: t for t in length_free_cover(PROFILE, 1000).terms}
    value, score = PROFILE.blocks[0].heads[0].value, PROFILE.blocks[0].heads[0].score
    assert terms["values"][2:5] == pytest.approx((3.0, sqrt(2) * value.entries11, log(2 * 64 + 1)))
    assert terms["scores"][2:5] == pytest.approx((3.0, sqrt(2) * score.entries11, log(2 * 256 + 1)))


def test_parameter_counting_in_numbers():
    """Three matrices, a third of the error each: read-out, values, scores."""
    head = PROFILE.blocks[0].heads[0]
    part = 0.1 / 3
    expected = 4 * log(1 + 2 * 3 / part) + 64 * log(1 + 2 * head.value.frobenius * 3 / part)
    expected += 256 * log(1 + 2 * 5 * 3 / part)
    assert counted_log_size(PROFILE, 0.1) == pytest.approx(expected)
    assert parameters(PROFILE) == 256 + 64 + 4
    assert chained_sizes(lambda e: counted_log_size(PROFILE, e), 1e6).value < 1


@given(st.integers(0, 2**32 - 1), st.floats(0.5, 2))
def test_parameter_counting_splits_an_error_that_adds_up(seed, accuracy):
    """Weights moved by their parts of the error move the model by at most the whole of it."""
    rng = np.random.default_rng(seed)
    T, d, k = 4, 3, 2
    X = rng.normal(size=(T, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    q, W, v = rng.normal(size=d), rng.normal(size=(d, k)), rng.normal(size=k)
    spectral, readout = np.linalg.norm(W, 2), np.linalg.norm(v)

    def model(q, W, v):
        mass = np.exp(X @ q)
        hidden = np.maximum(W.T @ X.T @ (mass / mass.sum()), 0)
        # hidden vectors of cover elements are projected on the ball of the true ones
        return v @ (hidden * min(1, spectral / max(np.linalg.norm(hidden), 1e-12)))

    def moved(x, size):
        step = rng.normal(size=x.shape)
        return x + size * step / np.linalg.norm(step)

    part = accuracy / 3
    near = model(moved(q, part / (readout * spectral)), moved(W, part / readout), moved(v, part / spectral))
    assert abs(near - model(q, W, v)) <= accuracy + 1e-9


@pytest.mark.parametrize(("orientation", "axis"), [("columns", 0), ("rows", 1)])
def test_the_loosened_profile(orientation, axis):
    """The sum of ℓ2 norms of columns, or of rows, counted from the entries, stands where ‖M‖_F stood."""
    entries = np.random.default_rng(4).normal(size=(6, 6))
    profile = replace(PROFILE, blocks=(replace(PROFILE.blocks[0], heads=(measured_head(entries),)),))
    score = loosened(profile, orientation).blocks[0].heads[0].score
    assert score.frobenius == pytest.approx(np.sqrt((entries**2).sum(axis=axis)).sum())


def measured_head(entries):
    """The head of PROFILE with the norms of this score matrix, its query fixed."""
    return replace(PROFILE.blocks[0].heads[0], score=matrix_norms(entries), query=1.0)


def test_a_loosened_rank_one_score():
    """For M = q eᵀ with a unit e, ‖M‖₂₁ = ‖q‖₂ = 5 and ‖Mᵀ‖₂₁ = ‖q‖₁ = 7: the two differ, and both are shown."""
    entries = np.outer([3.0, -4.0], [1.0, 0.0])
    profile = replace(PROFILE, blocks=(replace(PROFILE.blocks[0], heads=(measured_head(entries),)),))
    assert loosened(profile, "columns").blocks[0].heads[0].score.frobenius == pytest.approx(5)
    assert loosened(profile, "rows").blocks[0].heads[0].score.frobenius == pytest.approx(7)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["columns", "rows"]))
def test_loosening_never_helps(seed, orientation):
    """With c_N doubled and a (2,1) norm for ‖M‖_F the capacity is that of logits at least doubled, never smaller."""
    rng = np.random.default_rng(seed)
    profile = replace(PROFILE, blocks=(replace(PROFILE.blocks[0], heads=(measured_head(rng.normal(size=(5, 5))),)),))
    free = replace(
        profile, blocks=(replace(profile.blocks[0], heads=(replace(profile.blocks[0].heads[0], query=None),)),)
    )
    head = free.blocks[0].heads[0]
    score = replace(head.score, frobenius=2 * head.score.frobenius)
    twice = replace(free, blocks=(replace(free.blocks[0], heads=(replace(head, score=score),)),))
    loose = scalar_model_cover(loosened(profile, orientation), 1000).capacity
    assert loose >= scalar_model_cover(twice, 1000).capacity * (1 - 1e-12)


def relative_entropy(p, q):
    """kl(p‖q) of two coins."""
    return float(rel_entr(p, q) + rel_entr(1 - p, 1 - q))


def kl_ceiling(error_rate, nats):
    """The largest R with kl(R̂‖R) ≤ nats, found by bisection."""
    return brentq(lambda risk: relative_entropy(error_rate, risk) - nats, error_rate, 1 - 1e-15, xtol=1e-15)


@pytest.mark.parametrize("m", [8, 30, 200, 1000])
def test_mcallester_rests_on_maurers_moment(m):
    """E e^{m kl(R̂‖R)}, summed over all outcomes, is below the moment the bound allows, which is at most 1.6 times it.

    The bound is Markov's inequality for that moment, then Pinsker's; 2√m over √(πm/2) is 1.596.
    """
    k = np.arange(m + 1)
    worst = 0.0
    for risk in np.linspace(0.05, 0.5, 10):
        exponent = binom.logpmf(k, m, risk) + m * (rel_entr(k / m, risk) + rel_entr(1 - k / m, 1 - risk))
        worst = max(worst, float(np.exp(exponent).sum()))
    allowed = exp(2 * m * mcallester(0, m, 0.05) ** 2) * 0.05
    assert worst <= allowed <= 1.6 * worst


@pytest.mark.parametrize(("divergence", "m", "delta"), [(10, 10**6, 0.05), (500, 10**7, 0.01)])
def test_mcallester_is_the_kl_bound_at_one_half(divergence, m, delta):
    """Pinsker is tight about ½: there the gap is that of kl(R̂‖R) ≤ (KL + ln ξ/δ)/m; elsewhere it is above."""
    at_none = mcallester(0, m, delta)
    nats = divergence / m + relative_entropy(0.5 - at_none / 2, 0.5 + at_none / 2)
    gap = mcallester(divergence, m, delta)
    assert gap == pytest.approx(kl_ceiling(0.5 - gap / 2, nats) - (0.5 - gap / 2), rel=1e-4)
    assert gap > kl_ceiling(0.1, nats) - 0.1


@pytest.mark.parametrize(
    ("divergence", "m", "delta", "error_rate"),
    [(10, 1000, 0.05, 0.1), (0, 50, 0.2, 0.0), (3, 400, 0.01, 0.4), (200, 1000, 0.01, 0.02)],
)
def test_the_best_temperature_gives_the_kl_bound(divergence, m, delta, error_rate):
    """Inf over β of Catoni's bound is the R with kl(R̂‖R) = (KL + ln 1/δ)/m; the grid comes near, never below."""

    def at(log_beta):
        return catoni(divergence, m, delta, error_rate, exp(log_beta))

    least = minimize_scalar(at, bounds=(-6, 6), method="bounded", options={"xatol": 1e-10}).fun
    if error_rate:
        assert least == pytest.approx(kl_ceiling(error_rate, (divergence + log(1 / delta)) / m), rel=1e-6)
    else:  # at R̂ = 0 the best β is infinite: (1 − R)^m = δ e^{−KL}
        assert at(6) == pytest.approx(1 - (delta * exp(-divergence)) ** (1 / m))
    floor = kl_ceiling(error_rate, (divergence + log(13 / delta)) / m)
    assert floor <= best_catoni(divergence, m, delta, error_rate) <= 1.05 * floor


@pytest.mark.parametrize("bits", [0, 3, 10])
def test_descriptions_keep_their_chance(bits):
    """2^K coins of error ½: that some training error lies a gap below it has a probability, exact, of at most δ.

    Hoeffding's tail for the gap, times 2^K, is δ; losses twice as wide have twice the gap.
    """
    m, delta = 400, 0.05
    gap = description_gap(bits, m, delta)
    one = binom.cdf(np.ceil(m * (0.5 - gap)) - 1, m, 0.5)
    assert delta / 20 <= 1 - (1 - one) ** (2**bits) <= delta
    assert gap == pytest.approx(brentq(lambda t: 2**bits * exp(-2 * m * t * t) - delta, 0, 1))
    assert description_gap(bits, m, delta, 2.0) == pytest.approx(2 * gap)


def test_a_code_that_is_not_prefix_free_pays_for_its_length():
    """Lotfi's form is a description of K + 2 log₂ K bits."""
    prefix_free = description_gap(100 + 2 * np.log2(100), 1000, 0.05)
    assert lotfi(100, 1000, 0.05) == pytest.approx(prefix_free)


def test_a_divergence_of_millions_never_gives_a_small_gap():
    """KL = 2.85·10⁶ and m = 1000, once printed as a gap of zero: far above one."""
    assert mcallester(2.85e6, 1000, 0.01) == pytest.approx(37.75, abs=0.01)
    assert catoni(2.85e6, 1000, 0.01) == 1.0


def test_mcallester_and_catoni_keep_their_chance():
    """Monte Carlo: 16 coins with error 0.3, uniform prior, the luckiest chosen: both fail with chance ≤ δ."""
    rng = np.random.default_rng(9)
    draws, m, delta = 2000, 50, 0.2
    rates = rng.binomial(m, 0.3, size=(draws, 16)).min(1) / m
    broken = np.mean([r + mcallester(log(16), m, delta) < 0.3 for r in rates])
    cold = np.mean([catoni(log(16), m, delta, float(r)) < 0.3 for r in rates])
    assert max(broken, cold) <= delta


def test_every_rival_has_a_number_for_a_plain_head():
    """One layer with all its norms: only the remark is without a number."""
    found = rivals(pair_construction("and", 100, 3), 1e11)
    assert [rival.key for rival in found if rival.value is None] == ["R7"]
    two = {rival.key: rival.value for rival in found if rival.quantity == "two-sided gap"}
    assert two["R8"] <= two["R8ᵀ"]
    assert all(rival.value >= 0 for rival in found if rival.value is not None)


def test_textbook_dudley_is_never_better_than_our_chain():
    """R9 ≥ Theorem G on the same C."""
    for ratio in (1e-2, 1e-4, 1e-6, 1e-9):
        assert chained(ratio, 1).value <= dudley(ratio, 1)


def test_refusals():
    """Too few samples, no description, a share above one, a normaliser without a constant, no layer."""
    with pytest.raises(AssumptionError, match="m ≥ 8"):
        mcallester(1.0, 7, 0.1)
    with pytest.raises(AssumptionError, match="at least one bit"):
        lotfi(0, 100, 0.1)
    with pytest.raises(AssumptionError, match="β must be above 0"):
        catoni(1.0, 100, 0.1, 0.0, 0.0)
    with pytest.raises(AssumptionError, match="hardmax is not"):
        counted_log_size(replace(PROFILE, normaliser="hardmax", normaliser_constant=None), 0.1)
    with pytest.raises(AssumptionError, match="at least one layer"):
        deep_shape(replace(PROFILE, blocks=()), 10)
    assert matrix(2, 2, spectral=1.0, frobenius=1.0, columns21=1.0).entries11 == pytest.approx(sqrt(2))
