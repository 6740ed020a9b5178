"""Laws of the input bits."""

from dataclasses import dataclass

from keyhole.boolean.function import SparseFunction
from keyhole.boolean.influence import check_bias, probability
from keyhole.errors import AssumptionError


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
