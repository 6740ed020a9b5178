"""Gaussian clusters whose proportions are chosen once per sequence: topics over the real line."""

from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.attention import require_positive
from keyhole.errors import AssumptionError
from keyhole.latent.models.base import (
    Tokens,
    draw_letters,
    require_probabilities,
    require_vectors,
)
from keyhole.latent.models.finite import FiniteLatent
from keyhole.latent.models.registry import register_model


@dataclass(frozen=True)
class GaussianMixture(FiniteLatent):
    """Given z, a token falls in cluster c with chance W[c, z] and is then N(μ_c, σ²I).

    With W the identity every sequence has one cluster of its own.

    >>> pair = GaussianMixture(np.array([[-1.0], [1.0]]), np.eye(2), np.array([0.5, 0.5]))
    >>> pair.posterior(np.array([[[0.0], [1.0]]])).round(4).tolist()
    [[0.1192, 0.8808]]
    """

    centres: Float[Any, "C d"]  # μ
    proportions: Float[Any, "C_weighed m_weighed"]  # W: a row per cluster, a column per latent value, of sum 1
    prior: Float[Any, "m"]
    noise_variance: float = 1.0  # σ²

    def __post_init__(self) -> None:
        require_probabilities("the prior p", self.prior)
        require_probabilities(
            "each column of W, the proportions of the clusters given a latent value,", self.proportions
        )
        require_positive("a noise variance", self.noise_variance)
        if self.proportions.shape != (len(self.centres), len(self.prior)):
            raise AssumptionError(
                f"{len(self.centres)} clusters and {len(self.prior)} latent values need W of shape "
                f"{(len(self.centres), len(self.prior))}; got {self.proportions.shape}."
            )
        if not bool(np.all(np.isfinite(self.centres))):
            raise AssumptionError("The centres hold NaN or infinity; every entry must be a finite number.")

    def draw(self, latents: Int[Any, "n"], length: int, rng: np.random.Generator) -> Tokens:
        """A cluster for every token, then its place."""
        clusters = draw_letters(self.proportions.T[latents], length, rng)
        noise = rng.normal(size=(len(latents), length, self.centres.shape[1]))
        return self.centres[clusters] + np.sqrt(self.noise_variance) * noise

    def log_likelihood(self, tokens: Tokens) -> Float[Any, "n T m"]:
        """The density of every token under every latent: Σ_c W[c, z] N(x; μ_c, σ²I), by logarithms."""
        require_vectors(tokens, self.centres.shape[1])
        square = ((tokens[:, :, None, :] - self.centres) ** 2).sum(axis=3)
        width, variance = self.centres.shape[1], self.noise_variance
        logs = -square / (2 * variance) - width / 2 * log(2 * pi * variance)  # (n, T, C): of every token and cluster
        with np.errstate(divide="ignore"):
            shares = np.log(self.proportions)
        # weighed before they are added: the cluster nearest to a token may have no share in a latent value
        return np.stack([np.logaddexp.reduce(logs + share, axis=2) for share in shares.T], axis=2)

    @property
    def latent_means(self) -> Float[Any, "m d"]:
        """The centres, weighed by the proportions."""
        return self.proportions.T @ self.centres

    @property
    def latent_spreads(self) -> Float[Any, "m"]:
        """The spread of the centres and the noise."""
        apart = np.square(self.centres[None] - self.latent_means[:, None, :]).sum(axis=2)  # (m, C)
        return (self.proportions.T * apart).sum(axis=1) + self.centres.shape[1] * self.noise_variance


register_model(
    "mixture",
    lambda: GaussianMixture(
        np.array([[-2.0], [0.0], [2.0]]), np.array([[0.6, 0.2], [0.2, 0.2], [0.2, 0.6]]), np.array([0.5, 0.5])
    ),
)
