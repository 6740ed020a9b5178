"""Models with keys, whose function attention estimates at fresh queries. Derive a model of your own from this class."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import AssumptionError
from keyhole.latent.inference.problem import Context, Posterior, Prediction, Regression, Settings
from keyhole.latent.inference.smoothers import prior_at
from keyhole.latent.kernels import factor

QUERIES = 32  # of each context


class ModelWithKeys(ABC):
    """v = f(k) + N(0, σ²I), f a Gaussian process of covariance τ²𝔎, keys independent: a function per sequence.

    A new model gives its widths and variances, `regression` with its kernel, and how keys are drawn.
    """

    key_width: int  # d
    value_width: int  # k
    prior_variance: float  # τ²
    noise_variance: float  # σ²

    repeats = 24  # a context is a dense system
    attentions: tuple[str, ...] = ("softmax", "cme")
    pooling = None
    prototypes = None

    @property
    @abstractmethod
    def regression(self) -> Regression:
        """Its kernel, its ridge σ²/τ², and the bandwidth of other kernels."""

    @abstractmethod
    def draw_keys(self, count: int, rng: np.random.Generator) -> Float[Any, "count d"]:
        """So many independent keys; queries are drawn alike."""

    @property
    def ridge(self) -> float:
        """λ = σ²/τ²: with it conditional-mean attention under the model's kernel is the posterior mean."""
        return self.noise_variance / self.prior_variance

    def draw_context(self, tokens: int, rng: np.random.Generator) -> Context:
        """Keys, queries and the function at them at once: a draw of the process is its features times a normal."""
        kernel = self.regression.kernel
        points = self.draw_keys(tokens + QUERIES, rng)
        whole = float(np.sum(kernel.diagonal(points)))
        features = factor(kernel, points, rank=len(points), trace=1e-14 * whole).rows
        function = np.sqrt(self.prior_variance) * features.T @ rng.normal(size=(len(features), self.value_width))
        values = function[QUERIES:] + np.sqrt(self.noise_variance) * rng.normal(size=(tokens, self.value_width))
        keys = points[QUERIES:]
        return Context(keys, values, points[:QUERIES], function[:QUERIES], np.concatenate([keys, values], axis=1))

    def solve(self, context: Context) -> Posterior:
        """Conditional-mean attention with the model's own kernel and ridge."""
        noise, variance = self.noise_variance, self.prior_variance
        prior = prior_at(self.regression.kernel, context.keys, context.queries, noise=noise, prior=variance)
        return Posterior(prior.best @ context.values, prior)

    def predict(self, kind: str, settings: Settings, tokens: int) -> Prediction:  # noqa: ARG002  (models override it)
        """Nothing exact is known."""
        return Prediction()


def require_widths(key_width: int, value_width: int, *, least: int) -> None:
    """Refuse widths of keys and values that are too small."""
    if key_width < least or value_width < 1:
        raise AssumptionError(
            f"Keys of width {key_width} and values of width {value_width} were asked for; "
            f"keys need at least {least}, values at least 1."
        )
