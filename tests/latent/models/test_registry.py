"""Latent models by name: a model of one's own is registered from outside the library."""

from dataclasses import dataclass

import numpy as np
import pytest

import keyhole
from keyhole.errors import ArgumentError
from keyhole.latent import ModelWithKeys, PowerOfT, Regression, Settings, find_model, model_names, register_model
from keyhole.latent.kernels.families import Matern
from keyhole.latent.models import registry


@dataclass(frozen=True)
class RoughFunction(ModelWithKeys):
    """A model with keys that the library does not have: a Matérn process at uniform keys on an interval."""

    key_width: int = 1
    value_width: int = 2
    prior_variance: float = 2.0
    noise_variance: float = 0.3

    @property
    def regression(self):
        """Matérn's kernel."""
        return Regression(Matern(0.5, 1.5), self.ridge, PowerOfT(0.1))

    def draw_keys(self, count, rng):
        """Uniform on [0, 1]."""
        return rng.uniform(size=(count, 1))


@pytest.fixture(autouse=True)
def _registered_for_this_test_only(monkeypatch):
    """Every test registers in a copy."""
    monkeypatch.setattr(registry, "_MODELS", dict(registry._MODELS))


def test_a_registered_model_is_found_by_name():
    """By `find_model`, in the list of names, and by `keyhole.infer`, which then calls it so."""
    register_model("rough", RoughFunction)
    assert "rough" in model_names()
    assert find_model("rough") == RoughFunction()
    answer = keyhole.infer("rough", [4, 16], repeats=4)
    assert answer.model == "rough"
    assert answer.estimators == keyhole.infer(RoughFunction(), [4, 16], repeats=4).estimators


@pytest.mark.slow
def test_a_model_with_keys_of_ones_own():
    """Conditional-mean attention under its own kernel is its posterior mean, softmax is not; errors match the exact.

    The difference from the exact expectation given the keys has mean 0: within four standard errors.
    """
    answer = keyhole.infer(RoughFunction(), [8, 32], repeats=60, seed=4)
    assert [each.is_the_posterior_mean for each in answer.estimators] == [False, True]
    for curve in answer.curves:
        off = curve.errors - curve.expected_errors
        assert np.all(np.abs(off.mean(axis=0)) < 4 * off.std(axis=0, ddof=1) / np.sqrt(60))
    assert answer.estimators[0].theory.words is None
    named = keyhole.infer(
        RoughFunction(), [8], attention=["cme"], settings=Settings("matern", PowerOfT(0.25)), repeats=2
    )
    assert named.estimators[0].is_the_posterior_mean  # bandwidth √γ = 0.5


def test_a_name_is_given_once():
    """A model's name cannot be taken."""
    with pytest.raises(ArgumentError, match="'gaussian' is registered"):
        register_model("gaussian", RoughFunction)


def test_the_names_are_those_of_the_library():
    """Every file of the folder of models is found without being listed."""
    assert model_names() == ("beta", "finite", "gaussian", "gp", "linear", "mixture", "polya")
