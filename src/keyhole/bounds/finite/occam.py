"""Finite classes: a function describable before the data were seen, and fitting them, is nearly right."""

from math import ceil, comb, exp, log, log1p

from keyhole.bounds.finite.binomial import error_ceiling
from keyhole.bounds.validate import Real, failure, norm, positive, subset_size, whole
from keyhole.errors import AssumptionError


def junta_nats(context: int, sparsity: int, symbols: int = 2) -> float:
    """Return ln|H| = ln C(T, s) + A^s ln 2 of all functions of s of T symbols from an alphabet of A.

    >>> round(junta_nats(100, 3), 2)
    17.54
    """
    subset_size(context, sparsity)
    return log(comb(context, sparsity)) + float(whole("the alphabet", symbols, least=2) ** sparsity) * log(2)


def certificate_nats(context: int, sparsity: int, delta: Real, symbols: int = 2) -> float:
    """Nats of a certificate for an s-junta over A symbols chosen after the data, s included.

    Statement  ln((s+1)(s+2)) + ln C(T, s) + A^s ln 2 + ln(1/δ).
    Proof      The weights 1/((s+1)(s+2)) of s = 0, 1, … sum to one.
    Source     Ours (the prior of certificates).

    >>> round(certificate_nats(100, 3, 0.01), 2)
    25.14
    """
    prior = 1 / ((sparsity + 1) * (sparsity + 2))
    return junta_nats(context, sparsity, symbols) - log(failure(delta)) - log(prior)


def exact_error(nats: Real, samples: int, errors: int = 0) -> float:
    """Error of any function of a finite class with k errors on the sample, by exact binomial tails.

    Statement  err ≤ max{p : P(Bin(m, p) ≤ k) ≥ e^{−nats}} for every h ∈ H; k = 0: 1 − exp(−nats/m).
    Proof      `error_ceiling` for each h at its share of δ, union over H.
    Equality   For one function: the tail is exact.
    Source     Textbook (Langford's form of Occam).

    >>> round(exact_error(certificate_nats(100, 3, 0.01), 200, 5), 3)
    0.178
    """
    return error_ceiling(errors, samples, nats)


def samples_for_error(nats: Real, error: Real) -> int:
    """Fewest samples, all fitted, with an exact error bound below `error`.

    >>> samples_for_error(certificate_nats(100, 3, 0.01), 0.1)
    239
    """
    wanted = positive("the error", error)
    if wanted >= 1:
        raise AssumptionError(f"An error is below 1; got {error}.")
    estimate = max(1, ceil(norm("nats", nats) / -log1p(-wanted)))
    return estimate if 1 - exp(-nats / estimate) < wanted else estimate + 1
