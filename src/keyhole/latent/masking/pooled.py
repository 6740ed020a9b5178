"""Least squares on the tokens of a Gaussian location: tied weights, which pool the tokens, and a weight for each place.

z ~ N(0, τ²I_d) per sequence, tokens x = z + N(0, σ²I_d), label y = ⟨w, z⟩ + N(0, η²) with ‖w‖ = 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.errors import ArgumentError


@dataclass(frozen=True)
class PooledSquares:
    """The model of sequences and labels; in it the excess risk of least squares is known exactly."""

    width: int = 4  # d
    prior_variance: float = 1.0  # τ²
    noise_variance: float = 1.0  # σ²
    label_variance: float = 0.25  # η²

    def sample(self, n: int, length: int, rng: np.random.Generator) -> tuple[Float[Any, "n T d"], Float[Any, "n"]]:
        """Sequences and their labels; w is the first axis, which no estimate knows."""
        latents = np.sqrt(self.prior_variance) * rng.normal(size=(n, 1, self.width))
        tokens = latents + np.sqrt(self.noise_variance) * rng.normal(size=(n, length, self.width))
        return tokens, latents[:, 0, 0] + np.sqrt(self.label_variance) * rng.normal(size=n)

    def learn(self, tokens: Float[Any, "n T d"], labels: Float[Any, "n"], *, tied: bool) -> float:
        """Fit least squares without an intercept, and return its exact excess risk over the Bayes prediction.

        The Bayes prediction is ⟨s w, mean of the tokens⟩, s = τ²/(τ² + σ²/T): linear in either set of inputs, so that
        the class has no approximation error. The excess is (β̂ − β)ᵀΣ(β̂ − β) with Σ the covariance of the inputs.
        """
        n, length, width = tokens.shape
        inputs = tokens.mean(axis=1) if tied else tokens.reshape(n, length * width)
        if n <= inputs.shape[1]:
            raise ArgumentError(
                f"{n} sequences were given for {inputs.shape[1]} weights; least squares needs more sequences than "
                "weights."
            )
        solution = np.linalg.lstsq(inputs, labels, rcond=None)[0]
        share = self.prior_variance / (self.prior_variance + self.noise_variance / length)
        best = np.zeros(width)
        best[0] = share
        if tied:
            return float((self.prior_variance + self.noise_variance / length) * np.square(solution - best).sum())
        apart = solution.reshape(length, width) - best / length
        summed = apart.sum(axis=0)  # Σ = τ²(11ᵀ ⊗ I) + σ²I
        return float(self.prior_variance * np.square(summed).sum() + self.noise_variance * np.square(apart).sum())


def pooled_risk(model: PooledSquares, length: int) -> float:
    """The Bayes risk v_T = η² + τ²(σ²/T)/(τ² + σ²/T).

    >>> round(pooled_risk(PooledSquares(), 8), 6)
    0.361111
    """
    noise = model.noise_variance / length
    return model.label_variance + model.prior_variance * noise / (model.prior_variance + noise)


def pooled_excess(model: PooledSquares, n: int, length: int, *, tied: bool) -> float:
    """The expected excess risk of least squares on n sequences, exactly.

    Statement  v_T P/(n − P − 1) with P = d weights (tied) or T·d (a weight for each place); infinite for n ≤ P + 1.
    Proof      Inputs and residual are Gaussian and independent, the residual of variance v_T. Given the inputs the
               excess is v_T tr(Σ(XᵀX)⁻¹), and E(XᵀX)⁻¹ = Σ⁻¹/(n − P − 1), the mean of an inverse Wishart matrix.
    Source     Textbook.

    >>> [round(pooled_excess(PooledSquares(), 300, 8, tied=tied), 6) for tied in (True, False)]
    [0.004896, 0.043279]
    """
    weights = model.width * (1 if tied else length)
    if n <= weights + 1:
        return float("inf")
    return pooled_risk(model, length) * weights / (n - weights - 1)
