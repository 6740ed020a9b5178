"""The Fourier expansion of a function of bits: exact integers where a zero must be distinguished from a small number.

Characters are χ_S(b) = (−1)^{Σ_{i∈S} b_i}. A set S of the relevant positions is an integer mask whose binary digit i
stands for the i-th position. Functions are 0/1-valued; the *sign form* of f is (−1)^f, whose weights sum to 1.

Leap: how many new positions a learner must find at once, at the worst step of the best order of the sets.
"""

from itertools import accumulate

import numpy as np

from keyhole.arrays import Float, Int
from keyhole.boolean.function import Levels, SparseFunction, halves, pattern_counts

Coefficients = Float[np.ndarray, "_sets"]
Weights = Float[np.ndarray, "_degrees"]

MAX_EXACT = 256  # positions up to which the weights of a counting rule come from exact integers


def integer_spectrum(function: SparseFunction) -> Int[np.ndarray, "_sets"]:
    """2^s f̂(S) for every set S, as exact integers.

    Statement  2^s f̂(S) = Σ_b f(b) χ_S(b), computed by s rounds of sums and differences: O(s 2^s) in all.
    Source     Standard: Walsh–Hadamard.

    >>> from keyhole.boolean.families import conjunction
    >>> integer_spectrum(conjunction((0, 1))).tolist()
    [1, -1, -1, 1]
    """
    spectrum = function.table.astype(np.int32)  # |entries| ≤ 2^24
    for index in range(function.sparsity):
        zero, one = halves(spectrum, index)
        difference = zero - one
        zero += one
        one[...] = difference
    return spectrum


def spectrum(function: SparseFunction) -> Coefficients:
    """f̂(S) = E[f χ_S] for every set S, under uniform bits; exact, since 2^s f̂(S) is an integer below 2^53."""
    return integer_spectrum(function) / (1 << function.sparsity)


def sign_spectrum(function: SparseFunction) -> Coefficients:
    """The coefficients of (−1)^f = 1 − 2f under uniform bits."""
    signs = -2.0 * spectrum(function)
    signs[0] += 1
    return signs


def fourier_weight(function: SparseFunction) -> Weights:
    """The weight of (−1)^f at each degree k: Σ_{|S|=k} of its squared coefficients, which sum to 1 (Parseval).

    >>> from keyhole.boolean.families import majority
    >>> fourier_weight(majority((0, 1, 2))).tolist()
    [0.0, 0.75, 0.0, 0.25]
    """
    if isinstance(function.rule, Levels):
        return _short_weight(function.rule) if function.sparsity <= MAX_EXACT else _long_weight(function.rule)
    weight = np.bincount(pattern_counts((False,) * function.sparsity), weights=sign_spectrum(function) ** 2)
    return np.asarray(weight, dtype=np.float64)


def _short_weight(rule: Levels) -> Weights:
    """The weights of a function that counts its literals, each rounded once from an exact fraction.

    Statement  On the C(s, k) sets of size k the coefficient of (−1)^g is, up to sign, the same:
               2^{−s} Σ_j (−1)^{g(j)} [z^j] (1 − z)^k (1 + z)^{s−k}.
    Source     Standard (Krawtchouk polynomials). Negating literals changes signs of coefficients only.
    """
    s = len(rule.levels) - 1
    signs = [-1 if level else 1 for level in rule.levels]
    row, sets, weight = binomial_row(s), binomial_row(s), np.zeros(s + 1)
    for k in range(s + 1):
        total = sum(term * sign for term, sign in zip(row, signs, strict=True))
        weight[k] = sets[k] * total**2 / (1 << (2 * s))
        quotient = list(accumulate(row, lambda before, term: term - before))  # divided by 1 + z, exactly
        row = [here - before for here, before in zip(quotient, [0, *quotient[:-1]], strict=True)]
    return weight


def _long_weight(rule: Levels) -> Weights:
    """The weights of a function that counts its literals, in O(s²) time and O(s) memory.

    Statement  Let u_k(j) = φ_k(j) √w_j, with w the law of the number j of true literals (binomial s, ½) and φ_k the
               orthonormal polynomials of w. The weight at degree k is (Σ_j u_k(j) √w_j (−1)^{g(j)})². The u_k obey
               b_{k+1} u_{k+1} = (s/2 − j) u_k − b_k u_{k−1} with b_k = √(k(s−k+1))/2, and u_{s−k}(j) = (−1)^j u_k(j).
    Proof      The normalised sum of all χ_S with |S| = k is φ_k of the count (Krawtchouk). For k ≤ s/2 each u_k(j)
               grows or oscillates with k, so the recurrence is stable there; the mirror gives the other half. Where
               √w_j underflows, the term it multiplies is below any rounding.
    Source     Standard (Krawtchouk polynomials).
    """
    s = len(rule.levels) - 1
    counts = np.arange(s + 1)
    root = np.sqrt(binomial_law(s, 0.5))
    signs = np.where(rule.levels, -1.0, 1.0) * root
    mirrored = signs * np.where(counts % 2, -1.0, 1.0)
    coefficients = np.zeros(s + 1)
    before, here, step_before = np.zeros(s + 1), root, 0.0
    for k in range(s // 2 + 1):
        coefficients[k], coefficients[s - k] = here @ signs, here @ mirrored
        step = ((k + 1) * (s - k)) ** 0.5 / 2
        if step > 0:
            before, here = here, ((s / 2 - counts) * here - step_before * before) / step
        step_before = step
    return coefficients**2


def degree(function: SparseFunction) -> int:
    """The largest |S| with f̂(S) ≠ 0: the degree of the function as a polynomial; exact.

    Statement  For a function g of the number of true literals it is the largest k with Δ^k g(0) ≠ 0.
    Proof      g agrees on 0..s with one polynomial of that degree; averaging over permutations makes the
               multilinear and the univariate degree equal. Negating literals is an affine change of bits.
    Source     Standard (Minsky–Papert symmetrisation).
    """
    if isinstance(function.rule, Levels):
        levels = function.rule.levels
        for k in range(len(levels) - 1, 0, -1):  # Δ^k g(0) = Σ_j (−1)^{k−j} C(k, j) g(j), as an exact integer
            signed = (-count if (k - j) % 2 else count for j, count in enumerate(binomial_row(k)))
            if sum(count for count, level in zip(signed, levels[: k + 1], strict=True) if level):
                return k
        return 0
    return int(pattern_counts((False,) * function.sparsity)[integer_spectrum(function) != 0].max())


def binomial_row(n: int) -> list[int]:
    """C(n, 0), …, C(n, n), as exact integers."""
    row = [1]
    for j in range(n):
        row.append(row[-1] * (n - j) // (j + 1))
    return row


def binomial_law(trials: int, p: float) -> Float[np.ndarray, "counts"]:
    """The probability of each number of successes, from exact integers where p = ½ and p-powers elsewhere."""
    if p == 0.5:
        return np.array([count / (1 << trials) for count in binomial_row(trials)])  # integer division rounds once
    law = np.ones(1)
    square, left = np.array([1 - p, p]), trials
    while left:  # powers of the one-trial law by repeated squaring
        if left & 1:
            law = np.convolve(law, square)
        square, left = np.convolve(square, square), left >> 1
    return law


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
