"""Once the keys are known every kind of attention here is a linear smoother: a matrix of weights times the values.

That makes its error exact: bias and variance given the keys are sums over the weights, with nothing simulated.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from keyhole.attention.arrays import require_context, require_positive
from keyhole.attention.kernel_families import Exponential, Gaussian, Given, Matern, Polynomial, linear_kernel
from keyhole.attention.kernels import Kernel
from keyhole.attention.smoothing import smoothing_weights
from keyhole.errors import ArgumentError

Points = Float[np.ndarray, "T d"]
Places = Float[np.ndarray, "n d"]
Weights = Float[np.ndarray, "n T"]


@dataclass(frozen=True)
class Smoother:
    """The weight of every token for every query, as a function of keys and queries."""

    name: str
    weigh: Callable[[Points, Places], Weights]

    def __call__(self, keys: Points, values: Float[np.ndarray, "T k"], queries: Places) -> Float[np.ndarray, "n k"]:
        """The weighted values."""
        require_context(keys, values, queries)
        answers: np.ndarray = self.weigh(keys, queries) @ values
        return answers


def softmax_smoother(kernel: Kernel) -> Smoother:
    """k(q, k_t)/Σ_t k(q, k_t): Nadaraya–Watson, and softmax attention when the kernel is the exponential one."""
    return Smoother("softmax", lambda keys, queries: smoothing_weights(kernel, keys, queries))


def cme_smoother(kernel: Kernel, ridge: float) -> Smoother:
    """𝔎(q, K)(𝔎(K, K) + λI)⁻¹: conditional-mean attention."""
    require_positive("a ridge", ridge)

    def weigh(keys: Points, queries: Places) -> Weights:
        system = kernel(keys, keys) + ridge * np.eye(len(keys))
        weights: np.ndarray = np.linalg.solve(system, kernel(keys, queries)).T
        return weights

    return Smoother("cme", weigh)


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


def kernel_named(kernel: str | Callable[[np.ndarray, np.ndarray], np.ndarray], gamma: float) -> Kernel:
    """A kernel by name at temperature γ (bandwidth √γ; the offset of the polynomial), or the user's own function."""
    require_positive("a bandwidth", gamma)
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
    weights: Weights, at_keys: Float[np.ndarray, "T k"], at_queries: Float[np.ndarray, "n k"], *, noise: float
) -> Expected:
    """E‖Σ_t w_t(q) v_t − f(q)‖² over the noise, for one fixed f, given the keys.

    Statement  It is ‖Σ_t w_t(q) f(k_t) − f(q)‖² + kσ²‖w(q)‖², k the number of coordinates.
    Assumes    v_t = f(k_t) + noise, independent, of mean 0 and variance σ² in each coordinate.
    Proof      The answer is linear in the values.
    Source     Standard.
    """
    missed = weights @ at_keys - at_queries
    spread = at_keys.shape[1] * noise * np.square(weights).sum(axis=1)
    return Expected(float(np.square(missed).sum(axis=1).mean()), float(spread.mean()))


def expected_gap(
    weights: Weights, kernel: Kernel, keys: Points, queries: Places, *, noise: float, prior: float
) -> Float[np.ndarray, "n"]:
    """E(Σ_t w_t(q) v_t − E[v | q, K, V])² of one coordinate, for each query, given the keys.

    Statement  It is (w − w*)ᵀS(w − w*), S = τ²𝔎(K, K) + σ²I and w* the weights of conditional-mean attention with
               λ = σ²/τ².
    Assumes    v = zφ(k) + N(0, σ²), z from N(0, τ²I).
    Proof      The values have mean 0 and covariance S, and w* gives the posterior mean.
    Equality   0 at w = w*.
    Source     Ours.
    """
    gap = weights - cme_smoother(kernel, noise / prior).weigh(keys, queries)
    covariance = prior * kernel(keys, keys) + noise * np.eye(len(keys))
    squared: np.ndarray = ((gap @ covariance) * gap).sum(axis=1)
    return squared


def posterior_spread(kernel: Kernel, keys: Points, queries: Places, *, noise: float, prior: float) -> np.ndarray:
    """Var(f(q) | K, V) of one coordinate for each query: what the best answer still misses of f, without noise.

    Statement  τ²(𝔎(q, q) − 𝔎(q, K)(𝔎(K, K) + λI)⁻¹𝔎(K, q)), λ = σ²/τ².
    Source     Standard.
    """
    weights = cme_smoother(kernel, noise / prior).weigh(keys, queries)
    explained = (weights * kernel(queries, keys)).sum(axis=1)
    spread: np.ndarray = prior * (kernel.diagonal(queries) - explained)
    return spread
