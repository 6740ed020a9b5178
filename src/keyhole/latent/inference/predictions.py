"""Rates of theory where a ridge shrinks the mean of tokens."""

from math import isclose, log2

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


def is_constant(schedule: PowerOfT, value: float) -> bool:
    """Return whether a schedule is this value at every length; numbers that were typed and divided agree."""
    return schedule.power == 0 and isclose(schedule.factor, value, rel_tol=1e-12)
