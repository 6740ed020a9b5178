"""The shape of a function: symmetric, monotone, a threshold of a weighted sum.

Symmetry and monotonicity are decided exactly. A threshold function is proved by integer weights that are checked on
every pattern, and refuted by a combination of patterns, in exact integers, that no weights can separate.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm

import numpy as np

from keyhole.boolean.function import Levels, SparseFunction, halves
from keyhole.verdicts import ThresholdVerdict

MAX_THRESHOLD = 14  # positions of a table whose threshold question is put to a linear program


@dataclass(frozen=True)
class Threshold:
    """A verdict on whether a function is a threshold of a weighted sum of its bits, with the weights that prove it."""

    verdict: ThresholdVerdict
    method: str  # how it was settled, or why it was not
    weights: tuple[int, ...] | None = None  # of the relevant positions
    threshold: int | None = None


def is_symmetric(function: SparseFunction) -> bool:
    """Return True if permuting the relevant positions never changes the value."""
    return isinstance(function.rule, Levels) and not any(function.rule.negated)


def counts_literals(function: SparseFunction) -> bool:
    """Return True if the function is symmetric once some of its bits are negated."""
    return isinstance(function.rule, Levels)


def is_monotone(function: SparseFunction) -> bool:
    """Return True if turning a 0 into a 1 never turns the value from 1 to 0."""
    if isinstance(function.rule, Levels):
        return not any(function.rule.negated) and _rises(function.rule.levels)
    cofactors = (halves(function.rule.values, index) for index in range(function.sparsity))
    return all(bool(np.all(zero <= one)) for zero, one in cofactors)


def threshold_certificate(function: SparseFunction) -> Threshold:
    """Decide whether f(b) = 1[Σ w_i b_i ≥ θ] for some weights, with what proves or refutes it.

    Statement  A function g of the number of true literals is a threshold function if and only if g is monotone.
               Any function is one if and only if no convex combination of its true patterns equals one of its false.
    Proof      Average the weights over permutations of the literals: equal weights remain, so g is a threshold of the
               count. The second is separation of two polytopes.
    Source     Standard.

    >>> from keyhole.boolean.families import majority, parity
    >>> threshold_certificate(majority((0, 1, 2))).weights, threshold_certificate(parity((0, 1))).verdict
    ((1, 1, 1), 'refuted')
    """
    if isinstance(function.rule, Levels):
        return _settle_counting(function.rule)
    values, size = function.rule.values, function.sparsity
    for index in range(size):
        zero, one = halves(values, index)
        if np.any(zero & ~one) and np.any(one & ~zero):
            return Threshold(
                "refuted", f"raising x{function.positions[index]} raises the value here and lowers it there"
            )
    if size > MAX_THRESHOLD:
        return Threshold("undecided", f"not asked beyond {MAX_THRESHOLD} positions")
    return _separate(values, size)


def _rises(levels: tuple[bool, ...]) -> bool:
    return all(here <= there for here, there in pairwise(levels))


def _settle_counting(rule: Levels) -> Threshold:
    if rule.constant:
        return Threshold("proved", "constant", (), 0 if rule.levels[0] else 1)
    if _rises(rule.levels):
        needed, sign = rule.levels.index(True), 1
    elif _rises(rule.levels[::-1]):
        needed, sign = -(len(rule.levels) - 1 - rule.levels[::-1].index(True)), -1  # −count ≥ −(last true level)
    else:
        return Threshold("refuted", "the value both rises and falls with the number of true literals")
    # a negated literal counts 1 − b_i, so its weight changes sign and the threshold moves by one
    weights = tuple(-sign if flip else sign for flip in rule.negated)
    return Threshold(
        "proved",
        "the value changes once as the number of true literals grows",
        weights,
        needed - sign * sum(rule.negated),
    )


def _separate(values: np.ndarray, size: int) -> Threshold:
    """Largest-margin separation by linear programming, its answer turned into exact integers and checked."""
    from scipy.optimize import linprog  # noqa: PLC0415  (scipy is imported for this question alone)

    patterns = (np.arange(1 << size)[:, None] >> np.arange(size)) & 1
    signs = np.where(values, 1, -1)
    rows = signs[:, None] * np.concatenate([patterns, -np.ones((len(values), 1), dtype=int)], axis=1)
    # maximise t subject to rows @ (w, θ) ≥ t, |w_i| ≤ 1, |θ| ≤ size + 1, t ≤ 1
    answer = linprog(
        c=[0.0] * (size + 1) + [-1.0],
        A_ub=np.concatenate([-rows, np.ones((len(values), 1))], axis=1),
        b_ub=np.zeros(len(values)),
        bounds=[(-1, 1)] * size + [(-size - 1, size + 1), (0, 1)],
        method="highs-ds",
    )
    if answer.status == 0 and answer.x[-1] > 1e-9:
        scaled = [Fraction(float(w)).limit_denominator(10**6) for w in answer.x[:size]]
        unit = lcm(*(w.denominator for w in scaled))
        weights = np.array([int(w * unit) for w in scaled], dtype=np.int64)
        sums = patterns @ weights
        lowest_true, highest_false = int(sums[values].min()), int(sums[~values].max())
        if lowest_true > highest_false:  # checked on every pattern, in integers
            common = gcd(*(abs(int(w)) for w in weights))
            exact = tuple(int(w) // common for w in weights)
            return Threshold("proved", "weights checked on every pattern", exact, -(-lowest_true // common))
    if answer.status == 0:
        chosen = np.flatnonzero(answer.ineqlin.marginals < -1e-12)
        if _cancels(rows[chosen]):
            means = "a weighted mean of true inputs equals one of false inputs"
            return Threshold("refuted", f"{means} ({len(chosen)} inputs in all), so no weights separate them")
    return Threshold("undecided", "the linear program gave no answer that exact arithmetic confirms")


def _cancels(rows: np.ndarray) -> bool:
    """Return True if a non-negative combination of the rows vanishes and their kernel has one dimension."""
    from flint import fmpz_mat  # noqa: PLC0415  (exact integers, for this question alone)

    basis, dimension = fmpz_mat(rows.T.tolist()).nullspace()  # the first columns span the kernel
    kernel = [int(basis[i, 0]) for i in range(len(rows))] if dimension == 1 else [-1, 1]
    return min(kernel) >= 0 or max(kernel) <= 0
