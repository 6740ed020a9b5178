"""Models without keys, whose tokens attention pools. Derive a model of your own from this class."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from keyhole.arrays import Float, Shaped
from keyhole.latent.inference.measure import is_constant, reached_rates, shrinking_rates
from keyhole.latent.inference.problem import Context, Pooling, Posterior, Prediction, Prototypes, Settings
from keyhole.latent.models.base import Draw, Rng, Tokens


class ModelWithoutKeys(ABC):
    """A latent per sequence and tokens that are independent given it: all keys are equal, and values are the tokens.

    A new model gives three things: how sequences are drawn, the posterior mean of a token, and `pooling`. Where tokens
    are not vectors, or the mean of a token is not the latent itself, it says so in `token_values` and `token_means`.
    """

    repeats = 256  # contexts are cheap without keys
    attentions: tuple[str, ...] = ("softmax", "sink")
    regression = None

    @abstractmethod
    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Draw n sequences of `length` tokens, with the latent of each."""

    @abstractmethod
    def posterior_mean(self, tokens: Tokens) -> Float[Any, "n k"]:
        """E[x | sequence] of the next token as a vector, for each sequence."""

    @property
    @abstractmethod
    def pooling(self) -> Pooling:
        """Its prior mean and its two variances."""

    @property
    def prototypes(self) -> Prototypes | None:
        """None: the latent is not one of finitely many values."""
        return None

    def token_values(self, tokens: Shaped[Any, "T *token"]) -> Float[Any, "T k"]:
        """The tokens of one sequence as vectors: as they are."""
        return tokens

    def token_means(self, latents: Shaped[Any, "n *latent"]) -> Float[Any, "n k"]:
        """E[x | z] for each of these latents: the latent itself."""
        return latents

    def draw_context(self, tokens: int, rng: np.random.Generator) -> Context:
        """One sequence, and one query for its mean."""
        drawn = self.sample(1, tokens, rng)
        sequence = drawn.tokens[0]
        return Context(
            keys=np.ones((tokens, 1)),
            values=self.token_values(sequence),
            queries=np.ones((1, 1)),
            truth=self.token_means(drawn.latents),
            tokens=sequence,
        )

    def solve(self, context: Context) -> Posterior:
        """The posterior mean of a token."""
        return Posterior(self.posterior_mean(context.tokens[None]))

    def predict(self, kind: str, settings: Settings, tokens: int) -> Prediction:
        """Predict the errors of every rule m₀ + w(x̄ − m₀), which every kind but the prototypes is."""
        ridge, pooling = settings.ridge, self.pooling
        if kind == "prototypes":
            return Prediction("this equals the posterior mean: softmax is Bayes' rule")
        if ridge is None:
            words = "the mean of the tokens has error s²/T exactly; the posterior concentrates exponentially fast"
            if pooling.linear:
                words = (
                    "the mean of the tokens ignores the prior; its distance from the posterior mean is "
                    "(λ/(T + λ))²(t² + s²/T), like 1/T² (s²: variance of a token given z; t²: variance over z of its "
                    "mean; λ = s²/t²)"
                )
            return Prediction(words, gap_rate=-2.0 if pooling.linear else -1.0, error_rate=-1.0)
        if is_constant(ridge, pooling.ridge):
            if pooling.linear:
                return Prediction("this equals the posterior mean: the sink holds the prior", error_rate=-1.0)
            words = "the best linear rule; the posterior of a finite latent is sharper, so the gap falls like 1/T"
            return Prediction(words, gap_rate=-1.0, error_rate=-1.0)
        gap, error = shrinking_rates(ridge)
        near = reached_rates(ridge, pooling.ridge, tokens)
        words = "a linear rule with another ridge than the best: in the limit gap"
        if pooling.linear:
            return Prediction(f"{words} like T^{gap:g}, error like T^{error:g}", gap_rate=near[0], error_rate=near[1])
        return Prediction(f"{words} and error like T^{error:g}", gap_rate=near[1], error_rate=near[1])
