"""Every latent model asks attention one kind of question: keys, values and queries, with the Bayesian's own answer.

A model without keys (letters, a location) is asked with all keys equal: attention then only pools its tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from keyhole.errors import ArgumentError
from keyhole.kernels.algebra import Kernel
from keyhole.kernels.families import linear_kernel
from keyhole.latent.inference.smoothers import Prior, prior_at
from keyhole.latent.long.pivoted_cholesky import factor
from keyhole.latent.models.conjugate import BetaBernoulli, GaussianLocation, Polya
from keyhole.latent.models.finite import FiniteLatent, FiniteModel
from keyhole.latent.models.mixture import GaussianMixture
from keyhole.latent.models.regression import LinearRegression, SphereProcess, uniform_on_sphere

QUERIES = 32  # asked of each context of a regression


@dataclass(frozen=True)
class Context:
    """One sequence and what is asked of it."""

    keys: Float[Any, "T d"]
    values: Float[Any, "T k"]
    queries: Float[Any, "n d"]
    truth: Float[Any, "n k"]  # E[v | q, z]: what an endless context would tell

    def first(self, tokens: int) -> "Context":
        """The same question of its first tokens only."""
        return Context(self.keys[:tokens], self.values[:tokens], self.queries, self.truth)


@dataclass(frozen=True)
class Pooling:
    """A model without keys: its prior mean m₀ and its two variances, summed over coordinates.

    With s² = E Var(x | z) and t² = Var E[x | z] the best linear rule is m₀ + T/(T + s²/t²) (x̄ − m₀).
    """

    prior_mean: Float[Any, "k"]
    noise: float  # s²
    signal: float  # t²
    linear: bool  # whether the posterior mean is that rule

    @property
    def ridge(self) -> float:
        """λ = s²/t²: σ²/τ² of a Gaussian location, α₀ of a Pólya urn."""
        return self.noise / self.signal

    def error(self, tokens: int, weight: float) -> float:
        """E‖m₀ + w(x̄ − m₀) − E[x | z]‖² = (1 − w)² t² + w² s²/T."""
        return (1 - weight) ** 2 * self.signal + weight**2 * self.noise / tokens

    def gap(self, tokens: int, weight: float) -> float | None:
        """The same against the posterior mean, (w − w*)²(t² + s²/T) with w* = T/(T + λ), where that rule is it."""
        if not self.linear:
            return None
        best = tokens / (tokens + self.ridge)
        return (weight - best) ** 2 * (self.signal + self.noise / tokens)


@dataclass(frozen=True)
class Bayes:
    """The posterior mean of the answer, and for a regression the law it was computed from."""

    mean: Float[Any, "n k"]
    prior: Prior | None = None


@dataclass(frozen=True)
class Question:
    """A model as attention meets it."""

    name: str
    draw: Callable[[int, np.random.Generator], Context]
    bayes: Callable[[Context], "Bayes"]
    prior_mean: Float[Any, "k"]
    ridge: float  # with which conditional-mean attention is the posterior mean, or the best linear rule
    kernel: Kernel | None = None  # of the model's own function; None where there are no keys
    pooling: Pooling | None = None
    model: Any = None


def ask(name: str, model: Any) -> Question:
    """The question that a latent model puts."""
    if isinstance(model, LinearRegression | SphereProcess):
        return _regression(name, model)
    if isinstance(model, Polya | BetaBernoulli | GaussianLocation | FiniteModel | GaussianMixture):
        return _pooled(name, model)
    raise ArgumentError(f"{name} has no question for attention; the models that have one are those of `find_model`.")


def _pooled(name: str, model: Any) -> Question:
    pooling = pooling_of(model)

    def draw(tokens: int, rng: np.random.Generator) -> Context:
        drawn = model.sample(1, tokens, rng)
        return Context(
            np.ones((tokens, 1)), _values(model, drawn.tokens), np.ones((1, 1)), _truth(model, drawn.latents)
        )

    def bayes(context: Context) -> Bayes:
        return Bayes(_posterior_mean(model, context.values))

    return Question(name, draw, bayes, pooling.prior_mean, pooling.ridge, pooling=pooling, model=model)


def _values(model: Any, tokens: Any) -> Float[Any, "T k"]:
    return np.eye(model.letters)[tokens[0]] if hasattr(model, "letters") else tokens[0]


def _truth(model: Any, latents: Any) -> Float[Any, "1 k"]:
    if isinstance(model, FiniteLatent):
        return token_means(model)[latents[:1]]
    if isinstance(model, BetaBernoulli):
        return np.array([[1 - latents[0], latents[0]]])
    return latents[:1]


def _posterior_mean(model: Any, values: Float[Any, "T k"]) -> Float[Any, "1 k"]:
    tokens = values.argmax(axis=1)[None, :] if hasattr(model, "letters") else values[None]
    if isinstance(model, FiniteLatent):
        return model.posterior(tokens) @ token_means(model)
    if isinstance(model, GaussianLocation):
        return model.posterior(tokens).mean
    return model.predictive(tokens)


def token_means(model: Any) -> Float[Any, "m k"]:
    """E[x | z] for every value of a finite latent; letters are one-hot."""
    return model.emission.T if isinstance(model, FiniteModel) else model.proportions.T @ model.centres


def pooling_of(model: Any) -> Pooling:
    """Prior mean and variances of a model without keys.

    >>> pooling_of(Polya(np.array([1.0, 2.0, 1.0]))).ridge
    4.0
    """
    if isinstance(model, GaussianLocation):
        width = model.width
        return Pooling(model.prior_mean, width * model.noise_variance, width * model.prior_variance, linear=True)
    if isinstance(model, BetaBernoulli):
        model = Polya(np.array([model.tails, model.heads]))
    if isinstance(model, Polya):
        total = float(model.concentration.sum())
        mean = model.concentration / total
        spread = float((mean * (1 - mean)).sum())
        return Pooling(mean, spread * total / (total + 1), spread / (total + 1), linear=True)
    means = token_means(model)
    middle = model.prior @ means
    signal = float(model.prior @ np.square(means - middle).sum(axis=1))
    if isinstance(model, FiniteModel):
        inner = (means * (1 - means)).sum(axis=1)
    else:
        apart = np.square(model.centres[None] - means[:, None, :]).sum(axis=2)  # (m, C)
        inner = (model.proportions.T * apart).sum(axis=1) + model.centres.shape[1] * model.noise_variance
    return Pooling(middle, float(model.prior @ inner), signal, linear=False)


def _regression(name: str, model: LinearRegression | SphereProcess) -> Question:
    kernel = model.kernel if isinstance(model, SphereProcess) else linear_kernel()
    width = model.value_width

    def draw(tokens: int, rng: np.random.Generator) -> Context:
        """Keys, queries and the function at them at once: a draw of the process is its features times a normal."""
        points = _points(model, tokens + QUERIES, rng)
        whole = float(np.sum(kernel.diagonal(points)))
        features = factor(kernel, points, rank=len(points), trace=1e-14 * whole).rows
        function = np.sqrt(model.prior_variance) * features.T @ rng.normal(size=(len(features), width))
        values = function[QUERIES:] + np.sqrt(model.noise_variance) * rng.normal(size=(tokens, width))
        return Context(points[QUERIES:], values, points[:QUERIES], function[:QUERIES])

    def bayes(context: Context) -> Bayes:
        noise, variance = model.noise_variance, model.prior_variance
        prior = prior_at(kernel, context.keys, context.queries, noise=noise, prior=variance)
        return Bayes(prior.best @ context.values, prior)

    return Question(name, draw, bayes, np.zeros(width), model.ridge, kernel=kernel, model=model)


def _points(model: LinearRegression | SphereProcess, count: int, rng: np.random.Generator) -> Float[Any, "n d"]:
    if isinstance(model, SphereProcess):
        return uniform_on_sphere(count, model.key_width, rng)
    return rng.normal(size=(count, model.key_width))
