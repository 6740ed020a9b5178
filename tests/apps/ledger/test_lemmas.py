"""Lemmas that only the claims use: what they state, on small cases and by simulation."""

from itertools import combinations
from math import exp, floor, log, sqrt

import numpy as np
import pytest

from keyhole.apps.ledger.generalization.complexity import tabulated_floor
from keyhole.apps.ledger.generalization.floor import expected_rivals, first_moment_size
from keyhole.apps.ledger.representation.constructions import compiled_path_inf, joined_samples
from keyhole.bounds.theorems.tabulated import one_position_rate

# T and the first-moment size, of the theory's table
SIZES = [(10, 17), (30, 23), (100, 28), (200, 31), (300, 33), (400, 34), (800, 37), (1000, 38), (3000, 43), (10000, 48)]


@pytest.mark.parametrize(("T", "size"), SIZES)
def test_first_moment_sizes(T, size):
    """The theory's table."""
    assert first_moment_size(T) == size


@pytest.mark.parametrize("T", range(10, 60))
def test_the_first_moment_size_is_the_smallest(T):
    """At most half a rival is expected there, and more than half one sample earlier."""
    size = first_moment_size(T)
    assert expected_rivals(T, 3, size) <= 0.5 < expected_rivals(T, 3, size - 1)


@pytest.mark.parametrize(("T", "s"), [(5, 2), (6, 3)])
def test_expected_rivals_by_enumeration(T, s):
    """Every pair of ANDs, every input: the mean number of rivals that fit is the formula's."""
    p = 2 ** (-1 / s)
    inputs = (np.arange(2**T)[:, None] >> np.arange(T)) & 1
    mass = np.prod(np.where(inputs == 1, p, 1 - p), axis=1)
    target = inputs[:, :s].all(axis=1)
    agree = [mass @ (inputs[:, rival].all(axis=1) == target) for rival in combinations(range(T), s)]
    rivals = [share for share in agree if share < 1 - 1e-12]
    for m in (1, 4, 9):
        assert expected_rivals(T, s, m) == pytest.approx(sum(share**m for share in rivals), rel=1e-9)


@pytest.mark.parametrize("R", [0.0, 1.0, 2.0])
def test_the_floor_is_reached(R):
    """Proposition W: the construction's mean supremum is at least ½√(k/(2m)), and below the upper bound's cap."""
    rng = np.random.default_rng(4)
    k = 1 + floor(exp(R))
    each = 25
    m = k * each
    lone, rest = exp(R), k - 1  # the string with its 1 at t: one factor e^R against k − 1 ones
    u = lone / (lone + rest)
    assert u >= 0.5
    signs = rng.choice([-1.0, 1.0], size=(4000, k, each))
    supremum = (np.abs(signs.sum(2)) * u).sum(1) / m
    spread = supremum.std() / sqrt(4000)
    assert supremum.mean() >= tabulated_floor(R, m) - 3 * spread
    assert tabulated_floor(R, m) == pytest.approx(0.5 * sqrt(k / (2 * m)))


@pytest.mark.parametrize(("T", "m"), [(100, 4.5e6), (1000, 6.4e6), (10_000, 8.4e6)])
def test_the_joined_claim(T, m):
    """(T6) at ε = .1, δ = .01, γ = .01, s = 3, to the printed digit."""
    assert float(f"{joined_samples(T, 3, error=0.1, delta=0.01, leak=0.01):.2g}") == m


def test_the_joined_claim_is_rule_3_with_theorem_t():
    """At that sample size, 2·2P r_m + √(ln(1/δ)/(2m)) equals the error, and symmetric targets cost 4s²."""
    m = joined_samples(100, 4, error=0.07, delta=0.02, leak=0.25)
    gap = 4 * 16 * 3 / 0.75 * one_position_rate(100, m) + sqrt(log(50) / (2 * m))
    assert gap == pytest.approx(0.07)
    assert compiled_path_inf(4, 0.25, symmetric=True) == pytest.approx(64 / 0.75)
