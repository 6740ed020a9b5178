"""Heads trained from random starts: exact slopes, and the minimum that the law itself has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.apps.pretrain.latent_heads import LatentHead, PrototypeHead, SinkHead, minimise, prototype_loss
from keyhole.apps.pretrain.masked import excess_divergence, parameters_of, population_table
from keyhole.apps.pretrain.sinks import polya_table
from keyhole.errors import ArgumentError
from keyhole.latent.models import FiniteModel, Polya

SMALL = FiniteModel(np.array([[0.4, 0.1], [0.3, 0.15], [0.2, 0.3], [0.1, 0.45]]), np.array([0.6, 0.4]))


@given(seed=st.integers(0, 10**6))
def test_slope_of_prototypes(seed):
    """The slope of the loss of attention to prototypes is its difference quotient."""
    rng = np.random.default_rng(seed)
    counts, targets = rng.integers(0, 5, size=(6, 3)).astype(float), rng.dirichlet(np.ones(4), size=6) / 6
    at = rng.normal(size=2 * (3 + 1 + 4))
    slope = prototype_loss(at, counts, targets, 2)[1]
    steps = 1e-6 * np.eye(len(at))
    quotient = [
        (prototype_loss(at + s, counts, targets, 2)[0] - prototype_loss(at - s, counts, targets, 2)[0]) / 2e-6
        for s in steps
    ]
    assert slope == pytest.approx(quotient, abs=1e-7)


@pytest.mark.parametrize("block", [1, 3])
def test_trained_on_the_law_a_latent_head_is_the_truth(block):
    """With as many latents as there are, the loss on the law ends at the exact prediction; with one less it cannot."""
    population = population_table(SMALL, 6, block)
    found = LatentHead(2).fit(population, np.random.default_rng(0))
    assert excess_divergence(found.parameters, SMALL, population, 2) == pytest.approx(0, abs=1e-9)
    learned = LatentHead(2).model(found, 4)
    order = np.argsort(learned.prior)[::-1]
    assert learned.emission[:, order] == pytest.approx(SMALL.emission, abs=1e-3)
    poorer = LatentHead(1).fit(population, np.random.default_rng(0))
    assert excess_divergence(poorer.parameters, SMALL, population, 1) > 0.01


def test_trained_on_the_law_prototypes_are_the_truth():
    """Keys and values of their own predict the masked letter exactly too."""
    population = population_table(SMALL, 5)
    targets = population.blocks * population.weights[:, None]
    found = PrototypeHead(2).fit(population.contexts, targets, np.random.default_rng(1))(population.contexts)
    tokens = np.stack([np.repeat(np.arange(4), row.astype(int)) for row in population.contexts])
    assert found == pytest.approx(SMALL.posterior_mean(tokens), abs=2e-3)


def test_trained_on_the_law_a_sink_is_the_prior():
    """From random starts the logit ends at log α₀."""
    sums, targets, weights = polya_table(Polya(np.array([1.0, 2.0, 1.0])), 4)
    found = SinkHead().fit(sums, targets, weights, 4, np.random.default_rng(3), letters=True)
    assert found.parameters[0] == pytest.approx(np.log(4), abs=1e-4)


def test_of_several_starts_the_lowest_is_kept():
    """Two wells: the deeper one is found if one start lies in it, and no start is refused."""

    def wells(x):
        return float((x[0] ** 2 - 1) ** 2 + 0.1 * x[0]), np.array([4 * x[0] * (x[0] ** 2 - 1) + 0.1])

    assert (
        minimise(wells, np.array([[1.0], [-1.0]])).parameters[0] < 0 < minimise(wells, np.array([[1.0]])).parameters[0]
    )
    with pytest.raises(ArgumentError, match="at least one start"):
        minimise(wells, np.zeros((0, 1)))


def test_the_start_is_not_the_truth():
    """Parameters at the start are small and random: nothing of the model enters them."""
    population = population_table(SMALL, 4)
    stopped = LatentHead(2, starts=1, steps=1).fit(population, np.random.default_rng(0))
    assert np.abs(stopped.parameters - parameters_of(SMALL)).max() > 0.3
