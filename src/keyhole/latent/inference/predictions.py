"""Predictions of theory where tokens are pooled, and where a ridge shrinks: a limit, a rate, an identity, or nothing.

Predictions for a model with keys stand beside the model.
"""

from math import isclose, log2

from keyhole.latent.inference.problem import Pooling, Prediction
from keyhole.latent.inference.schedules import PowerOfT


def shrinking_rates(ridge: PowerOfT) -> tuple[float, float]:
    """The exponents of gap and error when w = T/(T + λ_T), λ_T = cT^p, stands where T/(T + λ) is best.

    Statement  The gap falls like T^(2 max(p, 0) − 2) and the error like T^max(2p − 2, −1) if p < 1; neither falls
               if p ≥ 1.
    Assumes    λ_T is not λ itself.
    Proof      The gap is (w − w*)²(t² + s²/T) with w − w* ≈ (λ − λ_T)/T; the error is (1 − w)²t² + w²s²/T.
    Source     Ours.

    >>> shrinking_rates(PowerOfT(1.0, 0.75)), shrinking_rates(PowerOfT(3.0)), shrinking_rates(PowerOfT(1.0, 1.0))
    ((-0.5, -0.5), (-2.0, -1.0), (0.0, 0.0))
    """
    if ridge.power >= 1:
        return 0.0, 0.0
    return 2 * max(ridge.power, 0.0) - 2, max(2 * ridge.power - 2, -1.0)


def reached_rates(ridge: PowerOfT, best: float, tokens: int) -> tuple[float | None, float | None]:
    """Those exponents that gap and error have come within a tenth of, over the last doubling before T; else None.

    >>> reached_rates(PowerOfT(1.0, 0.25), 4.0, 1024), reached_rates(PowerOfT(1e6), 4.0, 1024)
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


def predict_pooled(kind: str, ridge: PowerOfT | None, pooling: Pooling, tokens: int) -> Prediction:
    """Without keys every kind but the prototypes is m₀ + w(x̄ − m₀)."""
    if kind == "prototypes":
        return Prediction("this equals the posterior mean: softmax is Bayes' rule")
    if ridge is None:
        words = "the mean of the tokens has error s²/T exactly; the posterior concentrates exponentially fast"
        if pooling.linear:
            words = (
                "the mean of the tokens ignores the prior; its distance from the posterior mean is "
                "(λ/(T + λ))²(t² + s²/T), like 1/T² (s²: variance of a token given z; t²: variance over z of its mean; "
                "λ = s²/t²)"
            )
        return Prediction(words, gap_rate=-2.0 if pooling.linear else -1.0, error_rate=-1.0)
    if is_constant(ridge, pooling.ridge):
        if pooling.linear:
            return Prediction("this equals the posterior mean: the sink holds the prior", error_rate=-1.0)
        words = "the best linear rule; the posterior of a finite latent is sharper, so the gap falls like 1/T"
        return Prediction(words, gap_rate=-1.0, error_rate=-1.0)
    gap, error = shrinking_rates(ridge)
    near = reached_rates(ridge, pooling.ridge, tokens)
    if pooling.linear:
        words = (
            f"a linear rule with another ridge than the best: in the limit gap like T^{gap:g}, error like T^{error:g}"
        )
        return Prediction(words, gap_rate=near[0], error_rate=near[1])
    words = f"a linear rule with another ridge than the best: in the limit gap and error like T^{error:g}"
    return Prediction(words, gap_rate=near[1], error_rate=near[1])


def is_constant(schedule: PowerOfT, value: float) -> bool:
    """Return whether a schedule is this value at every length; numbers that were typed and divided agree."""
    return schedule.power == 0 and isclose(schedule.factor, value, rel_tol=1e-12)
