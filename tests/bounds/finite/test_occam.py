"""Finite classes: Occam, by three roads."""

from itertools import combinations, product
from math import comb, exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.bounds.finite.occam import (
    certificate_nats,
    exact_error,
    junta_nats,
    samples_for_error,
)
from keyhole.errors import AssumptionError

# T, m for AND, m for 3-juntas, m with the sparsity chosen after the data, error bound at m = 200
TABLE = [
    (10, 93.9, 149.4, 174.2, 0.0871),
    (30, 129.1, 184.6, 209.4, 0.1047),
    (100, 166.0, 221.4, 246.3, 0.1231),
    (300, 199.1, 254.6, 279.4, 0.1397),
    (1000, 235.3, 290.8, 315.6, 0.1578),
    (3000, 268.3, 323.8, 348.6, 0.1743),
    (10000, 304.4, 359.9, 384.7, 0.1924),
]


@pytest.mark.parametrize(("T", "conjunction", "junta", "chosen", "error"), TABLE)
def test_theory_table(T, conjunction, junta, chosen, error):
    """Samples for error .1 at δ = .01 and the bound at m = 200, to the printed digit."""
    nats = junta_nats(T, 3) + log(12 / 0.01)
    assert round(log(comb(T, 3) / 0.01) / 0.1, 1) == conjunction
    assert round((junta_nats(T, 3) - log(0.01)) / 0.1, 1) == junta
    assert round(nats / 0.1, 1) == chosen
    assert round(nats / 200, 4) == error


@pytest.mark.parametrize(
    ("T", "nats", "sizes"),
    [
        (100, 25.14, (37, 113, 189, 239, 491)),
        (400, 29.32, (43, 132, 220, 279, 572)),
        (1000, 32.07, (47, 144, 241, 305, 626)),
    ],
)
def test_certificate_table(T, nats, sizes):
    """Nats and the samples for < .5, .2, .125, .1, .05 of a certificate, exactly."""
    found = certificate_nats(T, 3, 0.01)
    assert round(found, 2) == nats
    assert tuple(samples_for_error(found, e) for e in (0.5, 0.2, 0.125, 0.1, 0.05)) == sizes


def test_certificate_vectors():
    """Errors on the sample at T = 100, m = 200, and the 2-junta at T = 50."""
    nats = certificate_nats(100, 3, 0.01)
    assert [round(exact_error(nats, 200, k), 3) for k in (0, 2, 5)] == [0.118, 0.146, 0.178]
    assert round(certificate_nats(50, 2, 0.01), 2) == 16.97
    assert samples_for_error(certificate_nats(50, 2, 0.01), 0.1) == 162
    assert round(exact_error(nats, 500, 0), 3) == 0.049


@given(st.floats(0.1, 60), st.floats(0.001, 0.999))
def test_the_sample_size_is_the_smallest(nats, error):
    """At the returned m the bound is below the error, at m − 1 it is not."""
    m = samples_for_error(nats, error)
    assert 1 - exp(-nats / m) < error
    assert m == 1 or 1 - exp(-nats / (m - 1)) >= error * (1 - 1e-12)


@given(st.floats(0.1, 60), st.integers(1, 3000))
def test_exact_is_never_worse(nats, m):
    """Exact inversion is at most the linear form, and at most Hoeffding's."""
    assert exact_error(nats, m) <= nats / m + 1e-12
    for k in {0, m // 10, m // 2}:
        assert exact_error(nats, m, k) <= k / m + sqrt(nats / (2 * m)) + 1e-9


@pytest.mark.parametrize(("T", "s"), [(4, 1), (4, 2), (5, 3)])
def test_class_sizes_by_enumeration(T, s):
    """Pairs of positions and tables are counted as the classes say; distinct functions are no more."""
    inputs = list(product((0, 1), repeat=T))
    tables = {
        tuple(table[sum(b[i] << j for j, i in enumerate(chosen))] for b in inputs)
        for chosen in combinations(range(T), s)
        for table in product((0, 1), repeat=2**s)
    }
    assert log(len(tables)) <= junta_nats(T, s)


def test_the_bound_is_kept_by_chance():
    """Monotone ANDs of 2 of 6 bits: the worst that fits a sample rarely has an error above the bound."""
    rng = np.random.default_rng(5)
    pairs, m, delta, wrong = list(combinations(range(6), 2)), 12, 0.2, 0
    bound = exact_error(log(comb(6, 2) / delta), m)
    for _ in range(400):
        bits = rng.integers(0, 2, size=(m, 6)).astype(bool)
        fits = [p for p in pairs if (bits[:, p].all(1) == bits[:, (0, 1)].all(1)).all()]
        # two ANDs of two bits sharing j of them disagree with probability 2(1/4 − 2^(j−4))
        errors = [2 * (0.25 - 2.0 ** (len({0, 1} & set(p)) - 4)) for p in fits]
        wrong += max(errors) > bound
    assert wrong <= 400 * delta + 3 * (400 * delta * (1 - delta)) ** 0.5


def test_the_prior_sums_to_one():
    """The weights of the certificate's nats over sparsities telescope to one."""
    weights = [exp(junta_nats(10, s) - certificate_nats(10, s, 0.5)) / 0.5 for s in range(5)]
    assert sum(weights) == pytest.approx(1 - 1 / 6)


def test_refusals():
    """Sparsity above the context, δ outside its range, an error of one."""
    with pytest.raises(AssumptionError, match="context of at least 5"):
        junta_nats(4, 5)
    with pytest.raises(AssumptionError, match="0 < δ < 1"):
        certificate_nats(10, 2, 0)
    with pytest.raises(AssumptionError, match="below 1"):
        samples_for_error(1.0, 1.0)
