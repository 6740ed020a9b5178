"""Masked prediction in a finite model: its table, loss, slope and Fisher matrix, against independent computations."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.apps.pretrain.masked import (
    draw_table,
    excess_divergence,
    fisher_spectrum,
    masked_loss,
    parameters_of,
    population_table,
)
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel

SMALL = FiniteModel(np.array([[0.4, 0.1], [0.3, 0.15], [0.2, 0.3], [0.1, 0.45]]), np.array([0.6, 0.4]))


def test_the_table_is_the_law_of_context_and_block():
    """Summed over words, every pair has the table's probability, and the loss is the conditional entropy."""
    table = population_table(SMALL, 4, 2)
    found = dict(zip(map(tuple, np.concatenate([table.contexts, table.blocks], axis=1)), table.weights, strict=True))
    law: dict[tuple[float, ...], float] = {}
    entropy = 0.0
    for word in product(range(4), repeat=4):
        whole = float(SMALL.prior @ np.prod(SMALL.emission[list(word)], axis=0))
        part = float(SMALL.prior @ np.prod(SMALL.emission[list(word[:2])], axis=0))
        key = tuple(
            np.concatenate([np.bincount(word[:2], minlength=4), np.bincount(word[2:], minlength=4)]).astype(float)
        )
        law[key] = law.get(key, 0.0) + whole
        entropy -= whole * np.log(whole / part)
    assert law.keys() == found.keys()
    assert all(law[key] == pytest.approx(found[key], rel=1e-12) for key in law)
    assert masked_loss(parameters_of(SMALL), table, 2)[0] == pytest.approx(entropy, rel=1e-12)


@given(seed=st.integers(0, 10**6), block=st.integers(1, 3))
def test_the_slope_is_the_slope(seed, block):
    """The slope of the loss is its difference quotient, from any parameters."""
    rng = np.random.default_rng(seed)
    table = draw_table(SMALL.sample(20, 5, rng).tokens, 4, block)
    at = rng.normal(size=7)
    slope = masked_loss(at, table, 2)[1]
    steps = 1e-6 * np.eye(7)
    quotient = [(masked_loss(at + step, table, 2)[0] - masked_loss(at - step, table, 2)[0]) / 2e-6 for step in steps]
    assert slope == pytest.approx(quotient, abs=1e-7)


@given(seed=st.integers(0, 10**6))
def test_no_parameters_beat_the_truth(seed):
    """The excess over the exact prediction is 0 at the truth and positive elsewhere; it is an average of KL."""
    population = population_table(SMALL, 6)
    at = parameters_of(SMALL) + 0.3 * np.random.default_rng(seed).normal(size=7)
    assert excess_divergence(parameters_of(SMALL), SMALL, population, 2) == pytest.approx(0, abs=1e-12)
    assert excess_divergence(at, SMALL, population, 2) > 0


@pytest.mark.parametrize(
    ("context", "rank", "least", "largest"),
    [
        (1, 6, 1.288e-2, 1.828e-1),
        (2, 7, 3.424e-3, 1.900e-1),
        (3, 7, 6.271e-3, 1.960e-1),
        (7, 7, 8.172e-3, 2.103e-1),
        (15, 7, 1.684e-3, 2.157e-1),
        (31, 7, 1.466e-4, 2.115e-1),
        pytest.param(63, 7, 1.337e-6, 2.093e-1, marks=pytest.mark.slow),
    ],
)
def test_fisher_spectra(context, rank, least, largest):
    """Rank and extreme eigenvalues are the known ones; with two tokens in all the rank is 6, not 7."""
    spectrum = [value for value in fisher_spectrum(SMALL, context + 1) if value]
    assert len(spectrum) == rank
    assert (spectrum[-1], spectrum[0]) == pytest.approx((least, largest), rel=5e-4)


def test_fisher_is_the_curvature_of_the_excess():
    """A second difference of the excess at the truth is the Fisher matrix: two ways to one number."""
    population, truth = population_table(SMALL, 3), parameters_of(SMALL)
    spectrum = fisher_spectrum(SMALL, 3)
    step = 1e-4
    slopes = [
        (masked_loss(truth + step * e, population, 2)[1] - masked_loss(truth - step * e, population, 2)[1]) / (2 * step)
        for e in np.eye(7)
    ]
    assert np.linalg.eigvalsh(np.array(slopes))[::-1] == pytest.approx(spectrum, rel=1e-4)


def test_large_tables_leave_next_to_nothing_out():
    """At 64 tokens the table weighs 1 up to 1e-12."""
    assert population_table(SMALL, 64).weights.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: population_table(SMALL, 4, 4), "leaves nothing to read"),
        (lambda: population_table(SMALL, 1), "at least 2"),
        (lambda: population_table(SMALL, 4, 0), "mask at least 1"),
        (lambda: population_table(SMALL, 400, 100), "would have to be summed"),
        (lambda: draw_table(np.zeros((0, 3), dtype=int), 2), "No sequence"),
        (lambda: parameters_of(FiniteModel(np.eye(2), np.array([0.5, 0.5]))), "probability of 0"),
    ],
)
def test_refusals(call, words):
    """A mask as long as the sequence, one token, no mask, no sequences, a huge table and zeros are refused."""
    with pytest.raises(ArgumentError, match=words):
        call()
