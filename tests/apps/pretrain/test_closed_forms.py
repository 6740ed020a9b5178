"""Closed forms of learning: least squares on pooled tokens, and how sharply data tell a sink's logit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from keyhole.apps.pretrain.masked import PooledSquares, pooled_excess, pooled_risk
from keyhole.apps.pretrain.sinks import polya_table, sink_loss, sink_standard_error
from keyhole.errors import ArgumentError
from keyhole.latent.models import GaussianLocation, Polya

MODEL = PooledSquares()
URN = Polya(np.array([1.0, 2.0, 1.0]))


@pytest.mark.parametrize(
    ("length", "risk", "tied", "untied"),
    [
        (2, 0.583333, 0.007910, 0.016037),
        (4, 0.450000, 0.006102, 0.025442),
        (8, 0.361111, 0.004896, 0.043279),
        (16, 0.308824, 0.004187, 0.084105),
        (32, 0.280303, 0.003801, 0.209817),
    ],
)
def test_excess_of_least_squares(length, risk, tied, untied):
    """Bayes risk and expected excess are the known numbers at d = 4, n = 300."""
    assert pooled_risk(MODEL, length) == pytest.approx(risk, abs=5e-7)
    assert pooled_excess(MODEL, 300, length, tied=True) == pytest.approx(tied, abs=5e-7)
    assert pooled_excess(MODEL, 300, length, tied=False) == pytest.approx(untied, abs=5e-7)


@pytest.mark.parametrize("tied", [True, False])
def test_simulated_excess_is_the_closed_form(tied):
    """The mean over 300 training sets is within four standard errors; a tenth off would be seen."""
    rng = np.random.default_rng(0)
    found = np.array([MODEL.learn(*MODEL.sample(80, 4, rng), tied=tied) for _ in range(300)])
    exact, error = pooled_excess(MODEL, 80, 4, tied=tied), found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - exact) < 4 * error
    assert 4 * error < (0.2 if tied else 0.1) * exact


def test_too_few_sequences():
    """No more sequences than weights is refused, and has an infinite expectation."""
    assert pooled_excess(MODEL, 17, 4, tied=False) == np.inf
    with pytest.raises(ArgumentError, match="needs more sequences than weights"):
        MODEL.learn(*MODEL.sample(16, 4, np.random.default_rng(0)), tied=False)


@given(seed=st.integers(0, 10**6), letters=st.booleans())
def test_slope_of_the_sink(seed, letters):
    """The slope of the loss is its difference quotient."""
    rng = np.random.default_rng(seed)
    sums = rng.integers(0, 5, size=(6, 3)).astype(float)
    targets = np.eye(3)[rng.integers(0, 3, size=6)] if letters else rng.normal(size=(6, 3))
    weights = rng.dirichlet(np.ones(6))
    at = rng.normal(size=3 if letters else 4)

    def loss(x):
        return sink_loss(x, sums, targets, weights, 7, letters=letters)[0]

    slope = sink_loss(at, sums, targets, weights, 7, letters=letters)[1]
    steps = 1e-6 * np.eye(len(at))
    assert slope == pytest.approx([(loss(at + step) - loss(at - step)) / 2e-6 for step in steps], abs=1e-7)


@pytest.mark.parametrize("tokens", [1, 8])
def test_the_population_loss_has_the_exact_sink(tokens):
    """Minimised from 0, the exact loss of a Pólya urn gives the logit log 4 and the value (¼, ½, ¼)."""
    sums, targets, weights = polya_table(URN, tokens)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    found = minimize(
        lambda x: sink_loss(x, sums, targets, weights, tokens, letters=True),
        np.zeros(3),
        jac=True,
        options={"gtol": 1e-9},
    ).x
    assert found[0] == pytest.approx(np.log(4), abs=1e-5)
    assert np.exp(found[1:]) == pytest.approx([1.0, 2.0], abs=1e-5)


@pytest.mark.slow
def test_standard_errors_of_the_sink():
    """4.83/√n and 5.17/√n for the urn; for numbers the formula is what 400 fits at n = 400 spread by."""
    assert sink_standard_error(URN, 1) == pytest.approx(4.83, abs=0.005)
    assert sink_standard_error(URN, 8) == pytest.approx(5.17, abs=0.005)
    model = GaussianLocation(np.zeros(2), prior_variance=1.0, noise_variance=1.0)
    rng = np.random.default_rng(0)
    logits = []
    for _ in range(400):
        drawn = model.sample(400, 3, rng).tokens
        weights = np.full(400, 1 / 400)
        sums, targets = drawn[:, :2].sum(axis=1), drawn[:, 2]
        logits.append(
            minimize(
                lambda x, s=sums, t=targets, w=weights: sink_loss(x, s, t, w, 2, letters=False), np.zeros(3), jac=True
            ).x[0]
        )
    assert np.std(logits) * 20 == pytest.approx(sink_standard_error(model, 2), rel=0.1)
