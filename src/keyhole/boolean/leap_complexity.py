"""Leap: how many new positions a learner must find at once, at the worst step of the best order."""

import numpy as np

from keyhole.boolean.fourier import binomial_row, integer_spectrum
from keyhole.boolean.function import SparseFunction
from keyhole.boolean.rules import Levels


def leap(function: SparseFunction) -> int:
    """The leap of the function under uniform bits; 0 for a constant; exact.

    Statement  Leap(f) = min over orderings S_1, …, S_r of the non-empty sets with f̂(S) ≠ 0 of
               max_i |S_i ∖ (S_1 ∪ … ∪ S_{i−1})|. Taking each time a set with the fewest new positions attains it.
    Proof      Fix ℓ and add sets with at most ℓ new positions while there are any. Covering more only lowers what
               remains new, so what is reached does not depend on the order; Leap is the least ℓ that reaches all,
               and the greedy order never takes a larger step. If f counts its literals, all sets of one size have
               coefficients of one magnitude. A first step needs k new positions, k the least size of such a set; then
               a set of the same size with one new position exists as long as one is uncovered.
    Source     The quantity: Abbe, Boix-Adserà, Misiakiewicz (2023). The greedy rule: ours.

    >>> from keyhole.boolean.families import majority, parity
    >>> leap(parity((0, 1, 2))), leap(majority((0, 1, 2)))
    (3, 1)
    """
    rule, s = function.rule, function.sparsity
    if not isinstance(rule, Levels):
        sets = np.flatnonzero(integer_spectrum(function))
        return leap_of_sets(sets[sets > 0].astype(np.uint32))
    if rule.constant or rule.alternating:
        return s

    def coefficient(size: int) -> int:
        """2^s f̂(S) for |S| = size, literals positive: Σ_j g(j) [z^j] (1 − z)^size (1 + z)^{s−size}, exactly."""
        row = binomial_row(s - size)
        for _ in range(size):
            row = [here - before for here, before in zip([*row, 0], [0, *row], strict=True)]
        return sum(term for term, level in zip(row, rule.levels, strict=True) if level)

    return next(k for k in range(1, s + 1) if coefficient(k))


def leap_of_sets(masks: np.ndarray) -> int:
    """The leap of a family of sets, each an integer mask: at most one round per position.

    >>> leap_of_sets(np.array([0b0011, 0b1100], dtype=np.uint32))
    2
    """
    largest, covered = 0, np.uint32(0)
    everything = np.bitwise_or.reduce(masks) if len(masks) else covered
    while covered != everything:
        fresh = np.bitwise_count(masks & ~covered)
        fresh[fresh == 0] = 255
        nearest = int(fresh.argmin())
        largest = max(largest, int(fresh[nearest]))
        covered |= masks[nearest]
    return largest
