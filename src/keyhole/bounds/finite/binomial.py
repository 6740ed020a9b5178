"""Tails of the binomial, exactly: what k errors in m trials say about the chance of an error."""

from math import exp, expm1, inf, lgamma, log, log1p, nextafter

from keyhole.bounds.validate import Real, failure, whole
from keyhole.errors import AssumptionError


def log_lower_tail(errors: int, trials: int, chance: float) -> float:
    """Log of P(Bin(m, p) ≤ k), summed from its largest term down so that nothing under- or overflows.

    >>> round(exp(log_lower_tail(0, 10, 0.5)) * 1024)
    1
    """
    return _log_tail(_log_coefficients(errors, trials), trials, chance) if errors < trials else 0.0


def _log_coefficients(errors: int, trials: int) -> list[float]:
    """Log of C(m, j) for j up to k < m; they do not depend on the chance."""
    whole_log = lgamma(trials + 1)
    return [whole_log - lgamma(j + 1) - lgamma(trials - j + 1) for j in range(errors + 1)]


def _log_tail(coefficients: list[float], trials: int, chance: float) -> float:
    if chance <= 0:
        return 0.0
    if chance >= 1:
        return -inf
    log_p, log_q = log(chance), log1p(-chance)
    logs = [term + j * log_p + (trials - j) * log_q for j, term in enumerate(coefficients)]
    top = max(logs)
    return min(0.0, top + log(sum(exp(term - top) for term in logs)))


def _counted(errors: int, trials: int) -> None:
    whole("the number of trials", trials)
    whole("the number of errors", errors, least=0)
    if errors > trials:
        raise AssumptionError(f"{errors} errors in {trials} trials cannot be; give at most {trials} errors.")


def error_ceiling(errors: int, trials: int, nats: Real) -> float:
    """The largest chance of error under which so few errors still have probability ≥ e^(−nats).

    Statement  With probability ≥ 1 − e^{−nats} the chance is at most max{p : P(Bin(m, p) ≤ k) ≥ e^{−nats}}.
    Proof      The lower tail falls in p; invert it (bisection here, to the last bit of a float).
    Equality   k = 0: 1 − exp(−nats/m).
    Source     Textbook (exact binomial tail inversion).

    >>> round(error_ceiling(0, 200, 25.14), 3)
    0.118
    """
    _counted(errors, trials)
    if not nats >= 0:
        raise AssumptionError(f"A confidence is given in nats ≥ 0; got {nats}.")
    if errors == trials:
        return 1.0
    if errors == 0:
        return min(1.0, nextafter(nextafter(-expm1(-nats / trials), 1.0), 1.0))  # two roundings, upwards
    low, high, coefficients = 0.0, 1.0, _log_coefficients(errors, trials)
    for _ in range(60):  # halvings of [0, 1]; the ends meet in a float before that
        middle = (low + high) / 2
        low, high = (middle, high) if _log_tail(coefficients, trials, middle) >= -nats else (low, middle)
    return high


def clopper_pearson(errors: int, trials: int, delta: Real) -> tuple[float, float]:
    """An interval that holds the true chance of error with probability ≥ 1 − δ, from a held-out sample.

    Statement  [p₋, p₊] with P(Bin(m, p₊) ≤ k) = δ/2 and P(Bin(m, p₋) ≥ k) = δ/2.
    Proof      Invert both tails at δ/2.
    Source     Textbook (Clopper and Pearson).

    >>> tuple(round(end, 4) for end in clopper_pearson(0, 250, 0.02))
    (0.0, 0.0183)
    """
    _counted(errors, trials)
    nats = -log(failure(delta) / 2)
    upper = error_ceiling(errors, trials, nats)
    lower = 1 - error_ceiling(trials - errors, trials, nats)
    return (0.0 if errors == 0 else lower), upper


def held_out_ceiling(errors: int, trials: int, delta: Real) -> float:
    """One-sided: the chance of error is at most this with probability ≥ 1 − δ.

    >>> round(held_out_ceiling(0, 250, 0.01), 3)
    0.018
    """
    return error_ceiling(errors, trials, -log(failure(delta)))
