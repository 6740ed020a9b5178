"""Once the keys are known every kind of attention here is a linear smoother: a matrix of weights times the values.

That makes its error exact: bias and variance given the keys are sums over the weights, with nothing simulated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from keyhole.attention.arrays import require_context, require_positive
from keyhole.attention.kernel_families import Exponential, Gaussian, Given, Matern, Polynomial, linear_kernel
from keyhole.attention.kernels import Kernel
from keyhole.attention.smoothing import smoothing_weights
from keyhole.errors import ArgumentError
from keyhole.latent.pivoted import factor

Points = Float[Any, "T d"]
Places = Float[Any, "n d"]
Weights = Float[Any, "n T"]

DENSE = 256  # up to here a dense system is as quick as a factor
FAITHFUL = 1e-14  # the share of the trace a factor may miss and still count as the kernel, up to rounding


@dataclass(frozen=True)
class Smoother:
    """The weight of every token for every query, as a function of keys and queries."""

    name: str
    weigh: Callable[[Points, Places], Weights]

    def __call__(self, keys: Points, values: Float[Any, "T k"], queries: Places) -> Float[Any, "n k"]:
        """The weighted values."""
        require_context(keys, values, queries)
        return self.weigh(keys, queries) @ values


def softmax_smoother(kernel: Kernel) -> Smoother:
    """k(q, k_t)/Σ_t k(q, k_t): Nadaraya–Watson, and softmax attention when the kernel is the exponential one."""
    return Smoother("softmax", lambda keys, queries: smoothing_weights(kernel, keys, queries))


def cme_smoother(kernel: Kernel, ridge: float) -> Smoother:
    """𝔎(q, K)(𝔎(K, K) + λI)⁻¹: conditional-mean attention."""
    require_positive("a ridge", ridge)
    return Smoother("cme", lambda keys, queries: cme_weights(kernel, keys, queries, ridge=ridge))


def cme_weights(kernel: Kernel, keys: Points, queries: Places, *, ridge: float) -> Weights:
    """The weights of conditional-mean attention, through features where the kernel has few of them.

    Statement  With 𝔎 = ΦΦᵀ on keys and queries, 𝔎(q, K)(𝔎(K, K) + λI)⁻¹ = φ(q)ᵀ(ΦᵀΦ + λI)⁻¹Φᵀ.
    Source     Standard. The features come from pivoted Cholesky, exact but for 1e-14 of the trace.
    """
    tokens = len(keys)
    if tokens > DENSE:
        points = np.concatenate([keys, queries])
        whole = float(np.sum(kernel.diagonal(points)))
        found = factor(kernel, points, rank=tokens // 4, trace=FAITHFUL * whole)
        if found.trace <= FAITHFUL * whole:
            features = found.rows[:, :tokens]
            small = features @ features.T + ridge * np.eye(len(features))
            return np.linalg.solve(small, found.rows[:, tokens:]).T @ features
    return np.linalg.solve(kernel(keys, keys) + ridge * np.eye(tokens), kernel(keys, queries)).T


def linear_smoother(step: float = 1.0) -> Smoother:
    """(η/T) qᵀk_t: attention without softmax.

    Statement  It is the answer at q of a linear map after one gradient step of length η from 0 on
               (1/2T) Σ_t ‖v_t − Wk_t‖².
    Proof      The gradient at W = 0 is −(1/T) Σ_t v_t k_tᵀ.
    Source     Standard.
    """
    require_positive("a step", step)
    return Smoother("linear", lambda keys, queries: step / len(keys) * (queries @ keys.T))


KERNELS: dict[str, Callable[[float], Kernel]] = {
    "exponential": lambda gamma: Exponential(gamma, offset=1.0),
    "gaussian": lambda gamma: Gaussian(gamma**0.5),
    "matern": lambda gamma: Matern(gamma**0.5, 1.5),
    "polynomial": lambda gamma: Polynomial(2, gamma),
    "linear": lambda _gamma: linear_kernel(),
}


def kernel_named(kernel: str | Callable[[Any, Any], Any], gamma: float) -> Kernel:
    """A kernel by name at temperature γ (bandwidth √γ; the offset of the polynomial), or the user's own function."""
    require_positive("a bandwidth", gamma)
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Given(kernel)
    if kernel not in KERNELS:
        raise ArgumentError(f"There is no kernel {kernel!r}; there are {', '.join(KERNELS)}.")
    return KERNELS[kernel](gamma)


@dataclass(frozen=True)
class Expected:
    """The exact mean squared error of a smoother given the keys, averaged over queries and summed over coordinates."""

    bias: float  # of the answer's mean
    variance: float  # of the noise in the values

    @property
    def error(self) -> float:
        """Both together."""
        return self.bias + self.variance


def expected_error(
    weights: Weights, at_keys: Float[Any, "T k"], at_queries: Float[Any, "n k"], *, noise: float
) -> Expected:
    """E‖Σ_t w_t(q) v_t − f(q)‖² over the noise, for one fixed f, given the keys.

    Statement  It is ‖Σ_t w_t(q) f(k_t) − f(q)‖² + kσ²‖w(q)‖², k the number of coordinates.
    Assumes    v_t = f(k_t) + noise, independent, of mean 0 and variance σ² in each coordinate.
    Proof      The answer is linear in the values.
    Source     Standard.

    >>> half = np.array([[0.5, 0.5]])
    >>> expected_error(half, np.array([[0.0], [2.0]]), np.array([[0.0]]), noise=0.1).error
    1.05
    """
    missed = weights @ at_keys - at_queries
    spread = at_keys.shape[1] * noise * np.square(weights).sum(axis=1)
    return Expected(float(np.square(missed).sum(axis=1).mean()), float(spread.mean()))


@dataclass(frozen=True)
class Averaged:
    """What a smoother misses of one coordinate at each query, given the keys, averaged over prior and noise."""

    gap: Float[Any, "n"]  # squared distance from the posterior mean
    spread: Float[Any, "n"]  # variance of f(q) given the context: what the posterior mean itself misses

    @property
    def error(self) -> Float[Any, "n"]:
        """The squared distance from f(q)."""
        return self.gap + self.spread


def averaged_error(
    weights: Weights, kernel: Kernel, keys: Points, queries: Places, *, noise: float, prior: float
) -> Averaged:
    """E(Σ_t w_t(q) v_t − E[f(q) | K, V])² and Var(f(q) | K, V) of one coordinate, given the keys.

    Statement  The gap is (w − w*)ᵀS(w − w*), S = τ²𝔎(K, K) + σ²I and w* the weights of conditional-mean attention
               with λ = σ²/τ²; the spread is τ²(𝔎(q, q) − w*ᵀ𝔎(K, q)). Their sum is the error against f(q).
    Assumes    v = zφ(k) + N(0, σ²), z from N(0, τ²I), f = zφ.
    Proof      The values have mean 0 and covariance S, w* gives the posterior mean, and what it misses of f(q) is
               independent of the values.
    Equality   The gap is 0 at w = w*.
    Source     Ours.
    """
    best = cme_weights(kernel, keys, queries, ridge=noise / prior)
    gap = weights - best
    spread = prior * (kernel.diagonal(queries) - (best * kernel(queries, keys)).sum(axis=1))
    return Averaged(prior * _form(kernel, keys, gap) + noise * np.square(gap).sum(axis=1), spread)


def _form(kernel: Kernel, keys: Points, rows: Weights) -> Float[Any, "n"]:
    """xᵀ𝔎(K, K)x for every row x, a block of keys at a time."""
    total = np.zeros(len(rows))
    for start in range(0, len(keys), 1024):
        some = slice(start, start + 1024)
        total += ((rows @ kernel(keys, keys[some])) * rows[:, some]).sum(axis=1)
    return total
