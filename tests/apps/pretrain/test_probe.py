"""A probe reads the posterior where it is, and misses it where it is not."""

import numpy as np
import pytest

from keyhole.apps.pretrain.probe import divergences, linear_probe
from keyhole.errors import DataError
from keyhole.latent.models import FiniteModel, counts_of

RNG = np.random.default_rng(5)
MODEL = FiniteModel(RNG.dirichlet(np.ones(5), size=3).T, np.full(3, 1 / 3))
TOKENS = MODEL.sample(800, 20, 1).tokens
POSTERIOR = MODEL.posterior(TOKENS)
COUNTS = counts_of(MODEL)(TOKENS).astype(float)
LOGS = np.log(np.maximum(POSTERIOR, 1e-12))


def test_linear_probe_orders_representations():
    """Counts and log-posterior hold it linearly; half a context less; one token least; all below the controls."""
    whole, logs = linear_probe(COUNTS, POSTERIOR), linear_probe(LOGS, POSTERIOR)
    half = linear_probe(counts_of(MODEL)(TOKENS[:, :10]).astype(float), POSTERIOR)
    last = linear_probe(np.eye(5)[TOKENS[:, -1]], POSTERIOR)
    assert whole.divergence < 0.01  # the theory's .0019; softmax(linear in counts) is the posterior itself
    assert logs.divergence < 0.01
    assert whole.divergence + 5 * half.standard_error < half.divergence
    assert half.divergence + 2 * last.standard_error < last.divergence
    assert last.divergence < last.ignorant
    assert whole.shuffled > 0.9 * whole.ignorant


def test_divergences_are_not_negative():
    """And 0 for the posterior itself."""
    assert divergences(POSTERIOR, POSTERIOR).max() == pytest.approx(0, abs=1e-12)
    assert divergences(POSTERIOR, np.roll(POSTERIOR, 1, axis=0)).min() >= -1e-12


def test_a_linear_probe_is_blind_to_a_parity():
    """A latent that is the parity of two bits is as if nothing were known."""
    bits = np.random.default_rng(0).integers(2, size=(400, 2))
    posterior = np.eye(2)[bits.sum(axis=1) % 2] * 0.9 + 0.05
    reading = linear_probe(bits + 0.01 * np.random.default_rng(1).normal(size=(400, 2)), posterior)
    assert reading.divergence > 0.9 * reading.ignorant


def test_a_representation_that_is_no_number():
    """States of a network that diverged are refused in words."""
    with pytest.raises(DataError, match="holds NaN"):
        linear_probe(COUNTS * np.nan, POSTERIOR)
