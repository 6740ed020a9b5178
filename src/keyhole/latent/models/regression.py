"""A function drawn once per sequence, seen through noisy values at keys: what attention is asked to recover.

A token is a key and its value side by side, (n, T, d + k). The posterior is a Gaussian law on functions; it is
conditional-mean attention with the ridge σ²/τ².
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from keyhole.errors import AssumptionError
from keyhole.kernels.algebra import Kernel
from keyhole.kernels.conditional_mean import MeanEmbedding, embed_mean
from keyhole.kernels.families import sphere_kernel
from keyhole.latent.models.base import Draw, Risk, Rng, Tokens, average, require_amount, require_sizes, require_vectors

SQUARED_AT_KEY = "squared error of the function at a fresh key"
MOST_JOINT = 4096  # a process is drawn by a Cholesky factor of its T × T covariance: 4096 take a second and 128 MB


@dataclass(frozen=True)
class LinearPosterior:
    """The slopes z of each sequence: rows independent, N(mean, covariance)."""

    mean_slope: Float[Any, "n k d"]
    covariance: Float[Any, "n d d"]  # of each row of z
    noise_variance: float

    def mean(self, queries: Float[Any, "q d"]) -> Float[Any, "n q k"]:
        """E[v | q, context] for every query."""
        return np.einsum("nkd,qd->nqk", self.mean_slope, queries)

    def variance(self, queries: Float[Any, "q d"]) -> Float[Any, "n q"]:
        """Var(v_j | q, context) of each coordinate, noise included."""
        return self.noise_variance + np.einsum("qd,nde,qe->nq", queries, self.covariance, queries)


@dataclass(frozen=True)
class LinearRegression:
    """v = zk + N(0, σ²I), the entries of z independent N(0, τ²), keys from N(0, I)."""

    key_width: int = 2  # d
    value_width: int = 1  # k
    prior_variance: float = 1.0  # τ²
    noise_variance: float = 1.0  # σ²

    def __post_init__(self) -> None:
        _require_widths(self.key_width, self.value_width, least=1)
        require_amount("a prior variance", self.prior_variance)
        require_amount("a noise variance", self.noise_variance)

    @property
    def ridge(self) -> float:
        """λ = σ²/τ²: with it conditional-mean attention under the linear kernel is the posterior mean."""
        return self.noise_variance / self.prior_variance

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Draw slopes (n, k, d), then keys and values."""
        require_sizes(n, length)
        stream = np.random.default_rng(rng)
        slopes = np.sqrt(self.prior_variance) * stream.normal(size=(n, self.value_width, self.key_width))
        keys = stream.normal(size=(n, length, self.key_width))
        noise = np.sqrt(self.noise_variance) * stream.normal(size=(n, length, self.value_width))
        values = np.einsum("nkd,ntd->ntk", slopes, keys) + noise
        return Draw(np.concatenate([keys, values], axis=2), slopes)

    def split(self, tokens: Tokens) -> tuple[Float[Any, "n T d"], Float[Any, "n T k"]]:
        """Keys and values."""
        return _split(tokens, self.key_width, self.value_width)

    def posterior(self, tokens: Tokens) -> LinearPosterior:
        """Slopes of mean VᵀK(KᵀK + λI)⁻¹ and covariance σ²(KᵀK + λI)⁻¹ per row.

        >>> tokens = np.array([[[1.0, 1.0], [2.0, 2.0], [3.0, 2.0]]])
        >>> posterior = LinearRegression(1, 1, 1.0, 0.5).posterior(tokens)
        >>> posterior.mean(np.array([[2.0]])).round(7).tolist(), posterior.variance(np.array([[2.0]])).round(7).tolist()
        ([[[1.5172414]]], [[0.637931]])
        """
        gram, cross = self.statistic(tokens)
        inverse = np.linalg.inv(gram + self.ridge * np.eye(self.key_width))
        return LinearPosterior(
            np.einsum("ndk,nde->nke", cross, inverse), self.noise_variance * inverse, self.noise_variance
        )

    def predictive(self, tokens: Tokens) -> LinearPosterior:
        """The law of the value at a query: `mean(queries)` and `variance(queries)`, noise included."""
        return self.posterior(tokens)

    def statistic(self, tokens: Tokens) -> tuple[Float[Any, "n d d"], Float[Any, "n d k"]]:
        """KᵀK and KᵀV."""
        keys, values = self.split(tokens)
        return np.einsum("ntd,nte->nde", keys, keys), np.einsum("ntd,ntk->ndk", keys, values)

    def bayes_risk(self, length: int, *, draws: int = 2000, rng: Rng = 0) -> Risk:
        """E‖zq − E[zq | X]‖² at a fresh key: k times the trace of the covariance, averaged over keys."""
        posterior = self.posterior(self.sample(draws, length, rng).tokens)
        return average(self.value_width * np.einsum("ndd->n", posterior.covariance), SQUARED_AT_KEY)


@dataclass(frozen=True)
class ProcessPosterior:
    """A Gaussian law on functions per sequence."""

    contexts: tuple[MeanEmbedding, ...]
    noise_variance: float

    def mean(self, queries: Float[Any, "q d"]) -> Float[Any, "n q k"]:
        """E[v | q, context] for every query."""
        return np.stack([context.mean(queries) for context in self.contexts])

    def variance(self, queries: Float[Any, "q d"]) -> Float[Any, "n q"]:
        """Var(v_j | q, context) of each coordinate, noise included."""
        return np.stack([context.variance(queries, noise=self.noise_variance) for context in self.contexts])


@dataclass(frozen=True)
class SphereProcess:
    """v = f(k) + N(0, σ²I), f a Gaussian process of covariance τ² exp((aᵀb − 1)/γ), keys uniform on the sphere."""

    key_width: int = 3  # d: the sphere is S^{d−1}
    value_width: int = 1  # k
    temperature: float = 0.5  # γ
    prior_variance: float = 1.0  # τ²
    noise_variance: float = 0.09  # σ²

    def __post_init__(self) -> None:
        _require_widths(self.key_width, self.value_width, least=2)
        for what, number in (
            ("a temperature", self.temperature),
            ("a prior variance", self.prior_variance),
            ("a noise variance", self.noise_variance),
        ):
            require_amount(what, number)

    @property
    def kernel(self) -> Kernel:
        """exp((aᵀb − 1)/γ)."""
        return sphere_kernel(self.temperature)

    @property
    def ridge(self) -> float:
        """λ = σ²/τ²."""
        return self.noise_variance / self.prior_variance

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Draw keys, the process at them exactly (n, T, k), and noise."""
        require_sizes(n, length)
        if length > MOST_JOINT:
            raise AssumptionError(
                f"a process is drawn exactly at up to {MOST_JOINT} keys; {length} were asked for. "
                "Draw a SphereFunction instead."
            )
        stream = np.random.default_rng(rng)
        keys = uniform_on_sphere(n * length, self.key_width, stream).reshape(n, length, self.key_width)
        unit = stream.normal(size=(n, length, self.value_width))
        truth = np.sqrt(self.prior_variance) * np.stack(
            [_root(self.kernel(own, own)) @ draw for own, draw in zip(keys, unit, strict=True)]
        )
        noise = np.sqrt(self.noise_variance) * stream.normal(size=truth.shape)
        return Draw(np.concatenate([keys, truth + noise], axis=2), truth)

    def split(self, tokens: Tokens) -> tuple[Float[Any, "n T d"], Float[Any, "n T k"]]:
        """Keys and values."""
        return _split(tokens, self.key_width, self.value_width)

    def posterior(self, tokens: Tokens) -> ProcessPosterior:
        """Conditional-mean attention with ridge σ²/τ², for each sequence."""
        keys, values = self.split(tokens)
        contexts = (embed_mean(self.kernel, k, v, ridge=self.ridge) for k, v in zip(keys, values, strict=True))
        return ProcessPosterior(tuple(contexts), self.noise_variance)

    def predictive(self, tokens: Tokens) -> ProcessPosterior:
        """The law of the value at a query: `mean(queries)` and `variance(queries)`, noise included."""
        return self.posterior(tokens)

    def statistic(self, tokens: Tokens) -> Tokens:
        """The pairs in a standard order: with distinct keys nothing but their order can be forgotten."""
        require_vectors(tokens, self.key_width + self.value_width)
        order = [np.lexsort(sequence.T[::-1]) for sequence in tokens]
        return np.stack([sequence[places] for sequence, places in zip(tokens, order, strict=True)])

    def bayes_risk(self, length: int, *, draws: int = 50, rng: Rng = 0) -> Risk:
        """E‖f(q) − E[f(q) | X]‖² at a fresh key, averaged over keys; each context is asked at 64 of them."""
        require_sizes(draws, length)
        stream = np.random.default_rng(rng)
        losses = []
        for _ in range(draws):
            queries = uniform_on_sphere(64, self.key_width, stream)
            if length == 0:
                losses.append(self.prior_variance)
                continue
            keys = uniform_on_sphere(length, self.key_width, stream)
            context = embed_mean(self.kernel, keys, np.zeros((length, 1)), ridge=self.ridge)
            variance = context.variance(queries, noise=self.noise_variance) - self.noise_variance
            losses.append(float(variance.mean()))
        return average(self.value_width * np.array(losses), SQUARED_AT_KEY)


@dataclass(frozen=True)
class SphereFunction:
    """One fixed function on the sphere, f(k) = Σ_j c_j exp((a_jᵀk − 1)/γ): the target of a rate in T."""

    centres: Float[Any, "J d"]  # a
    weights: Float[Any, "J k"]  # c
    temperature: float = 0.5  # γ
    noise_variance: float = 0.09  # σ²

    def __call__(self, keys: Float[Any, "T d"]) -> Float[Any, "T k"]:
        """The function, without noise."""
        return sphere_kernel(self.temperature)(keys, self.centres) @ self.weights

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Keys uniform on the sphere and noisy values; the latent is the function's value at the keys."""
        require_sizes(n, length)
        stream = np.random.default_rng(rng)
        keys = uniform_on_sphere(n * length, self.centres.shape[1], stream)
        truth = self(keys)
        values = truth + np.sqrt(self.noise_variance) * stream.normal(size=truth.shape)
        tokens = np.concatenate([keys, values], axis=1).reshape(n, length, -1)
        return Draw(tokens, truth.reshape(n, length, -1))


def draw_sphere_function(
    rng: Rng, *, bumps: int = 8, key_width: int = 3, value_width: int = 2, temperature: float = 0.5, noise: float = 0.09
) -> SphereFunction:
    """A function of that many bumps: centres uniform on the sphere, weights standard normal."""
    _require_widths(key_width, value_width, least=2)
    require_amount("a temperature", temperature)
    require_amount("a noise variance", noise)
    stream = np.random.default_rng(rng)
    centres = uniform_on_sphere(bumps, key_width, stream)
    return SphereFunction(centres, stream.normal(size=(bumps, value_width)), temperature, noise)


def uniform_on_sphere(n: int, width: int, rng: np.random.Generator) -> Float[Any, "n width"]:
    """Points uniform on S^{width − 1}: Gaussian vectors, scaled to norm 1."""
    points = rng.normal(size=(n, width))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def _root(gram: Float[Any, "T T"]) -> Float[Any, "T T"]:
    """A matrix whose product with its transpose is the Gram matrix; near-singular ones have no Cholesky factor."""
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0))


def _split(tokens: Tokens, key_width: int, value_width: int) -> tuple[np.ndarray, np.ndarray]:
    require_vectors(tokens, key_width + value_width)
    return tokens[:, :, :key_width], tokens[:, :, key_width:]


def _require_widths(key_width: int, value_width: int, *, least: int) -> None:
    if key_width < least or value_width < 1:
        raise AssumptionError(
            f"keys of width {key_width} and values of width {value_width} were asked for; "
            f"keys need at least {least}, values at least 1."
        )
