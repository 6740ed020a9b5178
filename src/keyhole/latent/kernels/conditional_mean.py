"""Conditional-mean-embedding attention infers the mean of the value given the key, as a Bayesian would.

The estimator is Vᵀ(𝔎(K, K) + λI)⁻¹𝔎(K, q): kernel ridge regression, Gaussian-process regression, and the
exact posterior mean of the model v = zφ(k) + noise with a Gaussian prior on z.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from keyhole.arrays import Float
from keyhole.attention import Answers, Array, Keys, Queries, Values, require_context, require_positive
from keyhole.errors import ShapeError
from keyhole.latent.kernels.algebra import Kernel
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
        xp = array_namespace(self.keys, queries)
        blocks = [
            self.kernel(queries[some, :], self.keys) @ self.coefficients for some in in_blocks(queries.shape[0], block)
        ]
        return xp.concat(blocks, axis=0)

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
        xp = array_namespace(self.keys, queries)
        blocks = []
        for some in in_blocks(queries.shape[0], block):
            alike = self.kernel(self.keys, queries[some, :])
            explained = xp.sum(alike * xp.linalg.solve(self.system, alike), axis=0)
            blocks.append(noise + noise / self.ridge * (self.kernel.diagonal(queries[some, :]) - explained))
        return xp.concat(blocks, axis=0)

    def left_out(self) -> Answers:
        """For every token the mean at its key, from all the other tokens, at the same ridge.

        Statement  It is v_t − c_t/[(𝔎(K, K) + λI)⁻¹]_tt, c the coefficients.
        Proof      Row t of the system's inverse is [·]_tt (1, −𝔎(k_t, K′)(𝔎(K′, K′) + λI)⁻¹), token t first
                   and K′ the other keys; so c_t is [·]_tt times v_t less the mean from the others.
        Source     Standard.
        """
        if self.keys.shape[0] < 2:
            raise ShapeError("a context of one token leaves nothing when it is left out; give at least two")
        xp = array_namespace(self.keys)
        unit = xp.eye(self.keys.shape[0], dtype=self.system.dtype, device=device(self.system))
        diagonal = xp.sum(unit * xp.linalg.solve(self.system, unit), axis=-1)
        return self.values - self.coefficients / diagonal[:, None]


def embed_mean(kernel: Kernel, keys: Keys, values: Values, *, ridge: float) -> MeanEmbedding:
    """Solve a context once, so that any number of queries can be answered.

    Statement  With λ = σ²/τ² the mean it answers is E[v | q, K, V].
    Assumes    v = zφ(k) + N(0, σ²I), rows of z from N(0, τ²I), 𝔎(k, k′) = φ(k)ᵀφ(k′).
    Proof      z given the context is Gaussian of mean VᵀΦ(ΦᵀΦ + λI)⁻¹ = Vᵀ(ΦΦᵀ + λI)⁻¹Φ.
    Source     Standard.

    >>> import numpy as np
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
    xp = array_namespace(keys, values)
    gram = kernel(keys, keys)
    system = gram + ridge * xp.eye(keys.shape[0], dtype=gram.dtype, device=device(gram))
    return MeanEmbedding(kernel, keys, values, ridge, system, xp.linalg.solve(system, values))


def cme_attention(
    kernel: Kernel, keys: Keys, values: Values, queries: Queries, *, ridge: float, block: int = BLOCK
) -> Answers:
    """Vᵀ(𝔎(K, K) + λI)⁻¹𝔎(K, q) for every query: one solve, then a block of queries at a time."""
    require_context(keys, values, queries)
    return embed_mean(kernel, keys, values, ridge=ridge).mean(queries, block=block)


def feature_attention(
    features: Callable[[Array], Array], keys: Keys, values: Values, queries: Queries, *, ridge: float
) -> Answers:
    """The same estimator for explicit features, without any T × T matrix: long contexts, few features.

    Statement  Vᵀ(ΦΦᵀ + λI)⁻¹Φφ(q) = VᵀΦ(ΦᵀΦ + λI)⁻¹φ(q), Φ the features of the keys, one row per token.
    Proof      (ΦΦᵀ + λI)Φ = Φ(ΦᵀΦ + λI).
    Source     Standard.
    """
    require_context(keys, values, queries)
    require_positive("a ridge", ridge)
    xp = array_namespace(keys, values, queries)
    image = features(keys)
    system = image.T @ image + ridge * xp.eye(image.shape[1], dtype=image.dtype, device=device(image))
    return features(queries) @ xp.linalg.solve(system, image.T @ values)
