"""Three textbook models whose posterior stays in one family: Pólya's urn, the unknown coin, the unknown mean."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.attention import require_positive
from keyhole.errors import AssumptionError
from keyhole.latent.inference.problem import Pooling
from keyhole.latent.models.base import (
    Draw,
    Letters,
    Probabilities,
    Rng,
    Tokens,
    draw_letters,
    letter_counts,
    require_sizes,
    require_vectors,
)
from keyhole.latent.models.registry import register_model
from keyhole.latent.models.without_keys import ModelWithoutKeys


@dataclass(frozen=True)
class Dirichlets:
    """A Dirichlet law per sequence, by its concentrations."""

    concentration: Float[Any, "n V"]

    @property
    def mean(self) -> Probabilities:
        """The expected law of a token."""
        return self.concentration / self.concentration.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Gaussians:
    """A Gaussian law per sequence: its mean, and the variance common to all sequences and coordinates."""

    mean: Float[Any, "n d"]
    variance: float


@dataclass(frozen=True)
class Polya(ModelWithoutKeys):
    """Pólya's urn: the law of a token is drawn from a Dirichlet, and tokens from that law."""

    concentration: Float[Any, "V"]  # α: what the urn holds at first

    def __post_init__(self) -> None:
        if len(self.concentration) < 2:
            raise AssumptionError(f"An urn needs at least two colours; got {len(self.concentration)}.")
        for amount in self.concentration:
            require_positive("what an urn holds of a colour", float(amount))

    @property
    def letters(self) -> int:
        """The size of the alphabet."""
        return len(self.concentration)

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Draw a law for each sequence, then its letters."""
        require_sizes(n, length)
        stream = np.random.default_rng(rng)
        laws = stream.dirichlet(self.concentration, size=n)
        return Draw(draw_letters(laws, length, stream), laws)

    def posterior(self, tokens: Letters) -> Dirichlets:
        """A Dirichlet of concentration α plus the counts."""
        return Dirichlets(self.concentration + letter_counts(tokens, self.letters))

    def posterior_mean(self, tokens: Letters) -> Probabilities:
        """P(next letter = v) = (α_v + n_v)/(α₀ + T), which is the mean of its one-hot vector.

        >>> (7 * Polya(np.array([1.0, 2.0, 1.0])).posterior_mean(np.array([[0, 0, 1]]))).round(12).tolist()
        [[3.0, 3.0, 1.0]]
        """
        return self.posterior(tokens).mean

    def token_values(self, tokens: Int[Any, "T"]) -> Float[Any, "T V"]:
        """One-hot vectors."""
        return np.eye(self.letters)[tokens]

    @property
    def pooling(self) -> Pooling:
        """Prior mean α/α₀ and the ridge α₀.

        >>> Polya(np.array([1.0, 2.0, 1.0])).pooling.ridge
        4.0
        """
        total = float(self.concentration.sum())
        mean = self.concentration / total
        spread = float((mean * (1 - mean)).sum())
        return Pooling(mean, spread * total / (total + 1), spread / (total + 1), linear=True)


@dataclass(frozen=True)
class Betas:
    """A Beta law per sequence."""

    heads: Float[Any, "n"]
    tails: Float[Any, "n"]

    @property
    def mean(self) -> Float[Any, "n"]:
        """The expected chance of a 1."""
        return self.heads / (self.heads + self.tails)


@dataclass(frozen=True)
class BetaBernoulli(ModelWithoutKeys):
    """A coin whose chance of a 1 is drawn from Beta(heads, tails), thrown for every token."""

    heads: float = 1.0
    tails: float = 1.0
    letters = 2

    def __post_init__(self) -> None:
        require_positive("a parameter of a Beta law", self.heads)
        require_positive("a parameter of a Beta law", self.tails)

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Draw a chance for each sequence, then its bits."""
        require_sizes(n, length)
        stream = np.random.default_rng(rng)
        chances = stream.beta(self.heads, self.tails, size=n)
        return Draw((stream.random((n, length)) < chances[:, None]).astype(np.int64), chances)

    def posterior(self, tokens: Letters) -> Betas:
        """Beta(heads + ones, tails + zeros).

        >>> BetaBernoulli().posterior(np.array([[1, 1, 0]])).mean.tolist()
        [0.6]
        """
        ones = letter_counts(tokens, 2)[:, 1]
        return Betas(self.heads + ones, self.tails + (tokens.shape[1] - ones))

    def posterior_mean(self, tokens: Letters) -> Probabilities:
        """The chances of 0 and of 1 for the next bit, which are the mean of its one-hot vector."""
        return self.token_means(self.posterior(tokens).mean)

    def token_values(self, tokens: Int[Any, "T"]) -> Float[Any, "T 2"]:
        """One-hot vectors."""
        return np.eye(self.letters)[tokens]

    def token_means(self, latents: Float[Any, "n"]) -> Probabilities:
        """The chances of 0 and of 1."""
        return np.stack([1 - latents, latents], axis=1)

    @property
    def pooling(self) -> Pooling:
        """That of a Pólya urn of two colours."""
        return Polya(np.array([self.tails, self.heads])).pooling


@dataclass(frozen=True)
class GaussianLocation(ModelWithoutKeys):
    """x = z + N(0, σ²I) with a mean z ~ N(μ₀, τ²I) per sequence."""

    prior_mean: Float[Any, "d"]  # μ₀
    prior_variance: float = 1.0  # τ²
    noise_variance: float = 1.0  # σ²

    def __post_init__(self) -> None:
        require_positive("a prior variance", self.prior_variance)
        require_positive("a noise variance", self.noise_variance)
        if len(self.prior_mean) == 0 or not bool(np.all(np.isfinite(self.prior_mean))):
            raise AssumptionError("The prior mean must hold at least one number, and no NaN or infinity.")

    @property
    def width(self) -> int:
        """The number of coordinates of a token."""
        return len(self.prior_mean)

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Draw a mean for each sequence, then its tokens (n, T, d)."""
        require_sizes(n, length)
        stream = np.random.default_rng(rng)
        means = self.prior_mean + np.sqrt(self.prior_variance) * stream.normal(size=(n, self.width))
        noise = np.sqrt(self.noise_variance) * stream.normal(size=(n, length, self.width))
        return Draw(means[:, None, :] + noise, means)

    def posterior(self, tokens: Tokens) -> Gaussians:
        """Precisions add: mean (σ²μ₀ + τ²Σx)/(σ² + Tτ²), variance σ²τ²/(σ² + Tτ²).

        >>> posterior = GaussianLocation(np.zeros(1), 2.0, 0.5).posterior(np.array([[[1.0], [2.0], [3.0]]]))
        >>> posterior.mean.round(7).tolist(), round(posterior.variance, 7)
        ([[1.8461538]], 0.1538462)
        """
        require_vectors(tokens, self.width)
        weight = self.noise_variance + tokens.shape[1] * self.prior_variance
        mean = (self.noise_variance * self.prior_mean + self.prior_variance * tokens.sum(axis=1)) / weight
        return Gaussians(mean, self.noise_variance * self.prior_variance / weight)

    def posterior_mean(self, tokens: Tokens) -> Float[Any, "n d"]:
        """The mean of the posterior, which is that of the next token."""
        return self.posterior(tokens).mean

    @property
    def pooling(self) -> Pooling:
        """Prior mean μ₀ and the ridge σ²/τ²."""
        return Pooling(self.prior_mean, self.width * self.noise_variance, self.width * self.prior_variance, linear=True)

    def bayes_risk(self, length: int) -> float:
        """The posterior variance, summed over coordinates."""
        require_sizes(1, length)
        weight = self.noise_variance + length * self.prior_variance
        return self.width * self.noise_variance * self.prior_variance / weight


register_model("polya", lambda: Polya(np.array([1.0, 2.0, 1.0])))
register_model("beta", BetaBernoulli)
register_model("gaussian", lambda: GaussianLocation(np.zeros(1), prior_variance=2.0, noise_variance=0.5))
