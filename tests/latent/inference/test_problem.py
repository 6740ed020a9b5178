"""The interface of a latent model to attention: what a model must state, and what is refused of it."""

from dataclasses import replace

import numpy as np
import pytest

import keyhole
from keyhole.errors import ArgumentError, ShapeError
from keyhole.latent.inference.attentions import make_attention
from keyhole.latent.inference.measure import measure_curves
from keyhole.latent.inference.problem import MEMBERS, Posterior, Problem, require_problem
from keyhole.latent.kernels.families import Gaussian, sphere_kernel
from keyhole.latent.models.conjugate import GaussianLocation
from keyhole.latent.models.registry import find_model, model_names
from keyhole.latent.models.sphere import SphereProcess


@pytest.mark.parametrize("name", model_names())
def test_every_registered_model_is_a_problem(name):
    """It states all members, and either pooling or a regression; its contexts fit together."""
    model = find_model(name)
    assert require_problem(name, model) is model
    context = model.draw_context(5, np.random.default_rng(0))
    context.require_length(5)
    shorter = context.first(3)
    shorter.require_length(3)
    np.testing.assert_array_equal(shorter.values, context.values[:3])
    np.testing.assert_array_equal(shorter.tokens, context.tokens[:3])
    assert model.solve(shorter).mean.shape == shorter.truth.shape


def test_the_members_are_those_of_the_protocol():
    """So that a refusal names all that is missing."""
    assert set(MEMBERS) == {name for name in vars(Problem) if not name.startswith("_")}


def test_what_is_no_problem_is_refused():
    """With what it lacks, and what to do."""
    sentence = r"nothing cannot be asked of attention: it lacks attentions.*, predict\..* derive your own from"
    with pytest.raises(ArgumentError, match=sentence):
        require_problem("nothing", object())


@pytest.mark.parametrize(
    ("stated", "word"),
    [({"pooling": None}, "neither"), ({"regression": SphereProcess().regression}, "both")],
    ids=["neither", "both"],
)
def test_a_model_has_keys_or_has_none(stated, word):
    """It states pooling or a regression, not both and not neither."""
    mine = type("Mine", (GaussianLocation,), stated)(np.zeros(1))
    with pytest.raises(ArgumentError, match=f"Mine states {word} of pooling and regression"):
        keyhole.infer(mine, [8])


class Short(GaussianLocation):
    """A model that draws a token too few."""

    def draw_context(self, tokens, rng):
        """One token less."""
        return super().draw_context(tokens, rng).first(tokens - 1)


class Flat(GaussianLocation):
    """A model that forgets the coordinate of its answer: (1, 2) would be broadcast against (1, 1) unseen."""

    def solve(self, context):
        """The answer twice."""
        return Posterior(np.repeat(super().solve(context).mean, 2, axis=1))


class Untrue(GaussianLocation):
    """A model whose truth has another shape than its answers."""

    def draw_context(self, tokens, rng):
        """A row too many."""
        context = super().draw_context(tokens, rng)
        return replace(context, queries=np.ones((2, 1)), truth=np.ones((2, 2)))


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (Short, "7 keys and 7 tokens"),
        (Flat, r"posterior mean .*\(1, 1\).*\(1, 2\)"),
        (Untrue, r"truth .*\(2, 1\).*\(2, 2\)"),
    ],
)
def test_contexts_that_do_not_fit_are_refused(kind, sentence):
    """A wrong shape is a sentence and never a number by broadcasting."""
    with pytest.raises(ShapeError, match=sentence):
        keyhole.infer(kind(np.zeros(1)), [4, 8], repeats=2)


def test_on_the_sphere_the_gaussian_kernel_is_the_exponential_one():
    """At equal γ, and at no other."""
    regression = SphereProcess(temperature=0.3).regression
    own = (regression.kernel, *regression.equal_kernels)
    assert sphere_kernel(0.3) in own
    assert Gaussian(0.3**0.5) in own
    assert sphere_kernel(0.31) not in own
    assert Gaussian(0.3) not in own


def test_weights_are_computed_once_for_answer_and_expectation(monkeypatch):
    """A context costs one solution of the attention and one of the model."""
    from keyhole.latent.inference import attentions, smoothers

    calls, solve = [], smoothers.cme_weights

    def counted(*arguments, **options):
        calls.append(1)
        return solve(*arguments, **options)

    monkeypatch.setattr(attentions, "cme_weights", counted)
    monkeypatch.setattr(smoothers, "cme_weights", counted)
    model = find_model("gp")
    measure_curves(model, [make_attention("cme", model)], [4, 8], repeats=3, seed=0)
    assert len(calls) == 2 * 2 * 3
