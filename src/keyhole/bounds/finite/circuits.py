"""Circuits as a finite class: what fitting their output promises, and what fitting every gate by itself does."""

from collections.abc import Sequence
from math import ceil, log, log1p

from keyhole.bounds.finite.occam import exact_error, junta_nats
from keyhole.bounds.validate import Real, failure, whole
from keyhole.errors import AssumptionError


def gate_nats(context: int, gate: int, fan_in: int) -> float:
    """Return ln C(T + g, s) + 2^s ln 2: gate g, counted from 0, reads s of T + g variables, or all if they are fewer.

    >>> round(gate_nats(100, 0, 2), 2)
    11.28
    """
    variables = whole("the context", context) + whole("the gate", gate, least=0)
    return junta_nats(variables, min(whole("the fan-in", fan_in), variables))


def circuit_nats(context: int, gates: int, fan_in: int) -> float:
    """Return ln|H| of all circuits of n gates of fan-in at most s, in a fixed order of slots.

    Statement  ln|H| ≤ Σ_{g < n} [ln C(T + g, s) + 2^s ln 2]. A circuit whose output fits m samples errs with
               probability at most (ln|H| + ln(1/δ))/m, or what `exact_error` says, with probability ≥ 1 − δ.
    Proof      Gate g chooses s of the T + g variables before it, and a table; Occam over all choices.
    Equality   In ln|H| as a count of choices; some choices compute one function.
    Source     Ours.

    >>> round(circuit_nats(100, 9, 2), 1)
    102.2
    """
    return sum(gate_nats(context, gate, fan_in) for gate in range(whole("the gates", gates)))


def step_errors(
    context: int, fan_in: int, samples: int, errors: Sequence[int], delta: Real = 0.01
) -> tuple[float, ...]:
    """Bound the error of each of n steps, the sample showing the values of all gates; a chain errs at most their sum.

    Statement  With probability ≥ 1 − δ, every gate g that errs on k_g of m samples, the gates before it given as they
               are, errs with probability at most ε_g = max{p : P(Bin(m, p) ≤ k_g) ≥ e^(−N_g)}, where N_g =
               ln C(T + g, s) + 2^s ln 2 + ln(n/δ); for k_g = 0 below N_g/m. The chain that writes its own steps errs
               with probability at most Σ_g ε_g.
    Assumes    Samples are independent draws of one law, each with the values of all n gates.
    Proof      Occam for gate g at δ/n, union over gates. Where a chain goes wrong, take the first step that does: the
               slots before it are right, so that step errs on the true values. Union over steps.
    Equality   One step, as for Occam.
    Source     Ours.

    >>> round(sum(step_errors(100, 2, 1000, [0] * 9)), 3)
    0.162
    """
    gates = whole("the steps", len(errors))
    share = log(gates) - log(failure(delta))
    return tuple(
        exact_error(gate_nats(context, gate, fan_in) + share, samples, wrong) for gate, wrong in enumerate(errors)
    )


def circuit_identification_size(context: int, gates: int, fan_in: int, *, apart: Real, delta: Real = 0.01) -> int:
    """Samples, with the values of all gates, from which on every gate that fits is the right one.

    Statement  If two functions of gate g's class that ever differ do so with probability ≥ p (`apart`), then with
               probability ≥ 1 − δ every function that fits m ≥ max_g [ln C(T + g, s) + 2^s ln 2 + ln(n/δ)]/(−ln(1 − p))
               samples is the right gate on all words that occur.
    Assumes    Gates are of fan-in at most s. p = 2^(−2s) serves if the context bits are uniform and all gates but the
               last are parities of them.
    Proof      |H_g|(1 − p)^m ≤ δ/n for each gate. Two gates read at most 2s variables; parities of uniform bits are
               jointly uniform on an affine space of dimension at most 2s, each point of which has at least 2^(−2s).
    Source     Ours.

    >>> circuit_identification_size(100, 9, 2, apart=1 / 16)
    283
    """
    if not 0 < apart < 1:
        raise AssumptionError(f"Two gates differ with a probability between 0 and 1; got {apart}.")
    count = whole("the gates", gates)
    return ceil((gate_nats(context, count - 1, fan_in) + log(count) - log(failure(delta))) / -log1p(-apart))
