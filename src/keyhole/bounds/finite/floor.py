"""How few samples can ever name a sparse function: the floor, and the size at which search succeeds."""

from math import comb, exp, log, log2

from keyhole.bounds.validate import subset_size
from keyhole.errors import AssumptionError


def information_floor(context: int, sparsity: int, delta: float = 0.0) -> float:
    """Fewest labelled samples from which any learner can name a hidden set of positions.

    Statement  Naming a uniformly random s-subset of T positions with probability ≥ 1 − δ takes
               m ≥ log₂ C(T, s) − log₂(1/(1 − δ)) samples with one-bit labels.
    Proof      m labels split the C(T, s) sets into at most 2^m answers, and each answer names one set,
               so at most 2^m / C(T, s) of the sets are named correctly.
    Equality   One position of two, m = 1, δ = 0.
    Source     Ours; proved above: the information floor. That log T is optimal is claimed by Edelman et al. too.

    >>> round(information_floor(100, 3), 2)
    17.3
    """
    subset_size(context, sparsity)
    if not 0 <= delta < 1:
        raise AssumptionError(f"δ is the chance of naming a wrong set, so 0 ≤ δ < 1; got {delta}.")
    return max(0.0, log2(comb(context, sparsity)) + log2(1 - delta))


def floor_slope(sparsity: int) -> float:
    """Samples per unit of ln T by which the information floor rises for long contexts.

    Statement  log₂ C(T, s) − (s/ln 2) ln T tends to −log₂ s! as T grows.
    Proof      C(T, s) = T^s/s! · Π_{i<s} (1 − i/T), and the product tends to 1.
    Source     Ours; proved above. No learner of s-sparse conjunctions has a law a + b ln T with a smaller b.

    >>> round(floor_slope(3), 3)
    4.328
    """
    subset_size(max(sparsity, 1), sparsity)
    return sparsity / log(2)


def expected_rivals(context: int, sparsity: int, samples: int) -> float:
    """Expected number of wrong s-ANDs that fit all samples, when bits are 1 with probability 2^(−1/s).

    Statement  Σ_{j<s} C(s, j) C(T−s, s−j) (2 p^{2s−j})^m with p = 2^{−1/s}.
    Proof      Two ANDs that share j positions are both 1 with probability p^{2s−j}; each is 1 with
               probability ½, so they agree with probability 2 p^{2s−j}. Sum over the rivals.
    Equality   Always: it is an expectation.
    Source     Ours; proved above.

    >>> expected_rivals(6, 3, 1) > expected_rivals(6, 3, 2)
    True
    """
    subset_size(context, sparsity)
    p = 2 ** (-1 / max(1, sparsity))
    return sum(
        comb(sparsity, j) * comb(context - sparsity, sparsity - j) * exp(samples * log(2 * p ** (2 * sparsity - j)))
        for j in range(sparsity)
    )


def first_moment_size(context: int, sparsity: int = 3) -> int:
    """Samples at which the hidden AND is, more likely than not, the only AND that fits: enough, not a floor.

    Statement  The smallest m with at most ½ expected wrong ANDs that fit m balanced samples.
    Proof      Markov: the probability that some wrong AND fits is at most the expected number that do.
    Source     Ours; proved above. A random consistent AND is right half of the time at fewer samples; the only
               floor is `information_floor`.

    >>> first_moment_size(100)
    28
    """
    samples = 0
    while expected_rivals(context, sparsity, samples) > 0.5:
        samples += 1
    return samples
