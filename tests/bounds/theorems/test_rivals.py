"""Rivals: published numbers as they are recalled, PAC-Bayes, description lengths, covers of parameters."""

from dataclasses import replace
from math import exp, log, log2, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds.construction_norms import hypothetical, matrix, pair_construction
from keyhole.bounds.covers.chaining import chained, chained_sizes, dudley
from keyhole.bounds.covers.linear import scalar_cover
from keyhole.bounds.finite.pac_bayes import best_catoni, catoni, description_gap, lotfi, mcallester
from keyhole.bounds.theorems.published_shapes import (
    deep_shape,
    head_shape,
    risk_shape,
    scalar_shape,
    zhang_log_size,
)
from keyhole.bounds.theorems.rivals import counted_log_size, length_free_cover, loosened, parameters, rivals
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


def test_vectors_of_the_shapes():
    """R4 with ‖M‖₂₁ = 8 is 2008.238223; R5 adds a summand and ‖w‖²; R6 written out; R1 written out."""
    head = PROFILE.blocks[0].heads[0]
    summed = replace(head, score=replace(head.score, columns21=8.0))
    assert round(head_shape(summed, PROFILE, 1000), 6) == 2008.238223
    profile = replace(PROFILE, blocks=(replace(PROFILE.blocks[0], heads=(summed,)),))
    assert scalar_shape(profile, 1000) == pytest.approx(9 * (2 ** (2 / 3) + 8 ** (2 / 3) + 1) ** 3 * log(1000 * 100))
    assert deep_shape(profile, 1000) == pytest.approx(5 * (3 * 8) ** 2 * log(16 * 1000 * 100))
    assert risk_shape(1.0, 1e4, 0.01) == pytest.approx(0.01 * (1 + log(100)) + sqrt(log(100) / 1e4))


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


def test_the_loosened_profile():
    """c_N doubled, the (2,1) norm of either orientation for Frobenius, no fixed query."""
    profile = pair_construction("and", 50, 3)
    for orientation, name in (("columns", "columns21"), ("rows", "rows21")):
        loose = loosened(profile, orientation)
        head = loose.blocks[0].heads[0]
        assert head.score.frobenius == getattr(profile.blocks[0].heads[0].score, name)
        assert head.query is None
        assert loose.normaliser_constant == 2.0


def test_pac_bayes_in_numbers():
    """McAllester, Catoni, description length and Lotfi's form, each written out once."""
    assert mcallester(10, 1000, 0.05) == pytest.approx(sqrt((10 + log(2 * sqrt(1000) / 0.05)) / 2000))
    expected = (1 - exp(-2 * 0.1 - (10 + log(20)) / 1000)) / (1 - exp(-2))
    assert catoni(10, 1000, 0.05, 0.1, 2.0) == pytest.approx(expected)
    assert description_gap(100, 1000, 0.05, 2.0) == pytest.approx(2 * sqrt((100 * log(2) + log(20)) / 2000))
    nats = 100 * log(2) + 2 * log(100) + log(20)
    assert lotfi(100, 1000, 0.05) == pytest.approx(sqrt(nats / 2000))
    wide = log2(1 + 0.8 * 50 / 0.2)
    assert lotfi(100, 1000, 0.05, vocabulary=50, smoothing=0.2) == pytest.approx(wide * sqrt(nats / 2000))
    each = [catoni(10, 1000, 0.05 / 13, 0.1, 2.0**i) for i in range(-6, 7)]
    assert best_catoni(10, 1000, 0.05, 0.1) == pytest.approx(min(each))


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
    with pytest.raises(AssumptionError, match="below 1"):
        lotfi(10, 100, 0.1, vocabulary=5, smoothing=1.0)
    with pytest.raises(AssumptionError, match="β must be above 0"):
        catoni(1.0, 100, 0.1, 0.0, 0.0)
    with pytest.raises(AssumptionError, match="hardmax is not"):
        counted_log_size(replace(PROFILE, normaliser="hardmax", normaliser_constant=None), 0.1)
    with pytest.raises(AssumptionError, match="at least one layer"):
        deep_shape(replace(PROFILE, blocks=()), 10)
    assert matrix(2, 2, spectral=1.0, frobenius=1.0, columns21=1.0).entries11 == pytest.approx(sqrt(2))
