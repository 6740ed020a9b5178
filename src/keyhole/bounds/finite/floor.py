"""Floors: samples to name a sparse function, below which every learner fails, and logits to compute one."""

from math import comb, log, log2

from keyhole.bounds.validate import Real, positive, subset_size, whole
from keyhole.errors import AssumptionError


def information_floor(context: int, sparsity: int, delta: float = 0.0) -> float:
    """Fewest labelled samples from which any learner can name a hidden set of positions.

    Statement  Naming a uniformly random s-subset of T positions with probability ≥ 1 − δ takes
               m ≥ log₂ C(T, s) − log₂(1/(1 − δ)) samples with one-bit labels.
    Proof      m labels split the C(T, s) sets into at most 2^m answers, and each answer names one set,
               so at most 2^m / C(T, s) of the sets are named correctly.
    Equality   One position of two, m = 1, δ = 0.
    Source     Ours; proved above: the information floor. That log T is optimal is a sentence of the slides
               of Edelman et al. (2022) too.

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


def logit_range_floor(change: Real, context: int, output_lipschitz: Real, value_radius: Real) -> float:
    """Least range of logits in a model whose output changes by μ under one flip: a trade-off with its norms.

    Statement  2B ≥ log(μT / (4 Λ V)), Λ = ‖w‖‖W_C‖₂L the Lipschitz constant of what follows the head;
               0 where that says nothing.
    Proof      Let all logits lie in an interval of length ρ = 2B, and ō be the average of the other tokens. One
               replaced token moves a head's output by o' − o = a'(v' − ō) − a(v − ō), a, a' ≤ e^ρ/T and ‖v − ō‖ ≤ 2V:
               by at most 4 V e^ρ / T, which times Λ must reach μ.
    Source     Ours; proved above: the logit-range floor. It does not say that logits are needed for exactness: large
               read-outs do too.

    >>> round(logit_range_floor(1.0, 100, 6.0, 2 / 3), 6)
    1.832581
    """
    outward = 4 * positive("Λ", output_lipschitz) * positive("V", value_radius)
    return max(0.0, log(positive("the change", change) * whole("the context", context) / outward))
