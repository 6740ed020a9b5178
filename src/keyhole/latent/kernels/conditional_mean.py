"""Conditional-mean-embedding attention infers the mean of the value given the key, as a Bayesian would.

The estimator is Vᵀ(𝔎(K, K) + λI)⁻¹𝔎(K, q): kernel ridge regression, Gaussian-process regression, and the
exact posterior mean of the model v = zφ(k) + noise with a Gaussian prior on z.

A kernel matrix is often nearly of low rank; pivoted Cholesky finds the factor from a few of its rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.attention import Answers, Keys, Queries, Values, require_context, require_positive
from keyhole.errors import AssumptionError
from keyhole.latent.kernels.families import Kernel
from keyhole.latent.kernels.smoothing import in_blocks


@dataclass(frozen=True)
class MeanEmbedding:
    """A context, solved once: what is needed to answer any query about it."""

    kernel: Kernel
    keys: Float[Any, "T d"]
    values: Float[Any, "T k"]
    ridge: float  # λ
    system: Float[Any, "T T"]  # 𝔎(K, K) + λI
    coefficients: Float[Any, "T k"]  # the system's solution for the values

    def mean(self, queries: Queries) -> Answers:
        """E[v | q, K, V], for a block of queries at a time."""
        require_context(self.keys, queries=queries)
        blocks = [self.kernel(queries[some, :], self.keys) @ self.coefficients for some in in_blocks(queries.shape[0])]
        return np.concatenate(blocks, axis=0)

    def variance(self, queries: Queries, *, noise: float) -> Float[Any, "n"]:
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
        for some in in_blocks(queries.shape[0]):
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


@dataclass(frozen=True)
class Factor:
    """F with 𝔎(K, K) ≈ FᵀF, and what is left of the diagonal."""

    rows: Float[np.ndarray, "rank T"]  # F
    left: Float[np.ndarray, "T"]  # the diagonal of 𝔎(K, K) − FᵀF
    pivots: Int[np.ndarray, "rank"]  # the tokens whose rows were read

    @property
    def trace(self) -> float:
        """The trace of what is left."""
        return float(self.left.sum())


def factor(kernel: Kernel, keys: Float[np.ndarray, "T d"], *, rank: int, trace: float) -> Factor:
    """Rows of the factor, each from the token least explained so far, until the trace left is at most `trace`.

    Statement  After r steps FᵀF equals 𝔎(K, K) on the rows read, and the rest stays positive semi-definite.
    Source     Standard.

    >>> from keyhole.latent.kernels.families import linear_kernel
    >>> found = factor(linear_kernel(), np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), rank=3, trace=1e-12)
    >>> len(found.pivots), round(found.trace, 12)
    (2, 0.0)
    """
    require_context(keys)
    if rank < 1:
        raise AssumptionError(f"A factor has at least one row; got a rank of {rank}.")
    left = np.array(kernel.diagonal(keys), dtype=np.float64)
    if not bool(np.all(left >= 0)):
        raise AssumptionError("A kernel is never negative on its diagonal; this one is, so it is not a kernel.")
    rounding = np.finfo(np.float64).eps * float(left.max(initial=0.0))  # a pivot below this is rounding, not signal
    rows = np.empty((min(rank, len(keys)), len(keys)))
    pivots: list[int] = []
    while len(pivots) < len(rows):
        pivot, step = int(left.argmax()), len(pivots)
        if left.sum() <= trace or left[pivot] <= rounding:
            break
        row = kernel(keys[pivot : pivot + 1, :], keys)[0] - rows[:step, pivot] @ rows[:step]
        rows[step] = row / np.sqrt(left[pivot])
        left = np.maximum(left - np.square(rows[step]), 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    return Factor(rows[: len(pivots)], left, np.array(pivots, dtype=np.int64))
