"""A function on the sphere drawn once per sequence, seen through noisy values at uniform keys.

A token is a key and its value side by side, (n, T, d + k). The posterior is a Gaussian law on functions; its mean is
conditional-mean attention with the ridge σ²/τ².
"""

from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import require_positive
from keyhole.decimals import at_least
from keyhole.errors import AssumptionError
from keyhole.latent.inference.bias import Energies, ridge_bias, softmax_floor
from keyhole.latent.inference.harmonics import SMALLEST, effective_dimension, eigenvalue, multiplicity, zonal
from keyhole.latent.inference.measure import is_constant
from keyhole.latent.inference.problem import Prediction, Regression, Settings
from keyhole.latent.inference.rates import vanishing_bandwidth, vanishing_rate
from keyhole.latent.kernels import Gaussian, Kernel, sphere_kernel
from keyhole.latent.models.base import Draw, Rng, require_sizes
from keyhole.latent.models.registry import register_model
from keyhole.latent.models.with_keys import ModelWithKeys, require_widths

MOST_JOINT = 4096  # a process is drawn by a Cholesky factor of its T × T covariance: 4096 take a second and 128 MB
ON_SPHERE = ("exponential", "gaussian")  # one kernel at equal γ: ‖a − b‖² = 2 − 2aᵀb there
WHOLE = 1e-9  # relative: a few hundred terms, each from Bessel functions good to twelve digits


@dataclass(frozen=True)
class SphereProcess(ModelWithKeys):
    """v = f(k) + N(0, σ²I), f a Gaussian process of covariance τ² exp((aᵀb − 1)/γ), keys uniform on the sphere."""

    key_width: int = 3  # d: the sphere is S^{d−1}
    value_width: int = 1  # k
    temperature: float = 0.5  # γ
    prior_variance: float = 1.0  # τ²
    noise_variance: float = 0.09  # σ²

    def __post_init__(self) -> None:
        require_widths(self.key_width, self.value_width, least=2)
        for what, number in (
            ("a temperature", self.temperature),
            ("a prior variance", self.prior_variance),
            ("a noise variance", self.noise_variance),
        ):
            require_positive(what, number)

    @property
    def kernel(self) -> Kernel:
        """exp((aᵀb − 1)/γ)."""
        return sphere_kernel(self.temperature)

    @property
    def regression(self) -> Regression:
        """Its kernel, which on the sphere is also a Gaussian one, and the bandwidth at which softmax errs least."""
        equal = (Gaussian(self.temperature**0.5),)
        return Regression(self.kernel, self.ridge, vanishing_bandwidth(self.key_width), equal)

    def draw_keys(self, count: int, rng: np.random.Generator) -> Float[Any, "count d"]:
        """Points uniform on the sphere."""
        return uniform_on_sphere(count, self.key_width, rng)

    def sample(self, n: int, length: int, rng: Rng) -> Draw:
        """Draw keys, the process at them exactly (n, T, k), and noise."""
        require_sizes(n, length)
        if length > MOST_JOINT:
            raise AssumptionError(
                f"A process is drawn exactly at up to {MOST_JOINT} keys; {length} were asked for. "
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

    def energies(self) -> Energies:
        """The energies of a draw of the process, in expectation: kτ² N(d, ℓ) μ_ℓ; they sum to kτ².

        >>> round(float(SphereProcess().energies().sum()), 12)
        1.0
        """
        parts = [eigenvalue(self.key_width, 0, self.temperature)]
        while parts[-1] > SMALLEST * max(parts):  # in many dimensions the first degrees hold next to nothing
            degree = len(parts)
            mu = eigenvalue(self.key_width, degree, self.temperature)
            parts.append(multiplicity(self.key_width, degree) * mu)
        _require_whole(parts, 1.0, self.key_width, self.temperature)
        return self.value_width * self.prior_variance * np.array(parts)

    def predict(self, kind: str, settings: Settings, tokens: int) -> Prediction:
        """Predict each kind of attention at uniform keys, where harmonics of each degree are treated alike."""
        if kind == "cme":
            return self._shrunk(settings, tokens)
        return self._degree_one() if kind == "linear" else self._filtered(settings, tokens)

    def _degree_one(self) -> Prediction:
        """Linear attention multiplies the degree-one part by 1/d and every other by 0."""
        parts, width = self.energies(), self.key_width
        floor = float(parts.sum() - parts[1] + (1 - 1 / width) ** 2 * parts[1])
        words = f"linear attention sees only the degree-one part, and 1/d of that: the error tends to {floor:.4g}"
        return Prediction(words, floor, gap_rate=0.0, error_rate=0.0)

    def _filtered(self, settings: Settings, tokens: int) -> Prediction:
        """Softmax is a low-pass filter at a fixed bandwidth, and none in the limit of a falling one."""
        width, gamma = self.key_width, settings.bandwidth
        if settings.kernel not in ON_SPHERE or gamma is None:
            return Prediction()
        if gamma.power == 0:
            parts = self.energies()
            floor = softmax_floor(parts, width, gamma.factor)
            words = f"a low-pass filter at fixed γ: the error tends to {floor:.4g}"
            # E[w²]/E[w]² = μ_0(γ/2)/μ_0(γ)² over T: the noise left. A limit that it hides is not a rate.
            alike = eigenvalue(width, 0, gamma.factor / 2) / eigenvalue(width, 0, gamma.factor) ** 2
            noise = (self.value_width * self.noise_variance + float(parts.sum())) * alike / tokens
            return Prediction(words, floor, 0.0, 0.0) if noise < floor else Prediction(words, floor)
        if not isclose(gamma.power, vanishing_bandwidth(width).power, rel_tol=1e-9):
            return Prediction()
        rate = vanishing_rate(width)
        return Prediction(f"error like T^{rate:.3f} in the limit", gap_rate=rate, error_rate=rate)

    def _shrunk(self, settings: Settings, tokens: int) -> Prediction:
        """Conditional-mean attention on the sphere.

        Statement  With the kernel exp((aᵀb − 1)/γ) and ridge λ = εT the error is at least
                   Σ_ℓ (ε/(μ_ℓ + ε))² E‖f_ℓ‖². Averaged over the prior of z and uniform keys and query, that of the
                   posterior mean, and so of every estimator, is at least kσ²Γ(σ²/(τ²T))/T; a fixed z may have less.
        Proof      Ŝ the mean of φ(k)φ(k)ᵀ and S = EŜ: the inverse is operator convex, so E ε(Ŝ + ε)⁻¹ ⪰ ε(S + ε)⁻¹;
                   both commute with rotations, hence are numbers on each degree, and a mean square is at least the
                   square of the mean. The posterior covariance of the features is σ²/T (Ŝ + λ/T)⁻¹, convex again;
                   Σ_ℓ N(d, ℓ) μ_ℓ times it at S gives Γ.
        Source     Ours; the second part is standard.
        """
        width, ridge = self.key_width, settings.ridge
        if ridge is None or not (settings.own_kernel or settings.kernel in ON_SPHERE):
            return Prediction()
        if settings.own_kernel and is_constant(ridge, self.ridge):
            free = effective_dimension(width, self.temperature, self.ridge / tokens)
            least = self.value_width * self.noise_variance * free / tokens
            known = f"kσ²Γ(σ²/(τ²T))/T = {at_least(least, 3)} at T = {tokens:,}"
            bound = f"this equals the posterior mean; error at least {known}"
            if 4 * free > tokens:  # most of what the kernel can tell apart is still unseen: too early for a rate
                return Prediction(bound, least)
            return Prediction(f"{bound}, like 1/T up to logarithms", least, error_rate=-1.0)
        gamma = settings.bandwidth(tokens) if settings.bandwidth else self.temperature
        bias = ridge_bias(self.energies(), width, gamma, ridge(tokens) / tokens)
        return Prediction(f"error at least the bias of the ridge, {at_least(bias, 4)} at T = {tokens:,}", bias)


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

    def energies(self) -> Energies:
        """The energies of a sum of bumps, from degree 0 until nothing is left.

        Statement  E‖f_ℓ‖² = μ_ℓ² N(d, ℓ) Σ_ij c_iᵀc_j P_ℓ(a_iᵀa_j) for f = Σ_j c_j exp((a_jᵀ· − 1)/γ).
        Proof      A bump is Σ_ℓ μ_ℓ N(d, ℓ) P_ℓ(a_jᵀ·), and E[P_ℓ(aᵀk) P_ℓ(bᵀk)] = P_ℓ(aᵀb)/N(d, ℓ).
        Source     Standard (addition theorem).
        """
        dimension = self.centres.shape[1]
        factors = [eigenvalue(dimension, 0, self.temperature) ** 2]
        while factors[-1] > SMALLEST * max(factors):
            degree = len(factors)
            factors.append(eigenvalue(dimension, degree, self.temperature) ** 2 * multiplicity(dimension, degree))
        # E[k(a, ·)²] = Σ_ℓ N μ_ℓ² is the mean of the kernel of half the temperature
        _require_whole(factors, eigenvalue(dimension, 0, self.temperature / 2), dimension, self.temperature)
        shapes = zonal(dimension, len(factors), self.centres @ self.centres.T)
        return np.array(factors) * np.einsum("lij,ij->l", shapes, self.weights @ self.weights.T)


def draw_sphere_function(rng: Rng, *, noise: float = 0.09) -> SphereFunction:
    """A function of eight bumps with two values: centres uniform on the sphere of R³, weights standard normal."""
    stream = np.random.default_rng(rng)
    centres = uniform_on_sphere(8, 3, stream)
    return SphereFunction(centres, stream.normal(size=(8, 2)), noise_variance=noise)


def uniform_on_sphere(n: int, width: int, rng: np.random.Generator) -> Float[Any, "n width"]:
    """Points uniform on S^{width − 1}: Gaussian vectors, scaled to norm 1."""
    points = rng.normal(size=(n, width))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def _root(gram: Float[Any, "T T"]) -> Float[Any, "T T"]:
    """A matrix whose product with its transpose is the Gram matrix; near-singular ones have no Cholesky factor."""
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0))


def _require_whole(parts: list[float], trace: float, dimension: int, temperature: float) -> None:
    """Refuse degrees that do not add up to what they must: double precision has lost some."""
    if not abs(sum(parts) - trace) <= WHOLE * trace or trace == 0:
        raise AssumptionError(
            f"The harmonics of dimension {dimension} at temperature {temperature} are too small for double precision; "
            "take fewer dimensions or a smaller temperature."
        )


register_model("gp", lambda: SphereProcess(key_width=3, value_width=2))
