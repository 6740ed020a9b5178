"""What an estimator misses of a function on the sphere however long the context, degree by degree.

A function is known here by its energies: E‖f_ℓ(k)‖² of its degree-ℓ part under uniform keys.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from keyhole.errors import AssumptionError
from keyhole.latent.inference.harmonics import SMALLEST, eigenvalue, multiplicity, multiplier, shrinkage, zonal
from keyhole.latent.models.regression import SphereFunction, SphereProcess

Energies = Float[Any, "degrees"]

WHOLE = 1e-9  # relative: a few hundred terms, each from Bessel functions good to twelve digits


def energies(function: SphereFunction) -> Energies:
    """The energies of a sum of bumps, from degree 0 until nothing is left.

    Statement  E‖f_ℓ‖² = μ_ℓ² N(d, ℓ) Σ_ij c_iᵀc_j P_ℓ(a_iᵀa_j) for f = Σ_j c_j exp((a_jᵀ· − 1)/γ).
    Proof      A bump is Σ_ℓ μ_ℓ N(d, ℓ) P_ℓ(a_jᵀ·), and E[P_ℓ(aᵀk) P_ℓ(bᵀk)] = P_ℓ(aᵀb)/N(d, ℓ).
    Source     Standard (addition theorem).
    """
    dimension = function.centres.shape[1]
    factors = [eigenvalue(dimension, 0, function.temperature) ** 2]
    while factors[-1] > SMALLEST * max(factors):
        degree = len(factors)
        factors.append(eigenvalue(dimension, degree, function.temperature) ** 2 * multiplicity(dimension, degree))
    # E[k(a, ·)²] = Σ_ℓ N μ_ℓ² is the mean of the kernel of half the temperature
    _require_whole(factors, eigenvalue(dimension, 0, function.temperature / 2), dimension, function.temperature)
    shapes = zonal(dimension, len(factors), function.centres @ function.centres.T)
    return np.array(factors) * np.einsum("lij,ij->l", shapes, function.weights @ function.weights.T)


def expected_energies(process: SphereProcess) -> Energies:
    """The energies of a draw of the process, in expectation: kτ² N(d, ℓ) μ_ℓ; they sum to kτ².

    >>> round(float(expected_energies(SphereProcess()).sum()), 12)
    1.0
    """
    found = [eigenvalue(process.key_width, 0, process.temperature)]
    while found[-1] > SMALLEST * max(found):  # in many dimensions the first degrees hold next to nothing
        degree = len(found)
        mu = eigenvalue(process.key_width, degree, process.temperature)
        found.append(multiplicity(process.key_width, degree) * mu)
    _require_whole(found, 1.0, process.key_width, process.temperature)
    return process.value_width * process.prior_variance * np.array(found)


def softmax_floor(parts: Energies, dimension: int, temperature: float) -> float:
    """The mean squared error that softmax attention at a fixed temperature keeps however long the context.

    Statement  Σ_ℓ (1 − A_{d,ℓ}(1/γ))² E‖f_ℓ‖², for uniform keys.
    Proof      The limit multiplies degree ℓ by A_{d,ℓ}; degrees are orthogonal.
    Source     Ours.

    >>> round(softmax_floor(np.array([1.0, 1.0]), 3, 0.5), 4)
    0.2141
    """
    missed = [1 - multiplier(dimension, degree, temperature) for degree in range(len(parts))]
    return float(np.square(missed) @ parts)


def ridge_bias(parts: Energies, dimension: int, temperature: float, epsilon: float) -> float:
    """The mean squared error of conditional-mean attention with ridge λ = εT in the population.

    Statement  Σ_ℓ (ε/(μ_ℓ + ε))² E‖f_ℓ‖², for uniform keys and the kernel exp((aᵀb − 1)/γ).
    Source     Ours.
    """
    missed = [shrinkage(dimension, degree, temperature, epsilon) for degree in range(len(parts))]
    return float(np.square(missed) @ parts)


def _require_whole(parts: list[float], trace: float, dimension: int, temperature: float) -> None:
    """Refuse degrees that do not add up to what they must: double precision has lost some."""
    if not abs(sum(parts) - trace) <= WHOLE * trace or trace == 0:
        raise AssumptionError(
            f"the harmonics of dimension {dimension} at temperature {temperature} are too small for double precision; "
            "take fewer dimensions or a smaller temperature."
        )
