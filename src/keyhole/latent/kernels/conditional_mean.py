"""Conditional-mean-embedding attention infers the mean of the value given the key, as a Bayesian would.

The estimator is Vᵀ(𝔎(K, K) + λI)⁻¹𝔎(K, q): kernel ridge regression, Gaussian-process regression, and the
exact posterior mean of the model v = zφ(k) + noise with a Gaussian prior on z.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import Answers, Keys, Queries, Values, require_context, require_positive
from keyhole.latent.kernels.kernel import Kernel
from keyhole.latent.kernels.smoothing import BLOCK, in_blocks


@dataclass(frozen=True)
class MeanEmbedding:
    """A context, solved once: what is needed to answer any query about it."""

    kernel: Kernel
    keys: Float[Any, "T d"]
    values: Float[Any, "T k"]
    ridge: float  # λ
    system: Float[Any, "T T"]  # 𝔎(K, K) + λI
    coefficients: Float[Any, "T k"]  # the system's solution for the values

    def mean(self, queries: Queries, *, block: int = BLOCK) -> Answers:
        """E[v | q, K, V], for a block of queries at a time."""
        require_context(self.keys, queries=queries)
        blocks = [
            self.kernel(queries[some, :], self.keys) @ self.coefficients for some in in_blocks(queries.shape[0], block)
        ]
        return np.concatenate(blocks, axis=0)

    def variance(self, queries: Queries, *, noise: float, block: int = BLOCK) -> Float[Any, "n"]:
        """Var(v_j | q, K, V) of one coordinate, when the noise of a value has variance `noise`.

        Statement  It is σ² + τ²(𝔎(q, q) − 𝔎(q, K)(𝔎(K, K) + λI)⁻¹𝔎(K, q)), the same for every coordinate.
        Assumes    v = zφ(k) + N(0, σ²I), rows of z from N(0, τ²I), λ = σ²/τ².
        Proof      A row of z has covariance τ²(I − Φᵀ(ΦΦᵀ + λI)⁻¹Φ) given the context; its product with φ(q)
                   has the variance stated, and noise adds σ².
        Source     Standard.
        """
        require_context(self.keys, queries=queries)
        require_positive("a noise variance", noise)
        blocks = []
        for some in in_blocks(queries.shape[0], block):
            alike = self.kernel(self.keys, queries[some, :])
            explained = np.sum(alike * np.linalg.solve(self.system, alike), axis=0)
            blocks.append(noise + noise / self.ridge * (self.kernel.diagonal(queries[some, :]) - explained))
        return np.concatenate(blocks, axis=0)


def embed_mean(kernel: Kernel, keys: Keys, values: Values, *, ridge: float) -> MeanEmbedding:
    """Solve a context once, so that any number of queries can be answered.

    Statement  With λ = σ²/τ² the mean it answers is E[v | q, K, V].
    Assumes    v = zφ(k) + N(0, σ²I), rows of z from N(0, τ²I), 𝔎(k, k′) = φ(k)ᵀφ(k′).
    Proof      z given the context is Gaussian of mean VᵀΦ(ΦᵀΦ + λI)⁻¹ = Vᵀ(ΦΦᵀ + λI)⁻¹Φ.
    Source     Standard.

    >>> from keyhole.latent.kernels.families import linear_kernel
    >>> keys, values = np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.0]])
    >>> context = embed_mean(linear_kernel(), keys, values, ridge=0.5)
    >>> context.mean(np.array([[2.0]])).round(7).tolist()
    [[1.5172414]]
    >>> context.variance(np.array([[2.0]]), noise=0.5).round(7).tolist()
    [0.637931]
    """
    require_context(keys, values)
    require_positive("a ridge", ridge)
    gram = kernel(keys, keys)
    system = gram + ridge * np.eye(keys.shape[0])
    return MeanEmbedding(kernel, keys, values, ridge, system, np.linalg.solve(system, values))
