"""What theory says of an estimator's error in a long context: a limit, a rate, a bound or an identity, or nothing."""

from dataclasses import dataclass
from math import isclose, log2

from keyhole.latent.inference.attentions import ON_SPHERE, OWN, Estimator
from keyhole.latent.inference.bias import expected_energies, ridge_bias, softmax_floor
from keyhole.latent.inference.harmonics import effective_dimension, eigenvalue
from keyhole.latent.inference.problem import Pooling, Question
from keyhole.latent.inference.schedules import Rule, vanishing_bandwidth, vanishing_rate
from keyhole.latent.models.regression import LinearRegression, SphereProcess


@dataclass(frozen=True)
class Prediction:
    """A sentence with the numbers it states; without a sentence there is nothing exact to say."""

    words: str | None = None
    floor: float | None = None  # where the error tends, or what it never falls below at the largest context
    gap_rate: float | None = None  # exponent of T of the distance from the posterior mean, where it has set in
    error_rate: float | None = None  # the same of the distance from E[v | q, z]


def predict(estimator: Estimator, question: Question, tokens: int) -> Prediction:
    """The prediction for an estimator as it was made, its numbers taken at the largest context where they need one."""
    if question.pooling is not None:
        return _pooled(estimator, question, question.pooling, tokens)
    if isinstance(question.model, SphereProcess):
        return _sphere(estimator, question.model, tokens)
    if estimator.name == "linear":
        return _gradient_step(question.model)
    if estimator.name == "cme":
        return _linear_kernel(estimator, question, tokens)
    return _tilted(estimator, question.model)


def shrinking_rates(ridge: Rule) -> tuple[float, float]:
    """The exponents of gap and error when w = T/(T + λ_T), λ_T = cT^p, stands where T/(T + λ) is best.

    Statement  The gap falls like T^(2 max(p, 0) − 2) and the error like T^max(2p − 2, −1) if p < 1; neither falls
               if p ≥ 1.
    Assumes    λ_T is not λ itself.
    Proof      The gap is (w − w*)²(t² + s²/T) with w − w* ≈ (λ − λ_T)/T; the error is (1 − w)²t² + w²s²/T.
    Source     Ours.

    >>> shrinking_rates(Rule(1.0, 0.75)), shrinking_rates(Rule(3.0)), shrinking_rates(Rule(1.0, 1.0))
    ((-0.5, -0.5), (-2.0, -1.0), (0.0, 0.0))
    """
    if ridge.power >= 1:
        return 0.0, 0.0
    return 2 * max(ridge.power, 0.0) - 2, max(2 * ridge.power - 2, -1.0)


def reached_rates(ridge: Rule, best: float, tokens: int) -> tuple[float | None, float | None]:
    """Those exponents that gap and error have come within a tenth of, over the last doubling before T; else None.

    >>> reached_rates(Rule(1.0, 0.25), 4.0, 1024), reached_rates(Rule(1e6), 4.0, 1024)
    ((None, -1.0), (None, None))
    """

    def losses(length: float) -> tuple[float, float]:  # in units of t²
        weight, right = length / (length + ridge.factor * length**ridge.power), length / (length + best)
        gap = (weight - right) ** 2 * (1 + best / length)
        return gap, (1 - weight) ** 2 + weight**2 * best / length

    pairs = zip(losses(tokens / 2), losses(tokens), shrinking_rates(ridge), strict=True)
    gap, error = (
        rate if before > 0 and now > 0 and abs(log2(now / before) - rate) <= 0.1 else None
        for before, now, rate in pairs
    )
    return gap, error


def _pooled(estimator: Estimator, question: Question, pooling: Pooling, tokens: int) -> Prediction:
    """Without keys every kind but the prototypes is m₀ + w(x̄ − m₀)."""
    if estimator.name == "prototypes":
        return Prediction("the posterior mean itself: softmax is Bayes' rule")
    ridge = estimator.ridge
    if ridge is None:
        words = "the mean of the tokens: error s²/T exactly, and the posterior closes exponentially"
        if pooling.linear:
            words = "the mean of the tokens forgets the prior: gap (λ/(T + λ))²(t² + s²/T), like 1/T²"
        return Prediction(words, gap_rate=-2.0 if pooling.linear else -1.0, error_rate=-1.0)
    if _is_best(ridge, question):
        if pooling.linear:
            return Prediction("the posterior mean itself: the prior lives in the sink", error_rate=-1.0)
        words = "the best linear rule; the posterior of a finite latent is sharper, so the gap falls like 1/T"
        return Prediction(words, gap_rate=-1.0, error_rate=-1.0)
    gap, error = shrinking_rates(ridge)
    near = reached_rates(ridge, question.ridge, tokens)
    if pooling.linear:
        words = (
            f"a linear rule with another ridge than the best: in the limit gap like T^{gap:g}, error like T^{error:g}"
        )
        return Prediction(words, gap_rate=near[0], error_rate=near[1])
    words = f"a linear rule with another ridge than the best: in the limit gap and error like T^{error:g}"
    return Prediction(words, gap_rate=near[1], error_rate=near[1])


def _is_best(ridge: Rule, question: Question) -> bool:
    return ridge.power == 0 and isclose(ridge.factor, question.ridge, rel_tol=1e-12)  # typed and divided numbers agree


def _gradient_step(model: LinearRegression) -> Prediction:
    """One gradient step from 0 on normal keys.

    Statement  E‖(1/T) Σ_t v_t k_tᵀq − zq‖² = kd(τ²(d + 1) + σ²)/T for q and keys from N(0, I).
    Proof      With Ŝ = (1/T) Σ k_t k_tᵀ the answer is zŜq plus noise of variance σ²qᵀŜq/T in each coordinate, and
               E[(Ŝ − I)²] = (d + 1)/T I.
    Source     Ours.
    """
    width, values = model.key_width, model.value_width
    level = values * width * (model.prior_variance * (width + 1) + model.noise_variance)
    words = f"one gradient step: error kd(τ²(d + 1) + σ²)/T = {level:.4g}/T exactly"
    return Prediction(words, gap_rate=-1.0, error_rate=-1.0)


def _linear_kernel(estimator: Estimator, question: Question, tokens: int) -> Prediction:
    """Linear regression by its own kernel: (1/T)KᵀK tends to I, so a ridge shrinks by T/(T + λ) in the limit."""
    ridge = estimator.ridge
    if estimator.kernel != OWN or ridge is None:
        return Prediction()
    if _is_best(ridge, question):
        return Prediction("the posterior mean itself: λ = σ²/τ²; error like 1/T", error_rate=-1.0)
    gap, error = shrinking_rates(ridge)
    words = f"another ridge than σ²/τ²: in the limit gap like T^{gap:g}, error like T^{error:g}"
    near = reached_rates(ridge, question.ridge, tokens)
    return Prediction(words, gap_rate=near[0], error_rate=near[1])


def _tilted(estimator: Estimator, model: LinearRegression) -> Prediction:
    """Softmax over normal keys: e^(qᵀk/γ) moves their mean to q/γ."""
    gamma = estimator.bandwidth
    if estimator.kernel != "exponential" or gamma is None or gamma.power != 0:
        return Prediction()
    share = (1 - 1 / gamma.factor) ** 2
    words = (
        f"normal keys tilt the mean: the limit is zq/γ at γ = {gamma}, and of zq itself the share "
        f"(1 − 1/γ)² = {share:.3g} is missed"
    )
    if gamma.factor**2 <= 2:  # the weights' relative variance e^(‖q‖²/γ²)/T has then no mean over the queries
        return Prediction(words)
    floor = share * model.key_width * model.value_width * model.prior_variance
    return Prediction(words, floor, gap_rate=0.0, error_rate=0.0)


def _sphere(estimator: Estimator, model: SphereProcess, tokens: int) -> Prediction:
    """Keys uniform on the sphere: harmonics of each degree are treated alike."""
    width, parts = model.key_width, expected_energies(model)
    if estimator.name == "linear":
        floor = float(parts.sum() - parts[1] + (1 - 1 / width) ** 2 * parts[1])
        words = f"linear attention sees only the degree-one part, and 1/d of that: the error tends to {floor:.4g}"
        return Prediction(words, floor, gap_rate=0.0, error_rate=0.0)
    if estimator.name == "cme":
        return _sphere_ridge(estimator, model, tokens)
    gamma = estimator.bandwidth
    if estimator.kernel not in ON_SPHERE or gamma is None:
        return Prediction()
    if gamma.power == 0:
        floor = softmax_floor(parts, width, gamma.factor)
        words = f"a low-pass filter at fixed γ: the error tends to {floor:.4g}"
        # E[w²]/E[w]² = μ_0(γ/2)/μ_0(γ)² over T: the noise left. A limit that it hides at these lengths is no rate.
        alike = eigenvalue(width, 0, gamma.factor / 2) / eigenvalue(width, 0, gamma.factor) ** 2
        noise = (model.value_width * model.noise_variance + float(parts.sum())) * alike / tokens
        return Prediction(words, floor, 0.0, 0.0) if noise < floor else Prediction(words, floor)
    if not isclose(gamma.power, vanishing_bandwidth(width).power, rel_tol=1e-9):
        return Prediction()
    rate = vanishing_rate(width)
    return Prediction(f"error like T^{rate:.3f} in the limit", gap_rate=rate, error_rate=rate)


def _sphere_ridge(estimator: Estimator, model: SphereProcess, tokens: int) -> Prediction:
    """Conditional-mean attention on the sphere.

    Statement  With the kernel exp((aᵀb − 1)/γ) and ridge λ = εT the error is at least Σ_ℓ (ε/(μ_ℓ + ε))² E‖f_ℓ‖². That
               of the posterior mean, and so of every estimator, is at least kσ²Γ(σ²/(τ²T))/T.
    Proof      Ŝ the mean of φ(k)φ(k)ᵀ and S = EŜ: the inverse is operator convex, so E ε(Ŝ + ε)⁻¹ ⪰ ε(S + ε)⁻¹; both
               commute with rotations, hence are numbers on each degree, and a mean square is at least the square of
               the mean. The posterior covariance of the features is σ²/T (Ŝ + λ/T)⁻¹, convex again; Σ_ℓ N(d, ℓ) μ_ℓ
               times it at S gives Γ.
    Source     Ours; the second part is standard.
    """
    width, ridge = model.key_width, estimator.ridge
    if ridge is None or estimator.kernel not in (OWN, *ON_SPHERE):
        return Prediction()
    if estimator.kernel == OWN and ridge.power == 0 and isclose(ridge.factor, model.ridge, rel_tol=1e-12):
        free = effective_dimension(width, model.temperature, model.ridge / tokens)
        least = model.value_width * model.noise_variance * free / tokens
        bound = f"the posterior mean itself; error at least kσ²Γ(σ²/(τ²T))/T = {least:.3g} at T = {tokens:,}"
        if 4 * free > tokens:  # most of what the kernel can tell apart is still unseen: too early for a rate
            return Prediction(bound, least)
        return Prediction(f"{bound}, like 1/T up to logarithms", least, error_rate=-1.0)
    gamma = estimator.bandwidth(tokens) if estimator.bandwidth else model.temperature
    bias = ridge_bias(expected_energies(model), width, gamma, ridge(tokens) / tokens)
    return Prediction(f"error at least the bias of the ridge, {bias:.4g} at T = {tokens:,}", bias)
