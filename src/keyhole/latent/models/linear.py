"""Slopes drawn once per sequence, seen through noisy values at normal keys: linear regression in a context.

A token is a key and its value side by side, (n, T, d + k). The posterior mean is conditional-mean attention under the
linear kernel with the ridge σ²/τ².
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyhole.arrays import Float
from keyhole.attention import require_positive
from keyhole.latent.inference.measure import is_constant, reached_rates, shrinking_rates
from keyhole.latent.inference.problem import Prediction, Regression, Settings
from keyhole.latent.inference.rates import PowerOfT
from keyhole.latent.kernels import linear_kernel
from keyhole.latent.models.registry import register_model
from keyhole.latent.models.with_keys import ModelWithKeys, require_widths


@dataclass(frozen=True)
class LinearRegression(ModelWithKeys):
    """v = zk + N(0, σ²I), the entries of z independent N(0, τ²), keys from N(0, I)."""

    key_width: int = 2  # d
    value_width: int = 1  # k
    prior_variance: float = 1.0  # τ²
    noise_variance: float = 1.0  # σ²

    def __post_init__(self) -> None:
        require_widths(self.key_width, self.value_width, least=1)
        require_positive("a prior variance", self.prior_variance)
        require_positive("a noise variance", self.noise_variance)

    repeats = 64  # its systems are small
    attentions = ("softmax", "cme", "linear")

    @property
    def regression(self) -> Regression:
        """The linear kernel; at γ = 1 softmax's exponential tilt of normal keys is the identity on linear maps."""
        return Regression(linear_kernel(), self.ridge, PowerOfT(1.0))

    def draw_keys(self, count: int, rng: np.random.Generator) -> Float[Any, "count d"]:
        """Standard normal vectors."""
        return rng.normal(size=(count, self.key_width))

    def predict(self, kind: str, settings: Settings, tokens: int) -> Prediction:
        """Predict each kind of attention at normal keys."""
        if kind == "linear":
            return self._gradient_step()
        return self._shrunk(settings, tokens) if kind == "cme" else self._tilted(settings)

    def _gradient_step(self) -> Prediction:
        """One gradient step from 0 on normal keys.

        Statement  E‖(1/T) Σ_t v_t k_tᵀq − zq‖² = kd(τ²(d + 1) + σ²)/T for q and keys from N(0, I).
        Proof      With Ŝ = (1/T) Σ k_t k_tᵀ the answer is zŜq plus noise of variance σ²qᵀŜq/T in each coordinate, and
                   E[(Ŝ − I)²] = (d + 1)/T I.
        Source     Ours.
        """
        width, values = self.key_width, self.value_width
        level = values * width * (self.prior_variance * (width + 1) + self.noise_variance)
        words = f"one gradient step: error kd(τ²(d + 1) + σ²)/T = {level:.4g}/T exactly"
        return Prediction(words, gap_rate=-1.0, error_rate=-1.0)

    def _shrunk(self, settings: Settings, tokens: int) -> Prediction:
        """By its own kernel: (1/T)KᵀK tends to I, so a ridge shrinks by T/(T + λ) in the limit."""
        ridge = settings.ridge
        if not settings.own_kernel or ridge is None:
            return Prediction()
        if is_constant(ridge, self.ridge):
            return Prediction("this equals the posterior mean: λ = σ²/τ²; error like 1/T", error_rate=-1.0)
        gap, error = shrinking_rates(ridge)
        words = f"another ridge than σ²/τ²: in the limit gap like T^{gap:g}, error like T^{error:g}"
        near = reached_rates(ridge, self.ridge, tokens)
        return Prediction(words, gap_rate=near[0], error_rate=near[1])

    def _tilted(self, settings: Settings) -> Prediction:
        """Softmax over normal keys: e^(qᵀk/γ) moves their mean to q/γ."""
        gamma = settings.bandwidth
        if settings.kernel != "exponential" or gamma is None or gamma.power != 0:
            return Prediction()
        share = (1 - 1 / gamma.factor) ** 2
        words = (
            f"normal keys tilt the mean: the limit is zq/γ at γ = {gamma}, and of zq itself the share "
            f"(1 − 1/γ)² = {share:.3g} is missed"
        )
        if gamma.factor**2 <= 2:  # the weights' relative variance e^(‖q‖²/γ²)/T has then no mean over the queries
            return Prediction(words)
        floor = share * self.key_width * self.value_width * self.prior_variance
        return Prediction(words, floor, gap_rate=0.0, error_rate=0.0)


register_model("linear", lambda: LinearRegression(key_width=3, value_width=2, prior_variance=1.0, noise_variance=0.5))
