"""From covers to Rademacher complexity: chaining with explicit constants, base and depth optimised."""

from collections.abc import Callable
from math import ceil, floor, log, sqrt
from typing import NamedTuple

from keyhole.bounds.covers.calculus import Cover
from keyhole.bounds.derivation import Complexity, Lemma, Step
from keyhole.bounds.validate import Real, norm, positive, sample_size

BASES = (1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
DEEPEST = 80
THEOREM_G = Lemma("Theorem G", "R_m ≤ A b^{−J} + [b√2 + (J−1)(1+b)√(2(1+b^{−2}))] √(C/m)")


class Chain(NamedTuple):
    """The best chain found: its bound on R_m, its base b and its depth J (0 when only |f| ≤ A is used)."""

    value: float
    base: float
    depth: int
    rest: float  # A b^{−J}, what lies below the finest cover


# b, log b, first link and every further link, each per √(C/m)
LINKS = tuple((b, log(b), b * sqrt(2), (1 + b) * sqrt(2 * (1 + b**-2))) for b in BASES)


def chained(capacity: Real, samples: Real, bound: Real = 1.0) -> Chain:
    """Bounds the Rademacher complexity of a class with log N(ε) ≤ C/ε² and |f| ≤ A.

    Statement  R_m ≤ A b^{−J} + [b√2 + (J−1)(1+b)√(2(1+b^{−2}))] √(C/m) for every b > 1 and J ≥ 1, and ≤ A.
    Proof      Chain covers at accuracies α_j = A b^{−j}: Massart's lemma for the first, whose elements are
               ≤ A, and for the differences, at most α_j + α_{j−1}, of N(α_j)·N(α_{j−1}) pairs.
               In J the bound is convex, so the best whole J neighbours the real one.
    Source     Ours in its constants (Theorem G); the method is textbook.

    >>> round(chained(1e-4, 1).value, 6), chained(1e-4, 1)[1:3]
    (0.191955, (4.0, 2))
    """
    a = positive("the range of f", bound)
    rate = sqrt(norm("the capacity C", capacity) / sample_size(samples))
    best = Chain(a, 1.0, 0, a)
    if rate == 0:  # one function covers at every accuracy
        return Chain(0.0, 1.0, 0, 0.0)
    for b, log_b, first, further in LINKS:
        real = log(a * log_b / (further * rate)) / log_b
        lowest = min(max(floor(real), 1), DEEPEST)
        for depth in {lowest, min(max(ceil(real), 1), DEEPEST)}:
            rest = a * b**-depth
            value = rest + (first + (depth - 1) * further) * rate
            if value < best.value:
                best = Chain(value, b, depth, rest)
    return best


def chained_sizes(log_size: Callable[[float], float], samples: Real, bound: Real = 1.0) -> Chain:
    """Bounds the Rademacher complexity of a class from any log N(ε), whatever its form.

    Statement  R_m ≤ A b^{−J} + A √(2 log N(α_1)/m) + Σ_{j=2}^J (α_j + α_{j−1}) √(2(log N(α_j) +
               log N(α_{j−1}))/m) with α_j = A b^{−j}, and ≤ A.
    Proof      As for `chained`, before log N ≤ C/ε² is put in.
    Source     Ours in its constants (Theorem G); the method is textbook.

    >>> chained_sizes(lambda accuracy: 0.0, 10).value < 1e-12
    True
    """
    a, m = positive("the range of f", bound), sample_size(samples)
    best = Chain(a, 1.0, 0, a)
    for b in BASES:
        alpha, links, before = a / b, 0.0, 0.0
        for depth in range(1, DEEPEST + 1):
            now = log_size(alpha)
            links += a * sqrt(2 * now / m) if depth == 1 else alpha * (1 + b) * sqrt(2 * (now + before) / m)
            if links >= best.value:  # deeper chains only add
                break
            if alpha + links < best.value:
                best = Chain(alpha + links, b, depth, alpha)
            alpha, before = alpha / b, now
    return best


def dudley(capacity: Real, samples: Real, bound: Real = 1.0) -> float:
    """The textbook entropy integral, for comparison.

    Statement  R_m ≤ 12 √(C/m) (1 + log(A/(3√(C/m)))) when 3√(C/m) ≤ A, else A.
    Source     Textbook.

    >>> round(dudley(1e-4, 1), 6)
    0.540787
    """
    a, rate = positive("the range of f", bound), sqrt(norm("C", capacity) / sample_size(samples))
    if rate == 0:
        return 0.0
    return a if 3 * rate > a else min(a, 12 * rate * (1 + log(a / (3 * rate))))


def complexity_of(cover: Cover, samples: Real, bound: Real = 1.0) -> Complexity:
    """The Rademacher complexity of a covered class, with its derivation."""
    m = sample_size(samples)
    step = cover.step
    chain = chained(step.value, m, bound)
    links = chain.value - chain.rest
    inputs = (("b", chain.base), ("J", float(chain.depth)), ("m", m))
    if chain.depth == 0 and chain.value > 0:
        # every chain is longer than the range of f: the bound is that range, whatever the capacity
        capped = Lemma("Theorem G, capped", "R_m ≤ A, because |f| ≤ A")
        return Complexity(chain.value, Step("complexity R_m", chain.value, capped, (("A", chain.value),), (step,)))
    share = links / chain.value if chain.value else 0.0
    rest = Step("finest cover", chain.rest, THEOREM_G, (), (), 1 - share)
    return Complexity(chain.value, Step("complexity R_m", chain.value, THEOREM_G, inputs, (step.of(share), rest)))
