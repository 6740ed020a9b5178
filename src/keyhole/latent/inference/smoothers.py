"""Once the keys are known every kind of attention here is a linear smoother: a matrix of weights times the values.

That makes its error exact: bias and variance given the keys are sums over the weights, with nothing simulated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import require_positive
from keyhole.errors import ArgumentError, AssumptionError
from keyhole.latent.kernels import (
    Exponential,
    Gaussian,
    Given,
    Kernel,
    Matern,
    Polynomial,
    factor,
    linear_kernel,
)

Points = Float[Any, "T d"]
Places = Float[Any, "n d"]
Weights = Float[Any, "n T"]

DENSE = 512  # up to here a dense system is as quick as a factor
FAITHFUL = 1e-14  # the share of the trace a factor may miss and still count as the kernel, up to rounding


def cme_weights(kernel: Kernel, keys: Points, queries: Places, *, ridge: float) -> Weights:
    """The weights of conditional-mean attention, through features where the kernel has few of them.

    Statement  With 𝔎 = ΦΦᵀ on keys and queries, 𝔎(q, K)(𝔎(K, K) + λI)⁻¹ = φ(q)ᵀ(ΦᵀΦ + λI)⁻¹Φᵀ.
    Source     Standard. The features come from pivoted Cholesky, exact but for 1e-14 of the trace.
    """
    require_positive("a ridge", ridge)
    tokens, points = len(keys), np.concatenate([keys, queries])
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = np.asarray(kernel.diagonal(points))
    whole = float(np.sum(diagonal))
    if not np.isfinite(whole):  # the diagonal bounds every entry, so a finite one leaves all finite
        raise AssumptionError(
            f"{kernel} is not finite at these keys and queries in double precision; give a larger bandwidth."
        )
    if ridge < np.finfo(np.float64).eps * float(np.sum(diagonal[:tokens])):  # adding it may change no digit
        raise AssumptionError(
            f"A ridge of {ridge:.3g} is lost in rounding beside {tokens} keys under {kernel}; give a larger ridge."
        )
    if tokens > DENSE:
        low_rank = factor(kernel, points, rank=tokens // 8, trace=FAITHFUL * whole)
        if low_rank.trace <= FAITHFUL * whole:
            features = low_rank.rows[:, :tokens]
            small = features @ features.T + ridge * np.eye(len(features))
            return np.linalg.solve(small, low_rank.rows[:, tokens:]).T @ features
    return np.linalg.solve(kernel(keys, keys) + ridge * np.eye(tokens), kernel(keys, queries)).T


def linear_weights(keys: Points, queries: Places) -> Weights:
    """(1/T) qᵀk_t: attention without softmax.

    Statement  It is the answer at q of a linear map after one gradient step of length 1 from 0 on
               (1/2T) Σ_t ‖v_t − Wk_t‖².
    Proof      The gradient at W = 0 is −(1/T) Σ_t v_t k_tᵀ.
    Source     Standard.
    """
    return 1 / len(keys) * (queries @ keys.T)


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
        raise ArgumentError(f"{kernel!r} is not a kernel; there are {', '.join(KERNELS)}.")
    return KERNELS[kernel](gamma)


@dataclass(frozen=True)
class Prior:
    """The model v = zφ(k) + N(0, σ²), z from N(0, τ²I), seen at the keys and queries of one context."""

    best: Weights  # w*: of conditional-mean attention with λ = σ²/τ²
    covariance: Float[Any, "T T"]  # S = τ²𝔎(K, K) + σ²I, of one coordinate of the values
    spread: Float[Any, "n"]  # τ²(𝔎(q, q) − w*ᵀ𝔎(K, q))

    def averaged(self, weights: Weights) -> tuple[float, float]:
        """E(Σ_t w_t(q) v_t − E[f(q) | K, V])² and Var(f(q) | K, V) of one coordinate, averaged over the queries.

        Statement  The gap is (w − w*)ᵀS(w − w*), the spread τ²(𝔎(q, q) − w*ᵀ𝔎(K, q)), and their sum is the error
                   against f(q).
        Proof      The values have mean 0 and covariance S, w* gives the posterior mean, and what it misses of f(q)
                   is independent of the values.
        Equality   The gap is 0 at w = w*.
        Source     Ours.
        """
        gap = weights - self.best
        return float(((gap @ self.covariance) * gap).sum(axis=1).mean()), float(self.spread.mean())


def prior_at(kernel: Kernel, keys: Points, queries: Places, *, noise: float, prior: float) -> Prior:
    """The model at these keys and queries: σ² the noise, τ² the prior."""
    require_positive("a noise variance", noise)
    require_positive("a prior variance", prior)
    best = cme_weights(kernel, keys, queries, ridge=noise / prior)
    covariance = prior * kernel(keys, keys)
    covariance[np.diag_indices(len(keys))] += noise
    spread = prior * (kernel.diagonal(queries) - (best * kernel(queries, keys)).sum(axis=1))
    return Prior(best, covariance, spread)
