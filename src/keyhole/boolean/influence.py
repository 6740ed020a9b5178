"""Laws of the input bits, and how much single bits matter under them: influences, sensitivity, P(f = 1)."""

from dataclasses import dataclass

import numpy as np

from keyhole.arrays import Float
from keyhole.boolean.fourier import binomial_law
from keyhole.boolean.function import Levels, SparseFunction, halves
from keyhole.errors import AssumptionError


def probability(function: SparseFunction, p: float = 0.5) -> float:
    """P(f = 1) under independent bits that are 1 with probability p.

    >>> from keyhole.boolean.families import conjunction
    >>> probability(conjunction((0, 1, 2)))
    0.125
    """
    check_bias(p)
    if isinstance(function.rule, Levels):
        return float(count_law(function.rule.negated, p) @ np.array(function.rule.levels, dtype=np.float64))
    return _mean(function.rule.values, p)


def influences(function: SparseFunction, p: float = 0.5) -> Float[np.ndarray, "s"]:
    """Inf_i = P(f(b) ≠ f(b with bit i flipped)) for each relevant position.

    Statement  Under uniform bits Inf_i = Σ_{S∋i} of the squared coefficients of (−1)^f, and 4 Σ_{S∋i} f̂(S)².
    Source     Standard.
    """
    check_bias(p)
    if not isinstance(function.rule, Levels):
        cofactors = (halves(function.rule.values, index) for index in range(function.sparsity))
        return np.array([_mean((zero != one).reshape(-1), p) for zero, one in cofactors])
    levels = np.array(function.rule.levels)
    pivotal = (levels[1:] != levels[:-1]).astype(np.float64)
    negated = function.rule.negated
    by_sign = {  # the other literals' law depends only on the sign of the one left out
        sign: float(count_law((*negated[: negated.index(sign)], *negated[negated.index(sign) + 1 :]), p) @ pivotal)
        for sign in set(negated)
    }
    return np.array([by_sign[sign] for sign in negated])


def largest_sensitivity(function: SparseFunction) -> int:
    """The largest number, over inputs, of bits whose flip changes the value."""
    if isinstance(function.rule, Levels):
        levels, s = function.rule.levels, function.sparsity
        up = [(s - j) * (levels[j] != levels[j + 1]) for j in range(s)] + [0]
        down = [0] + [j * (levels[j] != levels[j - 1]) for j in range(1, s + 1)]
        return max(above + below for above, below in zip(up, down, strict=True))
    pivots = np.zeros(len(function.rule.values), dtype=np.uint8)
    for index in range(function.sparsity):
        zero, one = halves(function.rule.values, index)
        below, above = halves(pivots, index)
        np.add(below, zero != one, out=below)
        np.add(above, zero != one, out=above)
    return int(pivots.max())


def count_law(negated: tuple[bool, ...], p: float) -> Float[np.ndarray, "counts"]:
    """The law of the number of true literals under bits that are 1 with probability p."""
    flipped = sum(negated)
    if p == 0.5:
        return binomial_law(len(negated), p)
    return np.convolve(binomial_law(len(negated) - flipped, p), binomial_law(flipped, 1 - p))


def check_bias(p: float) -> None:
    """A probability of a 1 lies in [0, 1]."""
    if not 0 <= p <= 1:
        raise AssumptionError(f"Bits that are 1 with probability {p} were asked for; a probability lies in [0, 1].")


def _mean(values: np.ndarray, p: float) -> float:
    """The expectation of a table, one position averaged out at a time."""
    if p == 0.5:
        return float(np.count_nonzero(values)) / len(values)
    rest = values.astype(np.float64)
    while len(rest) > 1:
        zero, one = halves(rest, 0)
        rest = ((1 - p) * zero + p * one).reshape(-1)
    return float(rest[0])


@dataclass(frozen=True)
class Bernoulli:
    """Independent bits, each 1 with probability p."""

    p: float

    def __post_init__(self) -> None:
        check_bias(self.p)


UNIFORM = Bernoulli(0.5)


def balanced(function: SparseFunction) -> Bernoulli:
    """The law under which the function is 1 half of the time.

    Statement  For a conjunction of s positive literals p = 2^{−1/s}; for a parity p = ½. In general p is the root of
               P_p(f = 1) = ½, which is unique when the function is monotone and not constant.
    Source     The public reproductions of Edelman et al. (2022) balance a conjunction this way.

    >>> from keyhole.boolean.families import conjunction
    >>> round(balanced(conjunction((0, 1, 2))).p, 7)
    0.7937005
    """
    if probability(function, 0.5) == 0.5:
        return UNIFORM
    below, above = (probability(function, p) - 0.5 for p in (0.0, 1.0))
    if below * above >= 0:
        raise AssumptionError(
            f"A balanced law was asked for, but {function} has the same value on all-zero and all-one inputs, so no "
            "root is certain. Give a probability p instead."
        )
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:  # until neighbouring floats: f(low) and f(high) differ in sign
        if (probability(function, middle) - 0.5) * below > 0:
            low = middle
        else:
            high = middle
    return Bernoulli(middle)
