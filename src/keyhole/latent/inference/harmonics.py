"""On the sphere the exponential kernel and softmax attention act on each harmonic degree by one number.

Keys are uniform on the unit sphere of R^d, the kernel is exp((aᵀb − 1)/γ), and κ = 1/γ. Functions of degree ℓ are
eigenfunctions of the kernel; softmax attention multiplies them, conditional-mean attention shrinks them.
"""

from itertools import count
from math import comb, exp, lgamma, log

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import require_positive
from keyhole.errors import AssumptionError

SMALLEST = 1e-18  # relative: terms of a sum below this change no digit of it


def multiplicity(dimension: int, degree: int) -> int:
    """The number of independent harmonics of a degree on the unit sphere of R^d.

    Statement  N(d, 0) = 1 and N(d, ℓ) = (2ℓ + d − 2)/ℓ · C(ℓ + d − 3, ℓ − 1).
    Source     Standard.

    >>> [multiplicity(3, degree) for degree in range(4)]
    [1, 3, 5, 7]
    """
    _require_sphere(dimension, degree)
    return 1 if degree == 0 else (2 * degree + dimension - 2) * comb(degree + dimension - 3, degree - 1) // degree


def eigenvalue(dimension: int, degree: int, temperature: float) -> float:
    """The eigenvalue of the kernel exp((aᵀb − 1)/γ) on harmonics of a degree.

    Statement  μ_ℓ = Gamma(d/2) (2/κ)^(d/2−1) e^(−κ) I_{d/2−1+ℓ}(κ), and Σ_ℓ N(d, ℓ) μ_ℓ = 1.
    Proof      Funk–Hecke and the integral representation of I; the sum is the kernel's diagonal.
    Source     Standard.

    >>> round(eigenvalue(3, 1, 0.5), 8)
    0.13186836
    """
    _require_sphere(dimension, degree)
    order, kappa = dimension / 2 - 1, _inverse(temperature)
    scale = exp(lgamma(dimension / 2) + order * log(2 / kappa))
    return scale * _scaled_bessel(order + degree, kappa)


def multiplier(dimension: int, degree: int, temperature: float) -> float:
    """The factor by which softmax attention at temperature γ multiplies the degree-ℓ part of E[v | k] in the limit.

    Statement  For uniform keys, attn → E[v e^(qᵀk/γ)]/E[e^(qᵀk/γ)] multiplies it by
               A_{d,ℓ}(κ) = I_{d/2−1+ℓ}(κ)/I_{d/2−1}(κ): a low-pass filter, A_{d,0} = 1.
    Proof      The ratio of eigenvalues μ_ℓ/μ_0 of the kernel e^(qᵀk/γ).
    Source     Ours.

    >>> round(multiplier(3, 1, 0.5), 6), round(multiplier(3, 2, 0.5), 6)
    (0.537315, 0.194028)
    """
    _require_sphere(dimension, degree)
    kappa = _inverse(temperature)
    mass = _scaled_bessel(dimension / 2 - 1, kappa)
    if mass == 0:
        raise AssumptionError(
            f"The Bessel functions of dimension {dimension} vanish in double precision at temperature {temperature}; "
            "take a smaller temperature."
        )
    return _scaled_bessel(dimension / 2 - 1 + degree, kappa) / mass


def shrinkage(dimension: int, degree: int, temperature: float, epsilon: float) -> float:
    """The share of the degree-ℓ part that conditional-mean attention with ridge λ = εT leaves out, in the population.

    Statement  It misses the share ε/(μ_ℓ + ε); with ε = T^(−1/4) the logarithmic slope of the squared bias in T is
               −½ μ_ℓ/(μ_ℓ + ε) = −½(1 − the share).
    Proof      C_VK(C_KK + ε)⁻¹ is μ_ℓ/(μ_ℓ + ε) on degree ℓ; differentiate 2 log(ε/(μ_ℓ + ε)).
    Source     Ours.

    >>> round(shrinkage(3, 1, 0.5, 1e4**-0.25) ** 2, 4)
    0.186
    """
    require_positive("a ridge per token", epsilon)
    return epsilon / (eigenvalue(dimension, degree, temperature) + epsilon)


def effective_dimension(dimension: int, temperature: float, epsilon: float) -> float:
    """Γ(ε) = Σ_ℓ N(d, ℓ) μ_ℓ/(μ_ℓ + ε): how many directions of the kernel a ridge λ = εT leaves free.

    Statement  The noise's part of the error of kernel ridge regression is at most about σ²Γ(λ/T)/T.
    Source     Standard.

    >>> round(effective_dimension(3, 0.5, 0.01), 3)
    14.371
    """
    require_positive("a ridge per token", epsilon)
    total = 0.0
    if eigenvalue(dimension, 0, temperature) == 0:
        raise AssumptionError(
            f"The harmonics of dimension {dimension} at temperature {temperature} are too small for double precision; "
            "take fewer dimensions or a smaller temperature."
        )
    for degree in count():
        mu = eigenvalue(dimension, degree, temperature)
        term = multiplicity(dimension, degree) * mu / (mu + epsilon)
        total += term
        if term < SMALLEST * total:
            break
    return total


def zonal(dimension: int, degrees: int, cosines: Float[np.ndarray, "*any"]) -> Float[np.ndarray, "degrees *any"]:
    """P_0 … P_{degrees−1} at these cosines: the harmonics that see only the angle to one point, P_ℓ(1) = 1.

    Statement  (ℓ + d − 2) P_{ℓ+1}(t) = (2ℓ + d − 2) t P_ℓ(t) − ℓ P_{ℓ−1}(t), P_0 = 1, P_1 = t.
    Source     Standard: Gegenbauer's polynomials, normalised at 1.

    >>> zonal(3, 3, np.array([0.5]))[:, 0].tolist()
    [1.0, 0.5, -0.125]
    """
    _require_sphere(dimension, degrees - 1)
    polynomials = [np.ones_like(cosines), np.asarray(cosines)]
    for degree in range(1, degrees - 1):
        step = (2 * degree + dimension - 2) * cosines * polynomials[-1] - degree * polynomials[-2]
        polynomials.append(step / (degree + dimension - 2))
    return np.stack(polynomials[:degrees])


def _scaled_bessel(order: float, kappa: float) -> float:
    """e^(−κ) I_order(κ)."""
    from scipy.special import ive  # noqa: PLC0415  (imported when asked for)

    return float(ive(order, kappa))


def _inverse(temperature: float) -> float:
    require_positive("a temperature", temperature)
    return 1 / temperature


def _require_sphere(dimension: int, degree: int) -> None:
    if dimension < 2 or degree < 0:
        raise AssumptionError(
            f"Harmonics live on the unit sphere of R^d, d ≥ 2, and have degrees from 0; got d = {dimension} and degree "
            f"{degree}."
        )
