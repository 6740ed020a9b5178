"""Conditional-mean attention with a trained bandwidth and ridge: exact slopes, and what asymptotics says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.apps.pretrain.kernel_recovery import KernelHead, KernelRecovery, kernel_loss, standard_errors
from keyhole.errors import ArgumentError
from keyhole.latent.kernels import embed_mean
from keyhole.sweeps.runs import RunSpec
from keyhole.sweeps.runs.run import run

TASK = KernelRecovery()


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_the_slope_is_the_slope(seed):
    """The slope of the loss is its difference quotient, and the mean of the sequences' slopes."""
    rng = np.random.default_rng(seed)
    tokens = TASK.model.sample(5, 4, rng).tokens
    at = rng.normal(size=2)
    _, slope, each = kernel_loss(at, tokens)
    steps = 1e-6 * np.eye(2)
    quotient = [(kernel_loss(at + s, tokens)[0] - kernel_loss(at - s, tokens)[0]) / 2e-6 for s in steps]
    assert slope == pytest.approx(quotient, abs=1e-6)
    assert each.mean(axis=0) == pytest.approx(slope)


def test_at_the_truth_it_is_the_posterior_mean():
    """With γ and σ²/τ² of the process, the loss is that of conditional-mean attention with its own kernel."""
    model = TASK.model
    tokens = model.sample(3, 5, 0).tokens
    keys, values = np.split(tokens, [model.key_width], axis=2)
    missed = [
        values[i, -1] - embed_mean(model.kernel, keys[i, :-1], values[i, :-1], ridge=model.ridge).mean(keys[i, -1:])[0]
        for i in range(3)
    ]
    assert kernel_loss(TASK.truth, tokens)[0] == pytest.approx(np.square(missed).sum(axis=1).mean() / 2)


@pytest.mark.long
def test_errors_are_as_large_as_said():
    """Over 60 fits at n = 300 both errors have the size of their asymptotic standard errors, within 35 %."""
    made = [run(RunSpec(TASK, KernelHead(), 5, 300, seed)).numbers for seed in range(60)]
    for name in ("log_bandwidth", "log_ridge"):
        size = np.sqrt(np.mean([one[f"{name}_error"] ** 2 for one in made]))
        assert size == pytest.approx(made[0][f"{name}_standard_error"], rel=0.35)
    assert np.all(standard_errors(TASK, 5) > 0)


def test_one_token_is_refused():
    """There is nothing to read beside the masked one."""
    with pytest.raises(ArgumentError, match="at least 2"):
        run(RunSpec(TASK, KernelHead(), 1, 10, 0))
