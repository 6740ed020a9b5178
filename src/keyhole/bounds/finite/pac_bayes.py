"""Bounds from a divergence or from a description length: numbers in, and no way to misread them as zero."""

from math import expm1, log, sqrt

from keyhole.bounds.validate import Real, failure, norm, positive, sample_size
from keyhole.errors import AssumptionError


def mcallester(divergence: Real, samples: Real, delta: Real) -> float:
    """Gap of a randomised predictor, losses in [0, 1].

    Statement  E_Q R ≤ E_Q R̂ + √((KL(Q‖P) + ln(2√m/δ))/(2m)) for all Q, with probability ≥ 1 − δ.
    Assumes    A prior P chosen before the data; m ≥ 8 for the constant 2√m.
    Source     Textbook (McAllester's bound in Maurer's form).

    >>> mcallester(2.85e6, 1000, 0.01) > 37  # a gap of zero was once printed for these numbers
    True
    """
    m, kl = sample_size(samples), norm("the divergence", divergence)
    if m < 8:
        raise AssumptionError(f"McAllester's bound with this constant needs m ≥ 8; got {samples}.")
    return sqrt((kl + log(2 * sqrt(m) / failure(delta))) / (2 * m))


def catoni(
    divergence: Real, samples: Real, delta: Real, error_rate: Real = 0.0, inverse_temperature: Real = 1.0
) -> float:
    """Risk of a randomised predictor, losses in [0, 1], at a temperature fixed before the data.

    Statement  E_Q R ≤ (1 − exp(−β E_Q R̂ − (KL + ln(1/δ))/m))/(1 − e^{−β}) for all Q, with
               probability ≥ 1 − δ.
    Assumes    β > 0 and the prior were fixed before the data.
    Source     Textbook (Catoni).

    >>> round(catoni(0.0, 1000, 0.01, 0.0, 1.0), 4)
    0.0073
    """
    beta, m = positive("the inverse temperature β", inverse_temperature), sample_size(samples)
    exponent = beta * norm("the error rate", error_rate)
    exponent += (norm("the divergence", divergence) - log(failure(delta))) / m
    return min(1.0, expm1(-exponent) / expm1(-beta))


def best_catoni(divergence: Real, samples: Real, delta: Real, error_rate: Real = 0.0) -> float:
    """`catoni` at the best of β = 2^−6, …, 2^6, δ shared equally between them.

    >>> best_catoni(10.0, 1000, 0.01) <= catoni(10.0, 1000, 0.01 / 13)
    True
    """
    share = failure(delta) / 13
    return min(catoni(divergence, samples, share, error_rate, 2.0**i) for i in range(-6, 7))


def description_gap(bits: Real, samples: Real, delta: Real, loss_range: Real = 1.0) -> float:
    """Gap of a predictor that a prefix-free code describes in K bits.

    Statement  R ≤ R̂ + Δ √((K ln 2 + ln(1/δ))/(2m)), losses in an interval of length Δ.
    Assumes    The code was fixed before the data.
    Proof      Hoeffding with weights 2^{−K}, which sum to at most one (Kraft).
    Source     Textbook.

    >>> round(description_gap(0, 1000, 0.01), 4)
    0.048
    """
    nats = norm("the description length", bits) * log(2) - log(failure(delta))
    return positive("the range of the loss", loss_range) * sqrt(nats / (2 * sample_size(samples)))


def lotfi(bits: Real, samples: Real, delta: Real) -> float:
    """Gap of a compressed model under a 0/1 loss, following Lotfi et al. as recalled.

    Statement  R ≤ R̂ + √((K ln 2 + 2 ln K + ln(1/δ))/(2m)).
    Source     Following Lotfi et al. 2023 (recalled: verify before citing). K in bits, 2 ln K for a code that
               is not prefix-free.

    >>> lotfi(1e3, 1e6, 0.01) > description_gap(1e3, 1e6, 0.01)
    True
    """
    k = norm("the description length", bits)
    if k < 1:
        raise AssumptionError(f"A description has at least one bit; got {bits}.")
    return sqrt((k * log(2) + 2 * log(k) - log(failure(delta))) / (2 * sample_size(samples)))
