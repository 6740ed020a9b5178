"""Planning a sweep: how often its contexts would tell one growth law from another."""

import numpy as np
from jaxtyping import Float

from keyhole.lab.laws.growth_laws import LINEAR, LOG, SQUARE_ROOT, AffineLaw


def share_named(
    truth: AffineLaw,
    contexts: Float[np.ndarray, "n"],
    noise: float,
    *,
    rivals: tuple[AffineLaw, ...] = (LOG, SQUARE_ROOT, LINEAR),
    rise: float = 3.0,
    runs: int = 1000,
    seed: int = 0,
) -> float:
    """How often plain least squares and AIC name the law that is true, on contexts such as these.

    The truth is one of the rivals. It rises from 1 to `rise` over the contexts, and each point has Gaussian noise of
    this share of its value. All rivals have two coefficients, so AIC is the smallest sum of squares.
    """
    rng = np.random.default_rng(seed)
    span = truth.f(contexts)
    means = 1 + (rise - 1) * (span - span[0]) / (span[-1] - span[0])
    samples = means * (1 + noise * rng.standard_normal((runs, len(contexts))))
    residuals = []
    for rival in rivals:
        design = np.stack([np.ones(len(contexts)), rival.f(contexts)], axis=1)
        basis = np.linalg.qr(design)[0]
        residuals.append(((samples - samples @ basis @ basis.T) ** 2).sum(axis=1))
    return float((np.argmin(residuals, axis=0) == rivals.index(truth)).mean())
