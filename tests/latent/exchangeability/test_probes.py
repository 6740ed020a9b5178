"""Probes read the posterior where it is, miss it where it is not, and tell nuisance from latent."""

import numpy as np
import pytest

from keyhole.errors import AssumptionError, DataError
from keyhole.latent.exchangeability.probes import (
    divergences,
    linear_probe,
    network_probe,
    nuisance_probe,
    read_out,
)
from keyhole.latent.models.finite import FiniteModel, counts_of

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


def test_network_probe_reads_what_is_not_linear():
    """A latent that is the parity of two bits is invisible to a linear probe, and plain to a network."""
    bits = np.random.default_rng(0).integers(2, size=(400, 2))
    posterior = np.eye(2)[bits.sum(axis=1) % 2] * 0.9 + 0.05
    seen = bits + 0.01 * np.random.default_rng(1).normal(size=(400, 2))
    linear, network = linear_probe(seen, posterior), network_probe(seen, posterior)
    assert linear.divergence > 0.9 * linear.ignorant
    assert network.divergence < 0.1 * network.ignorant


def test_exact_reader_has_no_divergence():
    """A probe that answers the posterior itself reads 0; divergences are never negative."""
    reading = read_out(lambda _rows, _laws, _seed: lambda some: some, POSTERIOR, POSTERIOR)
    assert reading.divergence == pytest.approx(0, abs=1e-12)
    other = np.roll(POSTERIOR, 1, axis=0)
    assert divergences(POSTERIOR, other).min() >= -1e-12


def test_nuisance_is_judged_beyond_the_posterior():
    """Counts tell a difference of two counts fully, the posterior part of it, functions of the posterior no more."""
    nuisance = COUNTS[:, :1] - COUNTS[:, 1:2]
    counts, posterior = nuisance_probe(COUNTS, POSTERIOR, nuisance), nuisance_probe(LOGS, POSTERIOR, nuisance)
    assert counts.with_representation == pytest.approx(1, abs=1e-9)
    assert 0.1 < counts.posterior_alone < 0.95  # it correlates with the latent, so R² alone would mislead
    assert counts.excess > 0.3
    assert abs(posterior.excess) < 0.01
    noise = nuisance_probe(np.random.default_rng(0).normal(size=(800, 2)), POSTERIOR, nuisance)
    # two useless slopes, each off by 1/√400, move a held-out R² by a few times (1 − R²)/400 ≈ .001; counts by .5
    assert abs(noise.excess) < 0.03


@pytest.mark.parametrize(
    ("ask", "kind", "sentence"),
    [
        (lambda: linear_probe(COUNTS[:10], POSTERIOR), DataError, "10 rows came with 800 posteriors"),
        (lambda: linear_probe(COUNTS[:10], POSTERIOR[:10]), DataError, "10 sequences are too few"),
        (lambda: linear_probe(COUNTS * np.nan, POSTERIOR), DataError, "holds NaN"),
        (lambda: linear_probe(COUNTS, POSTERIOR * 2), AssumptionError, "Each posterior must sum to 1"),
        (lambda: nuisance_probe(COUNTS, POSTERIOR, 0 * COUNTS), DataError, "nothing to explain"),
    ],
)
def test_refusals(ask, kind, sentence):
    """What cannot be probed is refused in words."""
    with pytest.raises(kind, match=sentence):
        ask()
