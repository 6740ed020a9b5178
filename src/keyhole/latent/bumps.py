"""A sum of kernel bumps on the sphere: a regression function all of whose harmonics are known."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from keyhole.attention.arrays import require_context
from keyhole.attention.kernel_families import sphere_kernel
from keyhole.latent.harmonics import SMALLEST, eigenvalue, multiplicity, multiplier, shrinkage, zonal


@dataclass(frozen=True)
class Bumps:
    """f(q) = Σ_j a_j exp((c_jᵀq − 1)/γ), centres c_j on the unit sphere, heights a_j in R^k."""

    centres: Float[np.ndarray, "bumps d"]
    heights: Float[np.ndarray, "bumps k"]
    temperature: float

    def __post_init__(self) -> None:
        require_context(self.centres, self.heights)

    def __call__(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """The function at every row."""
        at_points: np.ndarray = sphere_kernel(self.temperature)(points, self.centres) @ self.heights
        return at_points

    @property
    def squared_norm(self) -> float:
        """‖f‖² in the kernel's own space: the sum over coordinates of a_jᵀ 𝔎(c, c) a_j."""
        gram = sphere_kernel(self.temperature)(self.centres, self.centres)
        return float(np.einsum("ik,ij,jk->", self.heights, gram, self.heights))

    def energies(self) -> Float[np.ndarray, "degrees"]:
        """E‖f_ℓ(k)‖² of the degree-ℓ part under uniform keys, from degree 0 until nothing is left.

        Statement  E‖f_ℓ‖² = μ_ℓ² N(d, ℓ) Σ_ij a_iᵀa_j P_ℓ(c_iᵀc_j).
        Proof      A bump is Σ_ℓ μ_ℓ N(d, ℓ) P_ℓ(c_jᵀ·), and E[P_ℓ(cᵀk) P_ℓ(c′ᵀk)] = P_ℓ(cᵀc′)/N(d, ℓ).
        Source     Standard (addition theorem).
        """
        dimension = self.centres.shape[1]
        factors = [1.0 * eigenvalue(dimension, 0, self.temperature) ** 2]
        while factors[-1] > SMALLEST * max(factors):
            degree = len(factors)
            factors.append(eigenvalue(dimension, degree, self.temperature) ** 2 * multiplicity(dimension, degree))
        shared = self.heights @ self.heights.T
        shapes = zonal(dimension, len(factors), self.centres @ self.centres.T)
        by_degree: np.ndarray = np.array(factors) * np.einsum("lij,ij->l", shapes, shared)
        return by_degree

    def softmax_floor(self, temperature: float) -> float:
        """The mean squared error that softmax attention at a fixed temperature keeps however long the context.

        Statement  Σ_ℓ (1 − A_{d,ℓ}(1/γ))² E‖f_ℓ‖², for uniform keys.
        Proof      The limit multiplies degree ℓ by A_{d,ℓ}; degrees are orthogonal.
        Source     Ours.
        """
        dimension = self.centres.shape[1]
        energies = self.energies()
        missed = [1 - multiplier(dimension, degree, temperature) for degree in range(len(energies))]
        return float(np.square(missed) @ energies)

    def ridge_bias(self, temperature: float, epsilon: float) -> float:
        """The mean squared error of conditional-mean attention with ridge λ = εT in the population.

        Statement  Σ_ℓ (ε/(μ_ℓ + ε))² E‖f_ℓ‖², for uniform keys.
        Source     Ours.
        """
        dimension = self.centres.shape[1]
        energies = self.energies()
        missed = [shrinkage(dimension, degree, temperature, epsilon) for degree in range(len(energies))]
        return float(np.square(missed) @ energies)


def draw_bumps(
    rng: np.random.Generator, *, bumps: int = 8, dimension: int = 3, width: int = 2, temperature: float = 0.5
) -> Bumps:
    """Uniform centres and standard normal heights."""
    return Bumps(draw_directions(rng, bumps, dimension), rng.normal(size=(bumps, width)), temperature)


def draw_directions(rng: np.random.Generator, rows: int, dimension: int) -> Float[np.ndarray, "rows d"]:
    """Uniform points of the unit sphere."""
    points = rng.normal(size=(rows, dimension))
    unit: np.ndarray = points / np.linalg.norm(points, axis=1, keepdims=True)
    return unit
