"""The bias of an estimator of a function on the sphere, degree by degree: its error at any length of the context.

A function is known here by its energies: E‖f_ℓ(k)‖² of its degree-ℓ part under uniform keys.
"""

from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.latent.inference.harmonics import multiplier, shrinkage

Energies = Float[Any, "degrees"]


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
