"""What theory says of an estimator's error in a long context: a limit, a rate, or an identity."""

from dataclasses import dataclass

from keyhole.latent.bias import expected_energies, ridge_bias, softmax_floor
from keyhole.latent.estimators import Settings
from keyhole.latent.harmonics import effective_dimension
from keyhole.latent.questions import Question
from keyhole.latent.regression import LinearRegression, SphereProcess
from keyhole.latent.rules import Rule, vanishing_bandwidth, vanishing_rate


@dataclass(frozen=True)
class Prediction:
    """A sentence, with the number it states where it states one."""

    words: str
    floor: float | None = None  # of the error, however long the context
    rate: float | None = None  # exponent of T


def predict(kind: str, question: Question, settings: Settings, tokens: int) -> Prediction:
    """The prediction for one kind of attention, its numbers taken at the largest context where they depend on it."""
    if question.pooling is not None:
        return _pooled(kind, question, settings)
    if kind == "linear":
        return _linear(question)
    if isinstance(question.model, SphereProcess):
        return _sphere(kind, question.model, settings, tokens)
    if kind == "cme":
        return Prediction(
            "the posterior mean itself where λ = σ²/τ² and the kernel is linear; error like 1/T", rate=-1.0
        )
    gamma = settings.bandwidth or Rule(1.0)
    if settings.kernel not in (None, "exponential") or gamma.power != 0:
        return Prediction("no closed form here; the exact columns are given the keys")
    return Prediction(
        f"normal keys tilt the mean: the limit is zq/γ at γ = {gamma}, and of zq itself the share "
        f"(1 − 1/γ)² = {(1 - 1 / gamma.factor) ** 2:.3g} is missed"
    )


def _pooled(kind: str, question: Question, settings: Settings) -> Prediction:
    pooling = question.pooling
    linear = pooling is not None and pooling.linear
    if kind == "prototypes":
        return Prediction("the posterior mean itself: softmax is Bayes' rule")
    if kind in ("sink", "cme") and settings.ridge is None:
        if linear:
            return Prediction("the posterior mean itself: the prior lives in the sink")
        return Prediction(
            "the best linear rule; the posterior of a finite latent is sharper, so the gap falls like 1/T", rate=-1.0
        )
    if kind in ("sink", "cme"):
        return Prediction("a linear rule with another ridge than the best; the exact columns say what it costs")
    if linear:
        return Prediction("the mean of the tokens forgets the prior: gap (λ/(T + λ))²(t² + s²/T), like 1/T²", rate=-2.0)
    return Prediction("the mean of the tokens: error s²/T exactly, and the posterior closes exponentially", rate=-1.0)


def _linear(question: Question) -> Prediction:
    """One gradient step from 0 on normal keys.

    Statement  E‖(1/T) Σ_t v_t k_tᵀq − zq‖² = kd(τ²(d + 1) + σ²)/T for q and keys from N(0, I).
    Proof      With Ŝ = (1/T) Σ k_t k_tᵀ the answer is zŜq plus noise of variance σ²qᵀŜq/T in each coordinate, and
               E[(Ŝ − I)²] = (d + 1)/T I.
    Source     Ours.
    """
    model = question.model
    if not isinstance(model, LinearRegression):
        return Prediction("linear attention sees only the degree-one part of the function: an error stays")
    width, values = model.key_width, model.value_width
    level = values * width * (model.prior_variance * (width + 1) + model.noise_variance)
    return Prediction(f"one gradient step: error kd(τ²(d + 1) + σ²)/T = {level:.4g}/T exactly", rate=-1.0)


def _sphere(kind: str, model: SphereProcess, settings: Settings, tokens: int) -> Prediction:
    width, parts = model.key_width, expected_energies(model)
    if settings.kernel not in (None, "exponential"):
        return Prediction("no closed form for this kernel; the exact columns are given the keys")
    if kind == "softmax":
        rule = settings.bandwidth or vanishing_bandwidth(width)
        if rule.power == 0:
            floor = softmax_floor(parts, width, rule.factor)
            return Prediction(f"a low-pass filter at fixed γ: the error never falls below {floor:.4g}", floor, 0.0)
        if abs(rule.power - vanishing_bandwidth(width).power) > 1e-9:
            return Prediction(f"γ = {rule} is not the balanced rule; the exact columns are given the keys")
        reached = "near it at d ≤ 3" if width <= 3 else "not reached at these sizes for d ≥ 4"
        return Prediction(
            f"error like T^{vanishing_rate(width):.3f} in the limit ({reached})", rate=vanishing_rate(width)
        )
    ridge = settings.ridge or Rule(model.noise_variance / model.prior_variance)
    gamma = settings.bandwidth(tokens) if settings.bandwidth else model.temperature
    epsilon = ridge(tokens) / tokens
    if ridge.power == 0:
        noise = model.value_width * model.noise_variance * effective_dimension(width, gamma, epsilon) / tokens
        own = settings.bandwidth is None and settings.ridge is None
        first = "the posterior mean itself; " if own else ""
        return Prediction(
            f"{first}error like 1/T up to logarithms: kσ²Γ(λ/T)/T = {noise:.3g} at T = {tokens:,}", rate=-1.0
        )
    bias = ridge_bias(parts, width, gamma, epsilon)
    return Prediction(f"bias of the ridge {bias:.4g} at T = {tokens:,}; its exponent is not reached at these sizes")
